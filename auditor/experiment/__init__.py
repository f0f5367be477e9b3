"""The paper's experiment from a file to pictures: what `cae-sql experiment` does besides computing.

    data.py             a table to run it on: a file that DuckDB reads, or one of two public data sets
    figures.py          the paper's Figures 2 and 4, drawn by Matplotlib

What is computed, and how averages are taken, is the business of `cae_sql.releases.experiment`.
"""
