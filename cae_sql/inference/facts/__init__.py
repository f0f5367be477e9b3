"""What is known and nothing else: queries, atoms, rank, extremes, and the rows that they come to."""
