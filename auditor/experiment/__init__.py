"""The papers' experiments from a file to pictures: what `cae-sql experiment` does besides computing.

    data.py             a table to run it on: a file that DuckDB reads, or one of two public data sets
    figures.py          paper 000's Figures 2 and 4, drawn by Matplotlib
    rivals.py           paper 004's Figures 3 to 7

What is computed, and how averages are taken, is the business of `cae_sql.releases.experiment` and of
`cae_sql.releases.rivals`.
"""
