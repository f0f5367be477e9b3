"""Who knows what: parties, what each knows of a protected column, and what an intruder knows besides."""
