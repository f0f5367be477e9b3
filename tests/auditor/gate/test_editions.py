"""A later state of the same table under the same ledger: what is known stays, and what differs is judged."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pytest

from auditor import DatabaseError, DataChanged, Gate, LedgerError, NewerEdition, Policy, PolicyError
from auditor.errors import NotRenewableWarning
from auditor.ledger import Ledger
from auditor.parties.party import Party
from tests.auditor.staff import Person, build, entries, people, policy, rows_or_none, truth, verdict

TOTAL = "SELECT sum(salary) FROM staff WHERE dept = 'a'"
COUNT = 300


def keyed(more: str = "", **protect: str) -> Policy:
    return policy(more, key='"id"', **protect)


def states(folder: Path, *tables: Sequence[Person]) -> list[Path]:
    return [build(folder / f"{place}.duckdb", rows) for place, rows in enumerate(tables)]


def raised(rows: Sequence[Person], *ids: int) -> list[Person]:
    """The same persons; these have another salary."""
    return [(*row[:4], (100 if row[4] != 100 else 150) if row[0] in ids else row[4]) for row in rows]


def without(rows: Sequence[Person], *ids: int) -> list[Person]:
    return [row for row in rows if row[0] not in ids]


HIRED: Person = (1000, 33, "m", "a", 120)
ROWS = people(COUNT)
TRACKERS: dict[str, list[Person]] = {
    "a hire": [*ROWS, HIRED],
    "a leaver": without(ROWS, 4),
    "a raise": raised(ROWS, 4),
    "a hire and a leaver": [*without(ROWS, 4), HIRED],
    "a raise and a leaver": raised(without(ROWS, 8), 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", TRACKERS)
def test_the_same_total_before_and_after_is_a_tracker(tmp_path: Path, what: str) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS[what])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
    assert Gate.renew(after, keyed(), ledger).opened
    with Gate.open(after, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "risk"
        assert gate.check(TOTAL).code == "risk"
        assert (
            rows_or_none(gate, "SELECT dept, sum(salary) FROM staff WHERE dept = 'a' GROUP BY dept") is None
        )


@pytest.mark.slow
@pytest.mark.parametrize("what", TRACKERS)
def test_the_other_way_round_it_is_one_too(tmp_path: Path, what: str) -> None:
    before, after = states(tmp_path, TRACKERS[what], ROWS)
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
    Gate.renew(after, keyed(), ledger)
    with Gate.open(after, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "risk"


@pytest.mark.slow
def test_what_is_about_unchanged_people_stays_known(tmp_path: Path) -> None:
    """Whatever became of their public columns: a condition that finds the same persons asks the same."""
    later = [(row[0], 70 - row[1] % 7, row[2], row[3], row[4]) for row in TRACKERS["a raise"]]
    before, after = states(tmp_path, ROWS, later)
    ledger = tmp_path / "ledger"
    sql = "SELECT sum(salary) FROM staff WHERE dept = 'b'"
    with Gate.open(before, keyed(), ledger) as gate:
        told = gate.execute(sql).fetchall()
    Gate.renew(after, keyed(), ledger)
    with Gate.open(after, keyed(), ledger) as gate:
        again = gate.execute("SELECT sum(salary) FROM staff WHERE id % 4 = 1")
        assert (again.decision.code, again.fetchall()) == ("known", told)
        signed = gate.execute("SELECT sum(salary) * 2 FROM staff WHERE dept = 'b'")
        assert signed.decision.code == "known"


@pytest.mark.slow
def test_a_question_is_answered_from_the_data_of_its_edition(tmp_path: Path) -> None:
    """Whoever has enough changes in between gets the new total, never the old one."""
    changed = range(0, 120, 4)
    before, after = states(tmp_path, ROWS, raised(ROWS, *changed))
    ledger = tmp_path / "ledger"
    rules = keyed("[intruder]\ninsiders = 0\n")
    with Gate.open(before, rules, ledger) as gate:
        assert gate.execute(TOTAL).fetchall() == truth(before, TOTAL)
    Gate.renew(after, rules, ledger)
    with Gate.open(after, rules, ledger) as gate:
        for _ in range(2):
            assert gate.execute(TOTAL).fetchall() == truth(after, TOTAL) != truth(before, TOTAL)
        assert verdict(gate, TOTAL).code == "known"
        assert gate.edition == 2


@pytest.mark.slow
def test_signs_go_with_their_records(tmp_path: Path) -> None:
    """Rows stand in another order in the second edition; a difference is of the same groups."""
    sql = "SELECT sum(CASE WHEN sex = 'm' THEN salary ELSE -salary END) FROM staff"
    later = [(row[0], 90 - row[1], row[2], row[3], row[4]) for row in ROWS]
    before, after = states(tmp_path, ROWS, [*later[100:], *later[:100]])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        assert gate.execute(sql).fetchall() == truth(before, sql)
    Gate.renew(after, keyed(), ledger)
    with Gate.open(after, keyed(), ledger) as gate:
        found = gate.execute(sql)
        assert (found.decision.code, found.fetchall()) == ("known", truth(before, sql))


@pytest.mark.slow
def test_who_is_back_at_an_old_value_is_the_old_record(tmp_path: Path) -> None:
    """A table that is put back as it was adds nothing, and what was known of it is known again."""
    before, after, back = states(tmp_path, ROWS, TRACKERS["a raise and a leaver"], ROWS[::-1])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"
    Gate.renew(after, keyed(), ledger)
    [(_, _, carried)] = Gate.renew(back, keyed(), ledger).carried
    assert (carried.unchanged, carried.new, carried.changed, carried.left) == (COUNT, 0, 0, 0)
    with Gate.open(back, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "known"
        assert gate.edition == 3


@pytest.mark.slow
def test_counts_say_what_was_carried(tmp_path: Path) -> None:
    later = [*raised(without(ROWS, 1, 2, 3), 10, 11), HIRED]
    before, after = states(tmp_path, ROWS, later)
    ledger = tmp_path / "ledger"
    Gate.open(before, keyed(), ledger).close()
    found = Gate.renew(after, keyed(), ledger)
    [(table, column, carried)] = found.carried
    assert (found.edition, table, column) == (2, "staff", "salary")
    assert (carried.unchanged, carried.new, carried.changed, carried.left) == (295, 1, 2, 3)


def test_the_same_data_open_nothing(tmp_path: Path) -> None:
    before, same = states(tmp_path, ROWS, ROWS[::-1])
    ledger = tmp_path / "ledger"
    Gate.open(before, keyed(), ledger).close()
    found = Gate.renew(same, keyed(), ledger)
    assert (found.edition, found.opened, found.carried) == (1, False, ())
    with Gate.open(before, keyed(), ledger) as gate:
        assert entries(gate) == []


# --- an insider whose value changed


@pytest.mark.slow
def test_whoever_had_a_raise_knows_two_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two raises and two leavers: one who had a raise, if the other's is known, is told what the two earned.

    A judgement that reckons with one known record sees six records that differ, and lets it pass.
    """
    later = raised(without(ROWS, 80, 84), 0, 4)
    before, after = states(tmp_path, ROWS, later)
    ledger, other = tmp_path / "ledger", tmp_path / "other"
    for place in (ledger, other):
        with Gate.open(before, keyed(), place) as gate:
            assert verdict(gate, TOTAL).code == "answered"
        Gate.renew(after, keyed(), place)
    with Gate.open(after, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "risk"
    monkeypatch.setattr(Party, "refusal_by_persons", lambda *_: None)
    with Gate.open(after, keyed(), other) as gate:
        assert verdict(gate, TOTAL).code in ("answered", "ends")


# --- gates that are open meanwhile


@pytest.mark.slow
def test_a_gate_that_holds_the_past_turns_everybody_away(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        told = "SELECT sum(salary) FROM staff WHERE dept = 'b'"
        assert verdict(gate, told).code == "answered"
        assert not gate.outdated
        Gate.renew(after, keyed(), ledger)
        assert gate.outdated
        for sql in (TOTAL, told, "SELECT count(*) FROM staff", "SELECT sum(salary) FROM staff WHERE id = 3"):
            with pytest.raises(NewerEdition, match="open the gate again"):
                gate.execute(sql)
        with pytest.raises(NewerEdition):
            gate.check(TOTAL)
    with pytest.raises(DataChanged, match="begun on, and it is at edition 2"):
        Gate.open(before, keyed(), ledger)


@pytest.mark.slow
def test_two_who_renew_at_once_open_one(tmp_path: Path) -> None:
    before, after, later = states(tmp_path, ROWS, TRACKERS["a hire"], TRACKERS["a leaver"])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        binding = gate._ledger.binding
    with Ledger.open(ledger, binding, renewing=True) as slow:
        Gate.renew(after, keyed(), ledger)
        with Gate.open(after, keyed(), ledger) as gate:
            edition = gate._ledger.editions[-1]
        with pytest.raises(NewerEdition):
            slow.renew(edition)
    assert Gate.renew(later, keyed(), ledger).edition == 3


def test_an_edition_is_there_whole_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        assert verdict(gate, TOTAL).code == "answered"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_check_written", killed)
        with pytest.raises(KeyboardInterrupt):
            Gate.renew(after, keyed(), ledger)
    with pytest.raises(DataChanged, match="cae-sql renew"):
        Gate.open(after, keyed(), ledger)
    with Gate.open(before, keyed(), ledger) as gate:
        assert (gate.edition, verdict(gate, TOTAL).code) == (1, "known")
    assert Gate.renew(after, keyed(), ledger).edition == 2


def test_an_anchor_goes_on_with_editions(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger, rules = tmp_path / "ledger", keyed(f"[ledger]\nanchor = '{tmp_path / 'anchor'}'\n")
    Gate.open(before, rules, ledger).close()
    copy = ledger.read_bytes()
    Gate.renew(after, rules, ledger)
    Gate.open(after, rules, ledger).close()
    for part in tmp_path.glob("ledger*"):
        part.unlink()
    ledger.write_bytes(copy)
    with pytest.raises(LedgerError, match="its anchor says 1"):
        Gate.open(before, rules, ledger)


@pytest.mark.slow
def test_verify_says_what_the_data_cannot_say_any_more(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a leaver"])
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        verdict(gate, TOTAL)
        verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'b'")
    Gate.renew(after, keyed(), ledger)
    with Gate.open(after, keyed(), ledger) as gate:
        verdict(gate, "SELECT sum(salary) FROM staff WHERE dept = 'c'")
        found = gate.verify()
    assert (found.answers, found.past, found.problems) == (3, 1, ())


@pytest.mark.slow
def test_administrators_see_past_records_as_a_class_of_their_own(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a raise and a leaver"])
    ledger, rules = tmp_path / "ledger", keyed('[intruder]\nknows = ["dept"]\n')
    with Gate.open(before, rules, ledger) as gate:
        verdict(gate, TOTAL)
    Gate.renew(after, rules, ledger)
    with Gate.open(after, rules, ledger) as gate:
        for candidates in ("interval", "posterior"):
            frame = gate.risk(candidates)
            assert frame["dept"].tolist()[:4] == list("abcd")
            assert frame["dept"].isna().tolist() == [False] * 4 + [True]
            assert frame["records"].tolist() == [74, 75, 75, 75, 2]
        assert len(gate.nearest(5)) == 5
        assert gate.history()["verdict"].tolist() == ["answered", "edition"]


@pytest.mark.slow
def test_each_column_has_records_of_its_own(tmp_path: Path) -> None:
    """Whose bonus changed is the same record as to the salary."""
    columns = "id INTEGER, dept VARCHAR, salary INTEGER, bonus INTEGER"
    rows: list[Person] = [(row[0], row[3], row[4], 260 - int(str(row[4]))) for row in ROWS]
    later: list[Person] = [
        (*row[:3], (100 if row[3] != 100 else 150) if row[0] == 4 else row[3]) for row in rows
    ]
    before = build(tmp_path / "before.duckdb", rows, columns)
    after = build(tmp_path / "after.duckdb", later, columns)
    section = (
        '[[protect]]\ntable = "staff"\ncolumn = "{}"\nminimum = 10\nmaximum = 250\nstep = 10\nkey = "id"\n'
    )
    section += 'public = ["id", "dept"]\n'
    rules = Policy.parse(section.format("salary") + section.format("bonus") + "[limit]\nrisk = 0.5\n")
    ledger = tmp_path / "ledger"
    other = TOTAL.replace("salary", "bonus")
    with Gate.open(before, rules, ledger) as gate:
        assert [verdict(gate, sql).code for sql in (TOTAL, other)] == ["answered", "answered"]
    found = {column: carried.changed for _, column, carried in Gate.renew(after, rules, ledger).carried}
    assert found == {"salary": 0, "bonus": 1}
    with Gate.open(after, rules, ledger) as gate:
        assert [verdict(gate, sql).code for sql in (TOTAL, other)] == ["known", "risk"]


def test_users_apart_carry_what_each_knows(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger, rules = tmp_path / "ledger", keyed('[ledger]\nscope = "user"\n')
    with Gate.open(before, rules, ledger) as gate:
        assert verdict(gate, TOTAL, user="ana").code == "answered"
    Gate.renew(after, rules, ledger)
    with Gate.open(after, rules, ledger) as gate:
        assert verdict(gate, TOTAL, user="ana").code == "risk"
        assert verdict(gate, TOTAL, user="bob").code == "answered"


@pytest.mark.slow
def test_what_is_published_is_published_of_each_edition(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, raised(ROWS, *range(0, 160, 4)))
    published = "SELECT sum(salary) FROM staff"
    ledger = tmp_path / "ledger"
    rules = keyed(f"[intruder]\ninsiders = 0\npublished = ['{published}']\n")
    Gate.open(before, rules, ledger).close()
    Gate.renew(after, rules, ledger)
    with Gate.open(after, rules, ledger) as gate:
        assert [entry.code for entry in entries(gate)] == ["answered", "edition", "answered"]
        assert gate.execute(published).fetchall() == truth(after, published)


# --- what cannot be


def sql(change: str) -> Callable[[Path], None]:
    def run(file: Path) -> None:
        with duckdb.connect(str(file)) as connection:
            connection.execute(change)

    return run


WRONG: dict[str, tuple[str, type[Exception], str]] = {
    "a key twice": ("UPDATE staff SET id = 3 WHERE id = 4", DatabaseError, "does not name each record"),
    "a key missing": ("UPDATE staff SET id = NULL WHERE id = 4", DatabaseError, "does not name each record"),
    "a key's type": (
        "ALTER TABLE staff ALTER id TYPE VARCHAR",
        DataChanged,
        "was of type INTEGER, is VARCHAR",
    ),
    "a column's type": (
        "ALTER TABLE staff ALTER age TYPE BIGINT",
        DataChanged,
        "had age INTEGER, has age BIG",
    ),
    "the protected column's type": (
        "ALTER TABLE staff ALTER salary TYPE BIGINT",
        DataChanged,
        "salary of table",
    ),
    "a column more": ("ALTER TABLE staff ADD COLUMN more INTEGER", DataChanged, "has more INTEGER"),
    "a column less": ("ALTER TABLE staff DROP COLUMN sex", DataChanged, "had sex VARCHAR, has no longer"),
    "a value outside": ("UPDATE staff SET salary = 900 WHERE id = 4", PolicyError, "lie outside"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_edition_is_one_error_and_opens_nothing(tmp_path: Path, what: str) -> None:
    change, kind, text = WRONG[what]
    before, after = states(tmp_path, ROWS, ROWS)
    ledger = tmp_path / "ledger"
    with Gate.open(before, keyed(), ledger) as gate:
        verdict(gate, TOTAL)
    sql(change)(after)
    with pytest.raises(kind, match=text):
        Gate.renew(after, keyed(), ledger)
    with Gate.open(before, keyed(), ledger) as gate:
        assert (gate.edition, len(entries(gate))) == (1, 1)


def test_a_policy_that_changed_is_one_error(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger = tmp_path / "ledger"
    Gate.open(before, keyed(), ledger).close()
    with pytest.raises(LedgerError, match=r"\[protect\] has changed"):
        Gate.renew(after, keyed(maximum="500"), ledger)


def test_without_a_key_nobody_is_known_again(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    ledger = tmp_path / "ledger"
    Gate.open(before, policy(), ledger).close()
    with pytest.raises(PolicyError, match=r"protect\.key: missing"):
        Gate.renew(after, policy(), ledger)


def test_a_ledger_that_is_begun_without_a_key_says_so_at_once(tmp_path: Path) -> None:
    (before,) = states(tmp_path, ROWS)
    ledger = tmp_path / "ledger"
    with pytest.warns(NotRenewableWarning, match=r'key = "id" in \[protect\]'):
        Gate.open(before, policy(), ledger).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Gate.open(before, policy(), ledger).close()  # said once
        Gate.open(before, keyed(), tmp_path / "keyed").close()
        Gate.open(before, policy("[ledger]\neditions = false\n"), tmp_path / "wanted").close()


def test_without_a_ledger_there_is_nothing_to_renew(tmp_path: Path) -> None:
    (after,) = states(tmp_path, ROWS)
    with pytest.raises(LedgerError, match="nothing to renew"):
        Gate.renew(after, keyed(), tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_a_ledger_may_hold_nobody(tmp_path: Path) -> None:
    before, after = states(tmp_path, ROWS, TRACKERS["a hire"])
    rules, ledger = keyed("[ledger]\neditions = false\n"), tmp_path / "ledger"
    Gate.open(before, rules, ledger).close()
    with pytest.raises(LedgerError, match="does not hold who is who"):
        Gate.renew(after, rules, ledger)
    with pytest.raises(PolicyError, match=r"editions = true: nothing tells who is who"):
        Gate.open(before, policy("[ledger]\neditions = true\n"), tmp_path / "other")


@pytest.mark.slow
def test_of_two_values_a_change_tells_the_other(tmp_path: Path) -> None:
    """So the change of a BOOLEAN is an error; hires and leavers are not."""
    columns = "id INTEGER, dept VARCHAR, ill BOOLEAN"
    rows: list[Person] = [(i, "ab"[i % 2], i % 3 == 0) for i in range(100)]
    flipped: list[Person] = [(*row[:2], not row[2] if row[0] == 4 else row[2]) for row in rows]
    before, after, hired = (
        build(tmp_path / f"{name}.duckdb", table, columns)
        for name, table in (("before", rows), ("after", flipped), ("hired", [*rows, (100, "a", True)]))
    )
    rules = Policy.parse(
        '[protect]\ntable = "staff"\ncolumn = "ill"\nminimum = 0\nmaximum = 1\nstep = 1\nkey = "id"\n'
        'public = ["id", "dept"]\n[limit]\nrisk = 0.9\n'
    )
    ledger = tmp_path / "ledger"
    Gate.open(before, rules, ledger).close()
    with pytest.raises(PolicyError, match=r"staff\.ill has two values"):
        Gate.renew(after, rules, ledger)
    assert Gate.renew(hired, rules, ledger).edition == 2
