"""Where the data are: opening, the public instance and its cells, the vault, and limits on what runs."""
