"""The gate: exact answers, a refusal, what the administrator sees, and a ledger that remembers.

Run: python examples/03_gate.py
"""

import tempfile
from pathlib import Path

import duckdb

from auditor import Gate, Policy, QueryRefused, QueryUnsupported

POLICY = """
[protect]
table = "staff"
column = "salary"
key = "id"
minimum = 0
maximum = 250
step = 10
public = ["age", "sex", "dept"]

[limit]
risk = 0.5
"""

QUESTIONS = (
    "SELECT dept, count(*) AS persons, avg(salary) AS average FROM staff GROUP BY dept ORDER BY dept",
    "SELECT max(salary) AS highest FROM staff WHERE age >= 40",
    "SELECT avg(salary) AS average FROM staff",
    "SELECT sum(salary) AS total FROM staff WHERE age = 27 AND sex = 'M' AND dept = 'Finance'",
    "SELECT age, salary FROM staff",
)


def build(path: Path) -> None:
    """150 made-up persons."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TABLE staff AS
            SELECT i AS id, 20 + (i * 7) % 45 AS age, ['F', 'M'][1 + i % 2] AS sex,
                   ['Sales', 'Research', 'Finance'][1 + (i * 5) % 3] AS dept,
                   20 + (i * 37) % 23 * 10 AS salary
            FROM range(150) t(i)""")


def ask(gate: Gate, sql: str) -> None:
    """Show a statement and what it gets."""
    print(f"\n{sql}")
    try:
        answer = gate.execute(sql, user="ann")
    except (QueryRefused, QueryUnsupported) as error:
        print(f"  {error.decision.verdict} ({error.decision.code}): {error.decision.message}")
        return
    for row in answer.fetchall():
        print("  " + ", ".join(f"{name} {value}" for name, value in zip(answer.columns, row, strict=True)))
    print(f"  ({answer.decision.code})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "staff.duckdb"
        build(database)
        with Gate.open(database, Policy.parse(POLICY)) as gate:
            for sql in QUESTIONS:
                ask(gate, sql)
            worst = gate.risk().sort_values("risk").iloc[-1]
            print(f"\nFor the administrator: the highest risk of anyone is {worst['risk']:.2f}")
        with Gate.open(database, Policy.parse(POLICY)) as gate:
            print("Opened again, the ledger still knows:")
            print(gate.history()[["number", "user", "verdict", "code"]].to_string(index=False))
            print(f"problems found by verify: {len(gate.verify().problems)}")


if __name__ == "__main__":
    main()
