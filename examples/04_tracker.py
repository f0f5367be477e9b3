"""A tracker: two harmless totals whose difference is one person's salary. On the bare database, then gated.

Run: python examples/04_tracker.py
"""

import tempfile
from pathlib import Path

import duckdb

from auditor import Gate, Policy, QueryRefused

POLICY = """
[protect]
table = "staff"
column = "salary"
key = "id"
minimum = 0
maximum = 250
step = 10
public = ["age", "dept"]

[limit]
risk = 0.5
"""

# Dana is the only one of 58 in Finance, which a colleague knows.
DANA = "dept = 'Finance' AND age = 58"
ATTACKS = {
    "ask for her alone": [f"SELECT sum(salary) FROM staff WHERE {DANA}"],
    "everyone, and everyone but her": [
        "SELECT sum(salary) FROM staff",
        f"SELECT sum(salary) FROM staff WHERE NOT ({DANA})",
    ],
    "Finance, and Finance without those of 58": [
        "SELECT sum(salary) FROM staff WHERE dept = 'Finance'",
        "SELECT sum(salary) FROM staff WHERE dept = 'Finance' AND age <> 58",
    ],
}


def build(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS
            SELECT i AS id, CASE WHEN i = 4 THEN 58 ELSE 25 + (i * 11) % 30 END AS age,
                   ['Sales', 'Finance', 'Research'][1 + i % 3] AS dept,
                   CASE WHEN i = 4 THEN 170 ELSE 30 + (i * 37) % 20 * 10 END AS salary
            FROM range(90) t(i)""")


def bare(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as connection:
        whole, rest = (connection.execute(sql).fetchall()[0][0] for sql in list(ATTACKS.values())[-1])
    print(f"Without a gate: {whole} - {rest} = {whole - rest}, Dana's salary.")


def gated(path: Path) -> None:
    print("Through the gate:")
    with Gate.open(path, Policy.parse(POLICY)) as gate:
        for name, statements in ATTACKS.items():
            print(f"  {name}")
            for sql in statements:
                try:
                    print(f"    {gate.execute(sql).fetchall()[0][0]:>6}  {sql}")
                except QueryRefused:
                    print(f"    {'no':>6}  {sql}")
        risk = gate.risk()
        dana = risk[(risk["dept"] == "Finance") & (risk["age"] == 58)].iloc[0]
        print(f"All that is known of Dana: between {dana['lower']:.0f} and {dana['upper']:.0f}.")
        print("The refusals tell nothing: they are worked out without looking at any salary.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "staff.duckdb"
        build(file)
        bare(file)
        gated(file)
