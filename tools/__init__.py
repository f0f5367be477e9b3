"""For those who change the project: what derives files that the packages read. Not in the wheel."""
