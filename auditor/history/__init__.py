"""Query logs: what was asked and answered in the past, and what it gave away."""
