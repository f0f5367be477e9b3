"""PostgreSQL's protocol in front of the gate: clients keep their tools, every statement passes the gate.

`protocol` turns bytes into events and answers into bytes and knows no socket; `scram` and `users` say who
asks; `values` knows PostgreSQL's types; `catalogue` answers what tools ask about tables.
"""
