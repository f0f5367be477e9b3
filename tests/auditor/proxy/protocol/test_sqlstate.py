"""Every code of the gate has its SQLSTATE on purpose; what could name a path or a value does not get out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from auditor import errors
from auditor.data.database import StatementFailed
from auditor.decision import Decision
from auditor.gate import verdict
from auditor.proxy.protocol import sqlstate
from auditor.proxy.protocol.sqlstate import SqlState, of_decision, of_error
from auditor.sql.reasons import REASONS
from auditor.told import Range


def own_decisions() -> dict[str, Decision]:
    """The verdicts that the gate makes itself, by code."""
    fixed = [value for value in vars(verdict).values() if isinstance(value, Decision)]
    decided = [verdict.of(code, ["salary"], withheld=1) for code in verdict.TEXTS]
    stopped = [verdict.failed(kind()) for kind in (StatementFailed, *StatementFailed.__subclasses__())]
    return {decision.code: decision for decision in (*fixed, *decided, *stopped)}


OWN = own_decisions()
# the gate refuses what is told as a range alone, though reading the statement finds it
DECISIONS = {
    code: Decision("unsupported", code, message, hint) for code, (message, hint) in REASONS.items()
} | OWN


def test_every_code_stands_in_one_table() -> None:
    tables = [set(sqlstate.ANSWERED), sqlstate.REFUSED, set(sqlstate.OWN), sqlstate.NOT_SUPPORTED]
    assert set().union(*tables) == set(DECISIONS)
    assert sum(map(len, tables)) == len(DECISIONS)


@pytest.mark.parametrize("code", DECISIONS)
def test_a_code_stands_in_the_table_of_its_verdict(code: str) -> None:
    tables = {
        "answered": set(sqlstate.ANSWERED),
        "refused": sqlstate.REFUSED,
        "unsupported": set(sqlstate.OWN) | sqlstate.NOT_SUPPORTED,
    }
    assert code in tables[DECISIONS[code].verdict]


@pytest.mark.parametrize("code", [code for code, each in DECISIONS.items() if each.verdict != "answered"])
def test_a_decision_becomes_an_error_with_its_message_hint_and_code(code: str) -> None:
    decision = DECISIONS[code]
    fields = of_decision(decision)
    assert (fields.message, fields.hint) == (decision.message, decision.hint)
    assert fields.detail == f"Verdict: {decision.verdict}, code: {code}."
    assert fields.severity == "ERROR"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("risk", "42501"),
        ("time", "42501"),
        ("range", "42501"),
        ("row-level", "0A000"),
        ("function", "0A000"),
        ("syntax", "42601"),
        ("unknown-table", "42P01"),
        ("unknown-column", "42703"),
        ("too-slow", "57014"),
        ("too-large", "54000"),
        ("too-much", "54000"),
    ],
)
def test_the_sqlstates_that_are_promised(code: str, expected: str) -> None:
    assert of_decision(DECISIONS[code]).sqlstate == expected


def test_other_promised_sqlstates() -> None:
    assert sqlstate.wrong_password("anna").sqlstate == "28P01"
    assert sqlstate.CANCELED.sqlstate == sqlstate.TIMED_OUT.sqlstate == "57014"
    assert sqlstate.TOO_MANY_CONNECTIONS.sqlstate == "53300"
    assert sqlstate.SHUTDOWN.sqlstate == "57P01"
    assert SqlState.PROTOCOL_VIOLATION == "08P01"


@pytest.mark.parametrize(("verdict", "expected"), [("refused", "42501"), ("unsupported", "0A000")])
def test_a_code_of_tomorrow_gets_its_verdicts_sqlstate(verdict: str, expected: str) -> None:
    assert of_decision(Decision(verdict, "new", "New.")).sqlstate == expected  # type: ignore[arg-type]


def test_a_refusal_never_gets_the_sqlstate_of_a_misspelt_statement() -> None:
    assert of_decision(Decision("refused", "syntax", "No.")).sqlstate == "42501"


def test_risk_figures_stay_inside() -> None:
    fields = of_decision(Decision("refused", "risk", "No.", "", 0.125, 0.875))
    assert "0.125" not in repr(fields)
    assert "0.875" not in repr(fields)


def test_an_answer_is_no_error() -> None:
    with pytest.raises(ValueError, match="public"):
        of_decision(verdict.PUBLIC)


def test_withheld_groups_are_told_beside_the_rows() -> None:
    notice = sqlstate.notice_of_decision(OWN["partial"])
    assert notice is not None
    assert (notice.severity, notice.sqlstate, notice.message) == ("WARNING", "01000", OWN["partial"].message)
    assert sqlstate.notice_of_decision(OWN["known"]) is None
    assert sqlstate.notice_of_decision(OWN["risk"]) is None


def test_a_preview_says_in_a_warning_that_its_nulls_say_nothing() -> None:
    notice = sqlstate.notice_of_decision(OWN["preview"])
    assert notice is not None
    assert (notice.severity, notice.sqlstate) == ("WARNING", "01000")
    assert "NULL stands in every row for what is protected, salary" in notice.message


def test_an_answer_of_ends_says_so_in_a_warning_that_lists_them() -> None:
    ends = (Range("sum(salary)", {"dept": "b"}, Fraction(3), Fraction(9)),)
    for code in ("ends", "known", "partial"):
        decision = verdict.of(code, ["salary"], withheld=1, ranges=ends)
        notice = sqlstate.notice_of_decision(decision, ends)
        assert notice is not None
        assert (notice.severity, notice.sqlstate, notice.message) == ("WARNING", "01000", decision.message)
        assert "from 3 to 9" in notice.message
        assert notice.detail.endswith("\nsum(salary) of dept b: from 3 to 9")


def test_errors_of_the_gate_carry_their_decision() -> None:
    assert of_error(errors.QueryRefused(OWN["risk"])) == of_decision(OWN["risk"])
    assert of_error(errors.QueryUnsupported(OWN["failed"])) == of_decision(OWN["failed"])


@pytest.mark.parametrize(
    "error",
    [errors.LedgerError, errors.DataChanged, errors.DatabaseError, errors.PolicyError, errors.StatementError],
)
def test_what_is_wrong_on_our_side_has_a_fixed_text(error: type[errors.AuditorError]) -> None:
    fields = of_error(error("/srv/staff.ledger: row 17 of salary is 90"))
    assert "17" not in repr(fields)
    assert "srv" not in repr(fields)
    assert fields.sqlstate in ("58000", "22023")


def test_every_sqlstate_has_five_characters_and_is_there_once() -> None:
    assert all(len(each) == 5 for each in SqlState)
    assert len(SqlState) == len(SqlState.__members__)
