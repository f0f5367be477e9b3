"""Persons with several rows, over states of the data: a person keeps her unit, whatever rows come and go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pytest

from auditor import DataChanged, Gate, LedgerError, Policy, PolicyError
from auditor.cli import main
from tests.auditor.staff import Person, build, truth, verdict

COLUMNS = "id INTEGER, patient INTEGER, ward VARCHAR, salary INTEGER"
PATIENTS = 60
TOTAL = "SELECT sum(salary) FROM staff WHERE ward = 'a'"
WARDS = "SELECT ward, sum(salary) FROM staff GROUP BY ward ORDER BY ward"


def stays(rows: int = 300, seed: int = 0) -> list[Person]:
    """Stays of patients, whose names are numbers below `PATIENTS`."""
    rng = np.random.default_rng(seed)
    drawn = np.stack([rng.integers(0, most, rows) for most in (PATIENTS, 3, 101)], axis=1).tolist()
    return [(place, patient, "abc"[ward], charge) for place, (patient, ward, charge) in enumerate(drawn)]


def admitted(patients: Sequence[int | None], first: int = 1000) -> list[Person]:
    """New stays in a ward."""
    return [(first + place, patient, "a", 7 * place % 101) for place, patient in enumerate(patients)]


ROWS = stays()
TEXT = """[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 100
step = 1
key = "id"
public = ["ward"]
unit = "patient"
[limit]
risk = 0.5
"""


def policy(text: str = TEXT) -> Policy:
    return Policy.parse(text)


def states(folder: Path, *tables: Sequence[Person]) -> list[Path]:
    return [build(folder / f"{place}.duckdb", rows, COLUMNS) for place, rows in enumerate(tables)]


def units(file: Path, ledger: Path) -> list[int]:
    """The unit of each record of all editions."""
    with Gate.open(file, policy(), ledger) as gate:
        found = gate._knowledge.columns[0].new_system().unit_of
    assert found is not None
    return [int(each) for each in found]


@pytest.mark.parametrize(
    ("patients", "code"), [(range(30), "answered"), ([3] * 30, "risk"), ([PATIENTS] * 30, "risk")]
)
def test_what_differs_between_editions_is_judged_by_whose_rows_it_is(
    tmp_path: Path, patients: Sequence[int], code: str
) -> None:
    """Thirty stays more: of thirty patients, of one who was there before, of one who is new."""
    before, after = states(tmp_path, ROWS, [*ROWS, *admitted(patients)])
    ledger = tmp_path / "ledger"
    with Gate.open(before, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
    Gate.renew(after, policy(), ledger)
    with Gate.open(after, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == code


def test_rows_that_are_gone_are_still_their_persons(tmp_path: Path) -> None:
    """All stays of a patient are taken out: what was told before less what is told now is her total."""
    rows = [*ROWS, *admitted([3] * 30)]
    before, after = states(tmp_path, rows, [row for row in rows if row[1] != 3])
    ledger = tmp_path / "ledger"
    with Gate.open(before, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
    Gate.renew(after, policy(), ledger)
    with Gate.open(after, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "risk"


def test_new_rows_and_new_values_are_in_the_unit_of_their_person(tmp_path: Path) -> None:
    corrected = [
        (*row[:3], 100 - int(str(row[3]))) if row[0] in (0, 1) and row[3] != 50 else row for row in ROWS
    ]
    before, after = states(tmp_path, ROWS, [*corrected[:-5], *admitted([3, PATIENTS, None, None])])
    ledger = tmp_path / "ledger"
    first = units(before, ledger)
    [(_, _, carried)] = Gate.renew(after, policy(), ledger).carried
    assert (carried.new, carried.changed, carried.left, carried.joined) == (4, 2, 5, 0)
    found = units(after, ledger)
    assert found[:300] == first
    with duckdb.connect(str(before), read_only=True) as connection:
        order = connection.sql("SELECT id, patient FROM staff ORDER BY ward, patient, id").fetchall()
    unit_of = {patient: found[place] for place, (_, patient) in enumerate(order)}
    new = sorted(found[300:])
    assert new[-3:] == [PATIENTS, PATIENTS + 1, PATIENTS + 2]  # a new patient, and two rows without a name
    assert new[:3] == sorted([unit_of[3], *(unit_of[ROWS[place][1]] for place in (0, 1))])


def test_a_row_that_is_another_persons_now_makes_the_two_one(tmp_path: Path) -> None:
    """Whoever knew it then and whoever knows it now are taken for one, also when the row is gone again."""
    moved = [(*row[:1], 9, *row[2:]) if row[0] == 4 else row for row in ROWS]
    before, after, later = states(tmp_path, ROWS, moved, ROWS[5:])
    ledger = tmp_path / "ledger"
    first = units(before, ledger)
    with pytest.raises(DataChanged):
        Gate.open(after, policy(), ledger)
    assert [each.joined for *_, each in Gate.renew(after, policy(), ledger).carried] == [1]
    found = units(after, ledger)
    assert len(set(found)) == len(set(first)) - 1
    assert all(found[i] == found[j] for i in range(300) for j in range(300) if first[i] == first[j])
    assert [each.joined for *_, each in Gate.renew(later, policy(), ledger).carried] == [0]
    assert units(later, ledger) == found


def test_a_person_with_a_new_name_is_who_she_was(tmp_path: Path) -> None:
    """Also where no row changes its place by it: the names are part of the state that an edition is of."""
    last = PATIENTS - 1
    renamed = [(row[0], PATIENTS, *row[2:]) if row[1] == last else row for row in ROWS]
    before, after, later = states(tmp_path, ROWS, renamed, [*ROWS, *admitted([last, PATIENTS])])
    ledger = tmp_path / "ledger"
    first = units(before, ledger)
    with pytest.raises(DataChanged, match="cae-sql renew"):
        Gate.open(after, policy(), ledger)
    assert [each.joined for *_, each in Gate.renew(after, policy(), ledger).carried] == [0]
    assert units(after, ledger) == first
    Gate.renew(later, policy(), ledger)
    *found, one, other = units(later, ledger)
    assert (found, one) == (first, other)
    assert one in first


def test_names_that_make_all_rows_one_persons_open_nothing(tmp_path: Path) -> None:
    before, after = states(
        tmp_path, ROWS, [(row[0], (int(str(row[1])) + 1) % PATIENTS, *row[2:]) for row in ROWS]
    )
    ledger = tmp_path / "ledger"
    first = units(before, ledger)
    with pytest.raises(
        DataChanged, match="nothing was opened: so many rows of table staff have another patient"
    ):
        Gate.renew(after, policy(), ledger)
    assert units(before, ledger) == first


def test_whose_rows_they_are_is_held_by_digests_alone(tmp_path: Path) -> None:
    rows: list[Person] = [(row[0], f"Augustina {row[1]}", *row[2:]) for row in ROWS]
    later: list[Person] = [*rows[:-3], (1000, "Augustina 99", "a", 5), (1, "Augustina 98", "b", 6)]
    named = COLUMNS.replace("patient INTEGER", "patient VARCHAR")
    before = build(tmp_path / "before.duckdb", rows, named)
    after = build(tmp_path / "after.duckdb", [row for row in later if row != rows[1]], named)
    ledger = tmp_path / "ledger"
    Gate.open(before, policy(), ledger).close()
    Gate.renew(after, policy(), ledger)
    Gate.open(after, policy(), ledger).close()
    assert all(b"Augustina" not in part.read_bytes() for part in tmp_path.glob("ledger*"))


def test_a_ledger_says_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, [*ROWS[2:], *admitted(range(30))])
    ledger, text = tmp_path / "ledger", TEXT.replace('["ward"]', '["ward", "patient"]')
    asked = [WARDS, "SELECT sum(salary) FROM staff WHERE patient = 7", f"{TOTAL} AND patient <> 7"]
    for file, then in ((before, "answered"), (after, "answered")):
        for told in (then, "known"):
            with Gate.open(file, policy(text), ledger) as gate:
                assert [verdict(gate, sql).code for sql in asked] == [told, "risk", "risk"]
                assert gate.execute(WARDS).fetchall() == truth(file, WARDS)
                assert gate.verify().problems == ()
        if file == before:
            Gate.renew(after, policy(text), ledger)


def test_two_gates_on_one_ledger_never_tell_both_halves_of_a_persons_total(tmp_path: Path) -> None:
    (file,) = states(tmp_path, ROWS)
    ledger, rules = tmp_path / "ledger", policy(TEXT.replace('["ward"]', '["ward", "patient"]'))
    with Gate.open(file, rules, ledger) as one, Gate.open(file, rules, ledger) as other:
        assert verdict(other, f"{TOTAL} AND patient <> 7").code == "answered"
        assert verdict(one, TOTAL).code == "risk"
        assert verdict(one, f"{TOTAL} AND patient <> 7").code == "known"


def test_who_has_one_row_may_have_several_later(tmp_path: Path) -> None:
    """What was told as a range while everybody had one stays told, and is reckoned with by unit."""
    rows: list[Person] = [(row[0], row[0], *row[2:]) for row in ROWS]
    before, after = states(tmp_path, rows, [*rows, *admitted([3] * 30)])
    ledger, median = tmp_path / "ledger", "SELECT AT_LEAST(median(salary)) FROM staff"
    with Gate.open(before, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
        assert verdict(gate, median).verdict == "answered"
    Gate.renew(after, policy(), ledger)
    with Gate.open(after, policy(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "risk"


def test_an_end_that_was_told_stays_told_when_somebody_has_several_rows(tmp_path: Path) -> None:
    rows: list[Person] = [(i, i, "ab"[i // 30], 0 if i % 10 else 3) for i in range(60)]
    before, after = states(tmp_path, rows, [*rows, *admitted([3] * 30)])
    ledger, asked = tmp_path / "ledger", "SELECT sum(salary) FROM staff WHERE ward = 'b'"
    with Gate.open(before, policy(), ledger) as gate:
        told = gate.execute(asked)
        assert told.decision.code == "ends"
    Gate.renew(after, policy(), ledger)
    with Gate.open(after, policy(), ledger) as gate:
        again = gate.execute(asked)
        assert (again.decision.code, again.ranges) == ("known", told.ranges)


def test_a_unit_does_not_say_which_row_is_which(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, [*ROWS, *admitted([3])])
    rules = policy(TEXT.replace('key = "id"', "") + "[ledger]\neditions = false\n")
    Gate.open(before, rules, tmp_path / "ledger").close()
    with pytest.raises(PolicyError, match=r"protect\.key: missing"):
        Gate.renew(after, rules, tmp_path / "ledger")


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [("", 'unit = "patient"', "unit of salary was None, is patient"),
     ('unit = "patient"', "", "unit of salary was patient, is None"),
     ('unit = "patient"', 'unit = "ward"', "unit of salary was patient, is ward")],
)  # fmt: skip
def test_a_ledger_keeps_the_unit_that_it_was_begun_with(
    tmp_path: Path, was: str, now: str, message: str
) -> None:
    """What was told under another would have been judged otherwise."""
    before, after = states(tmp_path, ROWS, [*ROWS, *admitted([3])])
    ledger, said = tmp_path / "ledger", 'unit = "patient"'
    Gate.open(before, policy(TEXT.replace(said, was)), ledger).close()
    for run, file in ((Gate.open, before), (Gate.renew, after)):
        with pytest.raises(LedgerError, match=rf"\[protect\] has changed since it was begun \({message}\)"):
            run(file, policy(TEXT.replace(said, now)), ledger)
    Gate.open(before, policy(TEXT.replace(said, was)), ledger).close()


def test_a_unit_of_another_type_is_one_error(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, ROWS)
    ledger = tmp_path / "ledger"
    Gate.open(before, policy(), ledger).close()
    with duckdb.connect(str(after)) as connection:
        connection.execute("ALTER TABLE staff ALTER patient TYPE VARCHAR")
    with pytest.raises(DataChanged, match="cae-sql renew"):
        Gate.open(after, policy(), ledger)
    with pytest.raises(DataChanged, match="the unit of table staff was of type INTEGER, is VARCHAR"):
        Gate.renew(after, policy(), ledger)
    Gate.open(before, policy(), ledger).close()


def test_renewing_on_the_command_line_says_which_units_count_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = [(*row[:1], 9, *row[2:]) if row[0] == 4 else row for row in ROWS]
    before, after = states(tmp_path, ROWS, moved)
    rules = tmp_path / "policy.toml"
    rules.write_text(f"{TEXT}[ledger]\npath = '{tmp_path / 'ledger'}'\n")
    Gate.open(before, rules).close()
    with pytest.raises(SystemExit, match="0"):
        main(["renew", str(after), "-p", str(rules)])
    said = capsys.readouterr().out
    assert "staff.salary: 300 unchanged, 0 new, 0 changed, 0 left" in said
    assert "edition 2 is open; units that rows moved between count as one now: 1 fewer" in said
