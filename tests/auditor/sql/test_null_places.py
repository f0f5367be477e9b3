"""NULL in any place of a function of PostgreSQL's dialect means what it means there, or is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import duckdb
import null_places
import pytest
from postgres_server import SCHEMA, Server, answers_alike, missing, plain_duckdb, started

from auditor.sql.dialects import translate
from auditor.sql.postgres import aggregates, collecting, functions
from auditor.sql.understood import NotUnderstood


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if missing():
        pytest.skip(missing())
    with started() as running:
        yield running


def test_every_function_that_is_carried_over_stands_in_the_sweep() -> None:
    carried = {
        *functions.FUNCTIONS, *aggregates._AGGREGATES, *aggregates.WINDOWS, *collecting.NAMES,
        *collecting.FLOATING, "count", "avg", "mode", "percentile_cont", "percentile_disc",
    }  # fmt: skip
    asked = {
        *null_places.SCALAR, *null_places.AGGREGATES, *null_places.ORDERED, *null_places.WITHIN,
        *null_places.WINDOWS,
    }  # fmt: skip
    assert carried - asked == null_places.LATER


@pytest.mark.slow
def test_null_in_each_place_of_each_function_gives_what_the_server_gives(server: Server) -> None:
    asked = list(dict.fromkeys(null_places.statements()))
    verdicts: Counter[str] = Counter()
    with plain_duckdb() as plain:
        for sql, theirs in zip(asked, server.ask_all(asked), strict=True):
            verdict = _verdict(sql, theirs, plain)
            assert not verdict.startswith("different"), f"{verdict}\n{sql}"
            verdicts[verdict] += 1
    print(dict(verdicts))
    assert verdicts["same"] >= 0.65 * len(asked), verdicts


def _verdict(sql: str, theirs: list[list[tuple[str, object]]] | str, plain: duckdb.DuckDBPyConnection) -> str:
    try:
        result = plain.execute(translate(sql, "postgres", SCHEMA))
        if isinstance(theirs, str):
            return f"different: {theirs}, here {result.fetchall()}"
        ordered = re.search(r"ORDER BY(?!.*\))", sql) is not None
        difference = answers_alike(result, theirs, ordered)
    except NotUnderstood:
        return "refused"
    except duckdb.Error as error:
        return "rejected" if isinstance(theirs, str) else f"different: {error}"
    return f"different: {difference}" if difference else "same"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT string_agg(x, x ORDER BY id) FROM items",
        "SELECT string_agg(x, CASE WHEN id > 3 THEN ',' END) FROM items",
        "SELECT array_to_string(array_agg(x), NULL) FROM items",
        "SELECT array_agg(NULL) FROM items",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY NULL) FROM items",
        "SELECT CASE NULL WHEN 7 THEN 1 ELSE 2 END FROM items",
    ],
)
def test_what_would_mean_something_else_with_null_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstood) as refusal:
        translate(sql, "postgres", SCHEMA)
    assert refusal.value.code in ("dialect", "nested-type")


def test_a_refusal_does_not_say_that_postgresql_lacks_what_it_has() -> None:
    with pytest.raises(NotUnderstood) as refusal:
        translate("SELECT abs(NULL) FROM items", "postgres", SCHEMA)
    assert refusal.value.reason.message == (
        "As PostgreSQL reads it, this cannot be answered: "
        "this operation is not carried over for NULL without a type."
    )
