"""Measurements of this project against others and itself; run as `python -m benchmarks`."""
