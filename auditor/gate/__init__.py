"""The gate: from one statement to its answer, or to the reason why there is none."""
