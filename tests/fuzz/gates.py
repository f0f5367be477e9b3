"""The gate itself, over tables that nobody may tell apart by its answers.

Values permuted within the atoms of what is asked leave every asked value as it is; values outside what is
asked are none of the statement's business. In both cases verdict, code and answer must stay.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from zlib import crc32

from auditor import Gate, Policy, QueryRefused, QueryUnsupported
from auditor.data.database import Asked, Database
from tests.fuzz.grammar import Statement
from tests.fuzz.worlds import Row, World, all_rows, write

POLICY = """
[protect]
table = "{table}"
column = "{column}"
minimum = {low}
maximum = {high}
step = {step}
key = "{key}"
public = {public}

[tables]
public = {tables}

[intruder]
insiders = {insiders}

[limit]
risk = 0.85

[decision]
worlds = 20
timeout = 30
"""

Told = tuple[str, str, object]
"""Verdict, code, and the answer's rows."""


def policy_of(world: World, text: str) -> Policy:
    """The policy of a world with one protected column; statements are asked with an insider or without."""
    table, column = world.secrets[0]
    names = {"public": list(table.public), "tables": [each.name for each in world.lookups]}
    return Policy.parse(
        POLICY.format(
            table=table.name, column=column.name, low=column.low, high=column.high, step=column.step,
            key=table.key, insiders=crc32(text.encode(errors="replace")) % 2,
            **{name: str(listed).replace("'", '"') for name, listed in names.items()},
        )
    )  # fmt: skip


def verdicts_agree(
    world: World, database: Database, statement: Statement, asked: Sequence[Asked]
) -> str | None:
    """Ask three gates; None, or in what they disagree."""
    rng = random.Random(statement.text)
    atoms = _atoms(database, asked)
    inside = [keys for vector, keys in atoms.items() if any(vector)]
    outside = [keys for vector, keys in atoms.items() if not any(vector)]
    original = all_rows(world, "A")
    values = _values(world, original)
    base = told(world, statement, original)
    if base[1] == "time":
        return None
    permuted, changed = dict(values), dict(values)
    for keys in inside:
        permuted.update(zip(keys, rng.sample([values[key] for key in keys], len(keys)), strict=True))
    column = world.secrets[0][1]
    for key in (key for keys in outside for key in keys):
        changed[key] = column.low + rng.randrange(11) * column.step
    for name, other in (("permuted within atoms", permuted), ("changed outside the query set", changed)):
        if other == values:
            continue
        again = told(world, statement, _with_values(world, original, other))
        if again[1] != "time" and again != base:
            which = "verdict" if again[:2] != base[:2] else "answer"
            return f"values {name} change the {which}"
    return None


def told(world: World, statement: Statement, rows: Mapping[str, Sequence[Row]]) -> Told:
    """What a new gate with an empty ledger says."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = write(Path(folder) / "small.duckdb", world, rows)
        with Gate.open(path, policy_of(world, statement.text), Path(folder) / "small.ledger") as gate:
            try:
                answer = gate.execute(statement.text, statement.parameters)
            except (QueryRefused, QueryUnsupported) as refusal:
                return refusal.decision.verdict, refusal.decision.code, None
            return answer.decision.verdict, answer.decision.code, repr(answer.fetchall())


def _atoms(database: Database, asked: Sequence[Asked]) -> dict[tuple[object, ...], list[object]]:
    """Keys of records by their coefficients in everything asked."""
    vault = database.vaults[0]
    vectors: list[list[object]] = [[] for _ in range(vault.size)]
    for each in asked:
        signs = (
            dict(zip(each.records.tolist(), each.signs.tolist(), strict=True))
            if each.signs is not None
            else {}
        )
        members = set(each.records.tolist())
        for record, vector in enumerate(vectors):
            vector.append((each.kind, signs.get(record, 1)) if record in members else None)
    atoms: dict[tuple[object, ...], list[object]] = defaultdict(list)
    assert vault.keys is not None
    for key, vector in zip(vault.keys, vectors, strict=True):
        atoms[tuple(vector)].append(key)
    return atoms


def _places(world: World) -> tuple[str, int, int]:
    table, column = world.secrets[0]
    names = [each.name for each in table.columns]
    assert table.key is not None
    return table.name, names.index(table.key), names.index(column.name)


def _values(world: World, rows: Mapping[str, Sequence[Row]]) -> dict[object, Decimal]:
    table, key, value = _places(world)
    return {row[key]: row[value] for row in rows[table] if row[value] is not None}  # type: ignore[misc]


def _with_values(
    world: World, rows: Mapping[str, Sequence[Row]], values: Mapping[object, Decimal]
) -> dict[str, Sequence[Row]]:
    table, key, value = _places(world)
    changed = [tuple(values.get(row[key], cell) if i == value else cell for i, cell in enumerate(row))
               for row in rows[table]]  # fmt: skip
    return {**rows, table: changed}
