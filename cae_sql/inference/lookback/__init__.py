"""Audits: the true table is a feasible table like any other, so what is around it says who is located."""
