"""Lower bounds of the runs of values that all records keep, now and after hypothetical answers."""
