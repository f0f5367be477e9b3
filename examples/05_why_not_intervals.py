"""Three sums over twenty-one persons each, and one diagnosis is known. No interval shows it; tables do.

Run: python examples/05_why_not_intervals.py
"""

import tempfile
from pathlib import Path

import duckdb

from auditor import Gate, Policy, QueryRefused
from cae_sql import AnsweredSystem

POLICY = """
[protect]
table = "patients"
column = "diagnosis"
minimum = 0
maximum = 1
step = 1
public = ["ward"]

[limit]
risk = 0.5

[ledger]
editions = false
"""

# One patient in ward X, ten in each of A, B, C; the diagnosis is 0 or 1.
WARDS = ["X"] + ["A"] * 10 + ["B"] * 10 + ["C"] * 10
DIAGNOSES = [int(letter) for letter in "1100100010000110101001101000110"]
UNIONS = ("XAB", "XAC", "XBC")


def infer() -> None:
    """Everything answered: what intervals say, and what tables say."""
    system = AnsweredSystem(len(WARDS), minimum=0, maximum=1, resolution=1)
    total = 0
    for union in UNIONS:
        members = [person for person, ward in enumerate(WARDS) if ward in union]
        told = sum(DIAGNOSES[person] for person in members)
        total += told
        system.add_sum(members, told)
        print(f"  wards {', '.join(union)}: {told} of {len(members)} have it")
    bounds, runs = system.bounds(), system.certified()
    everywhere = {(low, high) for low, high in zip(bounds.lower, bounds.upper, strict=True)}
    print(f"Feasibility intervals, of everybody: {sorted((float(a), float(b)) for a, b in everywhere)}")
    seen = {int(value) for value in system.worlds(200)[:, 0]}
    print(f"The patient of ward X in 200 tables that agree: {seen}")
    print(f"Values shown to be possible: {runs.lower[0]:.0f} to {runs.upper[0]:.0f}")
    print(f"Why: together the sums are X + 2 (A + B + C) = {total}; X is odd if that is.")


def gated() -> None:
    """The gate rests on tables, so the third sum is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patients.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE patients (ward VARCHAR, diagnosis INTEGER)")
            rows = list(zip(WARDS, DIAGNOSES, strict=True))
            connection.executemany("INSERT INTO patients VALUES (?, ?)", rows)
        with Gate.open(path, Policy.parse(POLICY)) as gate:
            for union in UNIONS:
                sql = "SELECT sum(diagnosis) FROM patients WHERE contains(?, ward)"
                try:
                    print(f"  wards {', '.join(union)}: {gate.execute(sql, [union]).fetchall()[0][0]}")
                except QueryRefused as refusal:
                    print(f"  wards {', '.join(union)}: refused ({refusal.decision.code})")


if __name__ == "__main__":
    print("Everything answered:")
    infer()
    print("Through the gate:")
    gated()
