"""Cutting of SQL, of CSV and of parameters, and times, held against what else knows them."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from auditor.history.readers.prepared import Kept, Prepared, detail_parameters, executed, prepare, resolve
from auditor.history.readers.records import _cut_long, cut, records
from auditor.history.readers.splitting import blank, statements
from auditor.history.readers.tally import Tally
from auditor.history.readers.times import parse_time
from auditor.history.statement import Reading

TEXTS = st.text(st.characters(exclude_characters="\r\0", exclude_categories=("Cs",)), max_size=20)
LINES = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",)), max_size=20)
PARTS = st.sampled_from(
    ["SELECT 1", "x", " ", "\n", "','", "';'", "'it''s;'", '"a;b"', "$$;$$", "$t$ ; $$ ; $t$", "-- ;\n",
     "/* ; /* ; */ */",
     "E'\\';'", "(a, (b))", "$1", "1"]
)  # fmt: skip
WRITTEN = st.lists(PARTS, min_size=1, max_size=6).map(" ".join).filter(lambda text: not blank(text))


@given(st.lists(WRITTEN, min_size=2, max_size=5))
def test_statements_that_are_joined_are_cut_again(parts: list[str]) -> None:
    assert [sql for _, sql in statements(";".join(parts))] == [part.strip() for part in parts]


@given(st.text(max_size=60))
def test_any_text_is_cut_without_losing_a_letter_that_matters(text: str) -> None:
    found = statements(text)
    places = [start for start, _ in found]
    assert places == sorted(places)
    for start, sql in found:
        assert sql in text[start:]
    if not found:
        assert blank(text)


@given(st.lists(st.none() | TEXTS, min_size=1, max_size=5))
def test_parameters_are_read_as_postgresql_writes_them(values: list[str | None]) -> None:
    written = ", ".join(
        f"${number} = " + ("NULL" if value is None else "'" + value.replace("'", "''") + "'")
        for number, value in enumerate(values, start=1)
    )
    assert detail_parameters(f"parameters: {written}") == tuple(values)


@pytest.mark.parametrize(
    "detail", ["", "Key (id)=(3) already exists.", "parameters: $1 = 'a", "parameters: "]
)
def test_a_detail_without_parameters_has_none(detail: str) -> None:
    assert detail_parameters(detail) is None


@given(st.lists(TEXTS, min_size=1, max_size=6))
@example(["\n"])
def test_a_record_is_cut_as_the_csv_module_cuts_it_however_long_it_is(fields: list[str]) -> None:
    out = io.StringIO()
    # breaks within fields are quoted if they are part of what ends a record
    csv.writer(out, lineterminator="\r\n").writerow(fields)
    record = out.getvalue().removesuffix("\r\n")
    assert cut(record) == fields
    if fields != [""]:
        assert _cut_long(record, ",") == fields


def test_a_long_record_is_cut() -> None:
    assert cut('a,"' + "x" * 300_000 + '""",') == ["a", "x" * 300_000 + '"', ""]


@given(st.lists(st.lists(LINES, min_size=3, max_size=3), max_size=8), st.integers(0, 8))
def test_a_broken_line_costs_no_other_record(rows: list[list[str]], place: int) -> None:
    def text(some: list[list[str]]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(some)
        return out.getvalue()

    place = min(place, len(rows))
    broken = text(rows[:place]) + 'a,"this quote is never closed\n' + text(rows[place:])
    tally = Tally(Reading(), "x")
    lines = iter(list(enumerate(broken.split("\n")[:-1], start=1)))
    assert [row for _, row in records(lines, tally, lambda row: len(row) == 3)] == rows
    assert tally.bad == 1


def test_execute_with_types_and_names() -> None:
    kept = prepare("/* x */ prepare \"My Q\" (numeric(8,2)[], text) as\n SELECT $1, '$2', $2;")
    assert kept is not None
    assert (kept.name, kept.sql) == ("My Q", "SELECT $1, '$2', $2")
    call = executed("EXECUTE \"My Q\" (DATE '2020-01-01', ARRAY[1, 2]) ; ")
    assert call == ("My Q", ["DATE '2020-01-01'", "ARRAY[1, 2]"])
    assert resolve(kept, call[1]) == ("SELECT (DATE '2020-01-01'), '$2', (ARRAY[1, 2])", None)
    assert resolve(kept, ["DATE '2020-01-01'", "'a'::varchar(3)"])[1] == ("2020-01-01", "a")


def test_prepared_statements_are_kept_within_a_limit() -> None:
    kept = Kept(limit=2000)
    for number in range(100):
        kept.put(number, Prepared("q", "SELECT 1"))
        kept.put(number, Prepared("q", "SELECT 2"))
    assert kept.get(0, "q") is None
    assert kept.get(99, "q") == Prepared("q", "SELECT 2")
    assert kept.get(98, "q") is not None
    assert kept.get(99, "r") is None


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2900, 1, 1)),
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_a_time_is_read_back(naive: datetime, zone: timezone) -> None:
    time = naive.replace(tzinfo=zone)
    assert parse_time(time.isoformat()) == (time, False)
    assert parse_time(time.isoformat(" ")) == (time, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01 12:00:00.5 CEST", "2026-07-01T10:00:00.500000"),
        ("2026-07-01 12:00:00.123456789 +0200", "2026-07-01T10:00:00.123456"),
        ("2026-07-01 12:00:00+05:30", "2026-07-01T06:30:00"),
        ("2026-07-01 12:00:00", "2026-07-01T12:00:00"),
        ("2026-07-01", "2026-07-01T00:00:00"),
        ("1782907200", "2026-07-01T12:00:00"),
        ("1782907200000", "2026-07-01T12:00:00"),
        ("1782907200000000", "2026-07-01T12:00:00"),
        ("1.7829072e9", "2026-07-01T12:00:00"),
    ],
)
def test_times_of_many_logs_are_read(text: str, expected: str) -> None:
    found, unknown = parse_time(text)
    assert found is not None
    assert found.astimezone(UTC).replace(tzinfo=None).isoformat() == expected
    assert not unknown


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_none(text: str) -> None:
    found, _ = parse_time(text)
    assert found is None or found.astimezone(UTC)
