"""Random expressions of every operator of DuckDB, written without the brackets that would say what binds.

Many of them are invalid, and many more are not understood: what is answered must be what DuckDB answers.
"""

from __future__ import annotations

import random

from tests.fuzz.grammar import Statement

PREFIXES = ("-", "+", "~", "@", "!", "NOT", "- ~", "~ -", "- -")
POSTFIXES = (
    "!", "IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "IS TRUE", "IS NOT FALSE", "IS UNKNOWN",
    "COLLATE NOCASE", "::INTEGER", "::DOUBLE", "::VARCHAR", "::BOOLEAN", "AT TIME ZONE 'UTC'", "[1]", ".x",
    "IN (1, 2, 30)", "NOT IN (30)", "ESCAPE '!'",
)  # fmt: skip
INFIXES = (
    "^", "**", "*", "/", "//", "%", "+", "-", "<<", ">>", "&", "|", "||", "->", "->>", "@>", "<@", "&&", "^@",
    "<->", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "IS",
    "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "GLOB", "SIMILAR TO", "NOT SIMILAR TO", "~", "!~", "~~", "!~~",
    "~*", "~~*", "AND", "OR", "IN", "COLLATE",
)  # fmt: skip
FREQUENT = ("^", "**", "*", "/", "//", "%", "+", "-", "||", "=", "<", ">=", "AND", "OR", "LIKE", "<>")
ATOMS = ("age", "id", "bonus", "2", "20", "0.5", ".7", "30", "dept", "sex", "active", "hired", "'a'", "'%T'",
         "TRUE", "NULL", "1e1", "log2(age)", "length(dept)", "(age + 1)", "INTERVAL 1 DAY",
         "DATE '2019-01-01'", "CASE WHEN active THEN 1 ELSE 2 END", "x -> x + 1", "(1, 2)")  # fmt: skip


def statement(seed: int, number: int) -> Statement:
    """A statement over the table `staff`, from its seed and number alone."""
    rng = random.Random(f"operators {seed} {number}")
    text = _expression(rng, rng.randrange(1, 5))
    if rng.random() < 0.7:
        text += f" {rng.choice(['<', '>', '=', '<>'])} {_expression(rng, rng.randrange(2))}"
    place = rng.random()
    if place < 0.6:
        return Statement("staff", f"SELECT sum(salary), count(*) FROM staff WHERE {text}")
    if place < 0.8:
        return Statement("staff", f"SELECT sum(salary) FILTER (WHERE {text}) FROM staff")
    return Statement("staff", f"SELECT {text}, avg(salary) FROM staff GROUP BY ALL")


def _expression(rng: random.Random, operators: int) -> str:
    text = _operand(rng)
    for _ in range(operators):
        draw = rng.random()
        if draw < 0.1:
            text = f"{text} {rng.choice(POSTFIXES)}"
        elif draw < 0.17:
            text = f"{text} {rng.choice(['', 'NOT '])}BETWEEN {_operand(rng)} AND {_operand(rng)}"
        else:
            text = f"{text} {rng.choice(FREQUENT if rng.random() < 0.7 else INFIXES)} {_operand(rng)}"
    return text


def _operand(rng: random.Random) -> str:
    numbers = rng.random() < 0.7
    text = rng.choice(ATOMS[:8] if numbers else ATOMS)
    while rng.random() < 0.25:
        text = f"{rng.choice(PREFIXES[:3] if rng.random() < 0.7 else PREFIXES)} {text}"
    return text
