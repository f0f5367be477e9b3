"""The list of what may run: as DuckDB documents it, never wider, and the same after sqlglot wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import duckdb
import pytest

from auditor.sql import pure
from auditor.sql.pure import Pure, impure
from tools.derive import changes, denied, derive
from tools.roundtrip import Verdict, instance, round_trip

VOLATILE = """
    random now today current_date current_localtime current_localtimestamp nextval setseed uuid setval ago
    get_current_timestamp transaction_timestamp current_query txid_current write_log sleep_ms error
"""
REACHING_OUT = """
    getvariable current_setting getenv stats version current_schema current_database in_search_path enum_range
    read_text json_execute_serialized_sql json_serialize_sql query pg_typeof typeof alias
"""
UNBOUNDED = "repeat levenshtein damerau_levenshtein range generate_series list_resize"
OLDER = {"2.0.0": ("scalar fmod:", "scalar bit_count:", "scalar timezone:")}
"""By release, what it says otherwise than that of the list, and has been looked at. `fmod` is a macro there,
and so withdrawn; bit_count makes a TINYINT of a HUGEINT; timezone has fewer overloads.
"""
WITHDRAWN = {"2.0.0": frozenset({"fmod"})}.get(duckdb.__version__, frozenset())
DRAWN = "approx_quantile reservoir_quantile"


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as opened:
        yield opened


def differences(connection: duckdb.DuckDBPyConnection, entries: tuple[pure.Entry, ...]) -> list[str]:
    known = OLDER.get(duckdb.__version__, ())
    return [each for each in changes(connection, entries) if not each.startswith(known)]


def test_the_list_is_what_this_duckdb_documents(connection: duckdb.DuckDBPyConnection) -> None:
    found = differences(connection, pure.ENTRIES)
    assert not found, (
        f"DuckDB {duckdb.__version__} differs from {pure.VERSION}, which pure.csv was derived from. Look at "
        "each of these, then run `python -m tools.regenerate` and read the difference:\n" + "\n".join(found)
    )


def changed(name: str, /, **changes: object) -> tuple[pure.Entry, ...]:
    return tuple(
        pure.Entry(**{**vars(entry), **changes}) if entry.name == name else entry for entry in pure.ENTRIES
    )


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("sqrt", {"name": "sqrrt"}, "scalar sqrrt: gone"),
        ("abs", {"signatures": ("BIGINT -> BIGINT",)}, "scalar abs: overloads or definition differ"),
        ("fdiv", {"signatures": ("(x, y) := (x // y)",)}, "macro fdiv: overloads or definition differ"),
        ("sum", {"kind": "window"}, "window sum: gone"),
    ],
)
def test_a_release_that_changes_a_name_is_noticed(
    connection: duckdb.DuckDBPyConnection, name: str, changes: dict[str, object], said: str
) -> None:
    found = differences(connection, changed(name, **changes))
    assert len(found) == 1
    assert found[0].startswith(said)


def test_what_is_new_in_a_release_stays_outside(connection: duckdb.DuckDBPyConnection) -> None:
    fewer = tuple(entry for entry in pure.ENTRIES if entry.name != "sqrt")
    assert differences(connection, fewer) == []
    assert "sqrt" in {each.name for each in derive(connection)}


def test_macros_of_the_owner_are_not_derived() -> None:
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE MACRO fdiv(x, y) AS random()")
        assert differences(connection, pure.ENTRIES) == []


def test_nothing_is_withdrawn_but_what_an_older_release_defines_otherwise(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    assert pure.withdrawn(connection) == WITHDRAWN


def test_functions_that_are_macros_here_are_withdrawn(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = changed("fdiv", kind="scalar", signatures=("DOUBLE, DOUBLE -> DOUBLE",))
    monkeypatch.setattr(pure, "ENTRIES", function)
    assert pure.withdrawn(connection) == WITHDRAWN | {"fdiv"}


class Catalogue:
    """A DuckDB whose catalogue lists what it was given."""

    def __init__(self, rows: list[tuple[object, ...]]) -> None:
        self._rows = rows

    def execute(self, sql: str) -> Catalogue:
        return self

    def fetchall(self) -> list[tuple[object, ...]]:
        return self._rows


def test_what_hangs_on_the_time_zone_alone_is_pure_and_the_clock_is_not() -> None:
    zoned, within = "TIMESTAMP WITH TIME ZONE", "CONSISTENT_WITHIN_QUERY"
    rows: list[tuple[object, ...]] = [
        ("sqrt", "CONSISTENT", False, ["DOUBLE"], "DOUBLE"),
        ("year", within, False, [zoned], "BIGINT"),
        ("timezone", within, False, ["VARCHAR", "DATE"], zoned),
        ("now", within, False, [], zoned),
        ("current_setting", within, False, ["VARCHAR"], "ANY"),
        ("year_of_a_date", within, False, ["DATE"], "BIGINT"),
        ("random_moment", "VOLATILE", False, [zoned], zoned),
        ("unsaid", None, False, [zoned], zoned),
        ("writes", within, True, [zoned], zoned),
        ("may_write", "CONSISTENT", None, [zoned], zoned),
    ]
    found = impure(cast(duckdb.DuckDBPyConnection, Catalogue(rows)))
    assert {str(row[0]) for row in rows} - found == {"sqrt", "year", "timezone"}


def test_names_that_are_volatile_now_are_withdrawn(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pure, "ENTRIES", (*pure.ENTRIES, pure.Entry("scalar", "random", ("-> DOUBLE",), "Rand"))
    )
    assert pure.withdrawn(connection) == WITHDRAWN | {"random"}


@pytest.mark.parametrize("name", f"{VOLATILE} {REACHING_OUT} {UNBOUNDED} {DRAWN}".split())
def test_names_that_must_not_run(name: str) -> None:
    assert name not in pure.scalars | pure.aggregates | pure.windows | pure.operators


def test_nothing_on_the_list_has_an_impure_overload(connection: duckdb.DuckDBPyConnection) -> None:
    assert impure(connection).isdisjoint(entry.name for entry in pure.ENTRIES)
    assert {"random", "now", "nextval"} <= impure(connection)


def test_denied_names_are_names_that_duckdb_calls_pure(connection: duckdb.DuckDBPyConnection) -> None:
    names = {row[0] for row in connection.execute("SELECT function_name FROM duckdb_functions()").fetchall()}
    assert [name for name in sorted(names) if denied(name)]
    assert not [entry.name for entry in pure.ENTRIES if denied(entry.name)]


def test_age_with_one_argument_reads_the_clock() -> None:
    (age,) = (entry for entry in pure.ENTRIES if entry.name == "age")
    assert set(age.arities) == {(2, 2)}


@pytest.mark.parametrize(
    ("name", "arities"),
    [
        ("concat", {(1, pure._UNBOUNDED)}),
        ("pi", {(0, 0)}),
        ("substring", {(2, 2), (3, 3)}),
        ("fmod", {(2, 2)}),
    ],
)
def test_numbers_of_arguments_are_read_off_signatures(name: str, arities: set[tuple[int, int]]) -> None:
    (entry,) = (entry for entry in pure.ENTRIES if entry.name == name)
    assert set(entry.arities) == arities


@pytest.mark.slow
def test_every_accepted_name_means_the_same_after_sqlglot() -> None:
    with instance() as samples:
        for entry in pure.ENTRIES:
            if entry.kind != "type":
                verdict = round_trip(samples, entry)
                assert verdict == Verdict(entry.node, entry.refusal), entry.name
    assert {entry.name for entry in pure.ENTRIES if entry.refusal} == {"date_add"}


def test_the_round_trip_notices_another_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    from tools import roundtrip

    monkeypatch.setattr(roundtrip, "generate", lambda tree: tree.sql("duckdb").replace("SQRT", "CBRT"))
    with instance() as samples:
        verdict = round_trip(samples, Pure("scalar", "sqrt", ("DOUBLE -> DOUBLE",)))
    assert verdict.refusal


def test_names_by_class() -> None:
    assert pure.accepted("scalar", "Length") == {"char_length", "character_length", "len", "length"}
    assert "date_add" not in pure.accepted("scalar", "Anonymous")
    assert {"fmod", "strlen"} <= pure.accepted("scalar", "Anonymous")
    assert "geomean" in pure.accepted("aggregate", "Anonymous")
    assert "Sqrt" in pure.classes("scalar")
    assert "Anonymous" not in pure.classes("scalar", "aggregate", "window", "macro")
