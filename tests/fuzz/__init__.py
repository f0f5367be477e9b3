"""Random statements against the SQL layer: generated, checked, minimised. `python -m tests.fuzz`."""
