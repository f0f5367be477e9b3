"""Whether a question may be answered: hypothetical answers first, then the true one; and what was decided
before.
"""
