"""Audits: the true table is just another table, so who has been located is read off what is around it."""
