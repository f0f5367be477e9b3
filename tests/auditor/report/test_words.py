"""The first screen says what was found, and no more."""

from __future__ import annotations

from dataclasses import replace

from auditor.history.findings import Findings, PartyFindings
from auditor.report.tally import tally
from auditor.report.words import Summary, columns_of, summary

from .made import made, nothing_found

FOUND = made(100)


def text_of(one: Summary) -> str:
    facts = [f"{f.figure} {f.text} {f.remark}" for part in (one.who, one.by, one.since) for f in part]
    steps = [f"{step.what} {step.why}" for step in one.steps]
    return "\n".join([one.headline, one.lead, *facts, *one.doubts, *steps])


def alone(found: Findings, party: str) -> Findings:
    """What a single party found, as if no other had been looked at."""
    return replace(
        found,
        findings=[one for one in found.findings if one.party == party],
        parties=[one for one in found.parties if one.party == party],
    )


def test_the_headline_says_how_many_records_of_how_many() -> None:
    said = "The answers give away “salary” for {} of 2,435 records"
    assert summary(FOUND).headline.startswith(said.format(60))
    assert summary(made(1)).headline.startswith(said.format(1))
    judged = [replace(party, open=0) for party in FOUND.parties]
    whole = replace(FOUND, unmodelled=(), reading={"statements": 1}, parties=judged)
    assert summary(whole).headline == said.format(60)


def test_what_was_not_read_or_not_modelled_stands_in_the_headline() -> None:
    lines = ", but 3 lines or records of the log were not read"
    missing = f"{lines}, 41 statements were not modelled and 6 records were left unjudged"
    assert summary(FOUND).headline.endswith(missing)
    missing = f"{lines} and 12 statements were not modelled"
    assert summary(nothing_found()).headline == "No record is shown to be located" + missing


def test_each_record_is_counted_once_under_its_gravest_kind() -> None:
    one = FOUND.findings[0]
    twice = replace(
        FOUND, findings=[replace(one, kind="approximate"), replace(one, kind="direct", party="user x")]
    )
    counts = tally(twice)
    assert (counts.located, counts.direct, counts.approximate) == (1, 1, 0)


def test_the_same_number_in_two_columns_is_two_records() -> None:
    one = FOUND.findings[0]
    two = replace(FOUND, findings=[one, replace(one, column="bonus")])
    assert tally(two).located == 2
    assert columns_of(two) == "bonus of staff and salary of staff"
    assert "confidential values" in summary(two).headline


def test_it_says_who_and_since_when() -> None:
    by = {fact.text: fact for fact in summary(FOUND).by}
    assert by["user anna"].figure == "30"
    assert by["user anna"].remark.startswith("since ")
    assert by["everyone together"].remark == "20 of them only by pooling answers"
    assert [fact.text for fact in summary(FOUND).since] == ["first record given away", "last one"]


def test_without_times_it_says_which_statement() -> None:
    findings = [replace(one, first=replace(one.first, time=None)) for one in FOUND.findings]
    since = summary(replace(FOUND, findings=findings)).since
    assert since[0].figure == f"Statement {min(one.first.number for one in findings):,}"


def test_what_users_can_only_do_together_is_said_to_be_so() -> None:
    by = summary(alone(FOUND, "everyone")).by
    assert [fact.text for fact in by] == ["everyone together"]
    without = replace(FOUND, findings=[one for one in FOUND.findings if one.party == "everyone"])
    assert summary(without).by[-1].remark == "none of them by any user alone"


def test_many_parties_are_cut_and_counted() -> None:
    party = FOUND.parties[1]
    many: list[PartyFindings] = [replace(party, party=f"user {number}") for number in range(9)]
    by = summary(replace(FOUND, parties=many)).by
    assert len(by) == 5
    assert (by[-1].figure, by[-1].text) == ("5", "more parties")


def test_nothing_found_is_not_called_safe() -> None:
    said = summary(nothing_found())
    assert said.headline.startswith("No record is shown to be located, but ")
    assert "as far as they could be followed" in said.lead
    assert any("could not be followed" in doubt for doubt in said.doubts)
    assert not said.who
    assert "safe" not in text_of(said)


def test_a_log_of_which_nothing_was_read_is_not_called_harmless() -> None:
    unread = replace(nothing_found(), reading={"statements": 0, "broken": {"not a log": 12}})
    assert summary(unread).headline == "No statement was read"
    assert "nothing can be said" in summary(unread).lead


def test_a_log_that_never_touched_the_column_is_said_not_to() -> None:
    parties = [replace(one, statements=0) for one in nothing_found().parties]
    said = summary(replace(nothing_found(), parties=parties))
    assert said.lead.startswith("Of the statements that were read, none was answered from a protected column")


def test_records_without_a_finding_are_a_doubt() -> None:
    parties = [replace(one, located=one.located + 3) for one in FOUND.parties]
    doubts = summary(replace(FOUND, parties=parties)).doubts
    assert any(doubt.startswith("For 3 more records no proof was found") for doubt in doubts)
    assert not any("no proof" in doubt for doubt in summary(FOUND).doubts)


def test_records_that_were_not_judged_are_a_doubt() -> None:
    parties = [replace(one, open=5) for one in nothing_found().parties]
    said = summary(replace(nothing_found(), parties=parties))
    assert "5 records could not be judged: that takes more work than an audit spends." in said.doubts
    assert "every record that could be judged" in said.lead


def test_records_that_were_not_judged_stand_in_the_headline() -> None:
    clean = replace(nothing_found(), unmodelled=[], reading={"statements": 3})
    assert summary(clean).headline == "No record is shown to be located"
    for count, said in ((1, "1 record was left unjudged"), (5, "5 records were left unjudged")):
        parties = [replace(one, open=count) for one in clean.parties]
        shown = summary(replace(clean, parties=parties)).headline
        assert shown == f"No record is shown to be located, but {said}"
    parties = [replace(one, open=5) for one in FOUND.parties]
    assert summary(replace(FOUND, parties=parties)).headline.endswith("5 records were left unjudged")


def test_direct_reading_leads_to_its_own_advice_only_where_it_happened() -> None:
    advice = "Take away the right to read rows."
    assert advice in [step.what for step in summary(FOUND).steps]
    others = replace(FOUND, findings=[one for one in FOUND.findings if one.kind != "direct"])
    assert advice not in [step.what for step in summary(others).steps]


def test_the_gate_is_spoken_of_in_numbers_only_where_it_was_worked_out() -> None:
    assert "refused 412 of 3,529 statements" in text_of(summary(FOUND))
    without = replace(FOUND, parties=[replace(one, gate=None) for one in FOUND.parties])
    assert "would have refused" not in text_of(summary(without))


def test_a_user_without_a_name_is_said_to_have_none() -> None:
    parties = [replace(FOUND.parties[1], party="user ")]
    assert summary(replace(FOUND, parties=parties)).by[0].text == "a user whom the log does not name"
