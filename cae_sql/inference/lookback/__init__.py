"""Audits: the true table is feasible like any other, so what is around it says which records are located."""
