"""Everybody at once: who keeps how long a run of values, and what a question would change in that."""
