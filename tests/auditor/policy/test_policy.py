"""A policy that exists can be used; one that cannot is refused with key, value and what would do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from auditor.errors import PolicyError
from auditor.policy.policy import Policy, written
from auditor.policy.sections import DEFAULT_INSIDERS

TEXT = """\
[protect]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["age", "sex", "dept"]

[limit]
risk = 0.5
"""

FULL = """\
dialect = "postgres"

[protect]
table = "staff"
column = "salary"
minimum = 10.05
maximum = 250.05
step = 0.1
resolution = 0.05
key = "id"
public = "all"

[tables]
public = ["regions"]

[intruder]
knows = ["age"]
insiders = 1
candidates = "interval"

[limit]
risk = 0.5
epsilon = 20
min_entropy = 0.5

[decision]
mode = "answer-dependent"
worlds = 40
delta = 0
timeout = 2.5
partial = "refuse"

[ledger]
path = "staff.ledger"
anchor = "kept/staff.anchor"
scope = "user"
"""


def test_a_full_policy_is_read_with_numbers_as_written() -> None:
    policy = Policy.parse(FULL)
    (protect,) = policy.protects
    assert protect.minimum == Fraction(1005, 100)
    assert protect.domain.step == Fraction(1, 10)
    assert protect.domain.count == 2401
    assert protect.grid == Fraction(1, 20)
    assert (policy.dialect, policy.decision.partial) == ("postgres", "refuse")
    assert policy.tables.public == ("regions",)
    assert policy.decision.timeout == 2.5
    assert policy.ledger.scope == "user"
    assert policy.intruder.insiders == 1


def test_what_is_left_out_has_the_documented_default() -> None:
    policy = Policy.parse(TEXT)
    assert policy.protects[0].grid == 10
    assert policy.dialect == "duckdb"
    assert policy.intruder.insiders == DEFAULT_INSIDERS
    assert policy.intruder.knows == "all"
    assert (policy.decision.mode, policy.decision.worlds, policy.decision.delta) == ("simulatable", 20, 0.05)
    assert (policy.decision.timeout, policy.decision.partial) == (60, "suppress")
    assert policy.decision.ranges == "asked"
    assert policy.ledger.scope == "everyone"
    assert policy.anchor_path is None


def test_the_limit_is_the_one_that_risk_judges() -> None:
    pytest.importorskip("cae_sql.risk")
    policy = Policy.parse(FULL)
    limit = policy.limits_of(policy.protects[0]).limit
    assert (limit.risk, limit.epsilon, limit.min_entropy) == (0.5, 20, 0.5)


def test_a_policy_cannot_be_changed() -> None:
    policy = Policy.parse(TEXT)
    with pytest.raises(ValueError, match="frozen"):
        policy.protects[0].step = Fraction(1)


BROKEN = [
    # old text, new text, what the message must name
    ("step = 10", "stepp = 10", ["protect.stepp = 10", "did you mean protect.step"]),
    ("[limit]", "[limits]", ["[limits]", "did you mean limit"]),
    ("[protect]", "risk = 0.5\n[protect]", ["risk = 0.5", "belongs in the section [limit]"]),
    ("step = 10", "zzz = 10", ["protect.zzz = 10", "no such key", "table, column"]),
    ("step = 10\n", "", ["protect.step is missing", "step = 10"]),
    ("step = 10", "step = 0", ["protect.step = 0", "greater than 0"]),
    ("step = 10", 'step = "ten"', ['protect.step = "ten"', "must be a number", "step = 10"]),
    ("step = 10", "step = nan", ["protect.step", "finite"]),
    ("step = 10", "step = true", ["protect.step = true", "must be a number"]),
    ("step = 10", "step = 1e999999999", ["protect.step", "at most 40 digits"]),
    ("step = 10", "step = 500", ["protect.step = 500", "one value"]),
    ("step = 10", "step = 0.0001", ["protect.step = 0.0001", "coarser"]),
    ("step = 10", "step = 10\nresolution = 1e-12", ["protect.resolution", "coarser"]),
    ("step = 10", "step = 10\nresolution = 4", ["protect.resolution = 4", "step = 10", "multiple"]),
    ("step = 10", "step = 10\nresolution = 20", ["protect.resolution = 20", "step = 10"]),
    ("step = 10", "step = 10\nresolution = -5", ["protect.resolution = -5", "greater than 0"]),
    ("maximum = 250", "maximum = 10", ["protect.maximum = 10", "minimum = 10"]),
    ('"dept"]', '"Salary"]', ["protect.public", "is the protected column"]),
    ('["age", "sex", "dept"]', '"most"', ["protect.public", '"most"', '"all"', "list"]),
    ('["age", "sex", "dept"]', "[1]", ["protect.public", "list of names"]),
    ('public = ["age", "sex", "dept"]', "", ["protect.public is missing", '"all"']),
    ("step = 10", 'step = 10\nkey = "salary"', ["protect.key", "is the protected column"]),
    ('"staff"', '""', ["protect.table", "empty"]),
    ('"staff"', "7", ["protect.table = 7", "text in quotes"]),
    ("risk = 0.5", "", ["limit", "at least one of risk and epsilon", "risk = 0.5"]),
    ("risk = 0.5", "risk = 1", ["limit.risk = 1", "less than 1"]),
    ("risk = 0.5", "risk = -0.1", ["limit.risk = -0.1", "at least 0"]),
    ("risk = 0.5", "epsilon = -1", ["limit.epsilon = -1", "at least 0"]),
    ("risk = 0.5", "risk = 0.5\nmin_entropy = 1", ["limit.min_entropy = 1", "needs epsilon"]),
    ("risk = 0.5", "epsilon = 20\nmin_entropy = 0", ["limit.min_entropy = 0", "greater than 0"]),
    ("risk = 0.5", "epsilon = 20\nmin_entropy = 9", ["limit.min_entropy = 9", "3.122 bits"]),
    ("risk = 0.5", "epsilon = 240", ["limit.epsilon = 240", "whole domain"]),
    ("risk = 0.5", "epsilon = 20", ["limit.epsilon = 20", "give min_entropy too", "0.31 of the 3.122 bits"]),
    ("risk = 0.5", "epsilon = 20\nmin_entropy = 0.3", ["limit.epsilon = 20", "at least 0.31", "risk = 0.5"]),
    ("[limit]", '[decision]\nmode = "fast"\n[limit]', ["decision.mode", '"fast"', "'simulatable'"]),
    ("[limit]", "[decision]\nworlds = 0\n[limit]", ["decision.worlds = 0", "at least 1"]),
    ("[limit]", "[decision]\nworlds = 2.5\n[limit]", ["decision.worlds = 2.5", "whole number"]),
    ("[limit]", "[decision]\ndelta = 1\n[limit]", ["decision.delta = 1", "less than 1"]),
    ("[limit]", "[decision]\ntimeout = 0\n[limit]", ["decision.timeout = 0", "greater than 0"]),
    ("[limit]", "[decision]\ntimeout = inf\n[limit]", ["decision.timeout", "finite"]),
    ("[limit]", '[tables]\npublic = ["STAFF"]\n[limit]', ["tables.public", "STAFF", "leave it out"]),
    ("[limit]", '[intruder]\nknows = ["shoe"]\n[limit]', ["intruder.knows", "shoe", "protect.public"]),
    ("[limit]", '[source]\nmode = "cell"\n[limit]', ["source.mode", '"cell"', '"records"']),
    (
        "[limit]",
        '[source]\nmode = "records"\nvalues = true\n[limit]',
        ["source.values", 'take mode = "cells"'],
    ),
    ("[limit]", '[source]\nmode = "rows"\n[limit]', ["source.mode", '"rows"', "'records'"]),
    ("[limit]", "[intruder]\ninsiders = 2\n[limit]", ["intruder.insiders = 2", "0 or 1", "insiders = 1"]),
    ("[limit]", "[intruder]\ninsiders = -1\n[limit]", ["intruder.insiders = -1", "0 or 1"]),
    ("[limit]", "[intruder]\ninsiders = 1.0\n[limit]", ["intruder.insiders = 1.0", "0 or 1"]),
    ("[limit]", "[intruder]\ninsiders = true\n[limit]", ["intruder.insiders = true", "0 or 1"]),
    ("[limit]", '[intruder]\ninsiders = "one"\n[limit]', ['intruder.insiders = "one"', "0 or 1"]),
    ("[limit]", '[ledger]\nscope = "team"\n[limit]', ["ledger.scope", '"team"', "'everyone'"]),
    ("[limit]", '[tables]\nviews = ["main.staff"]\n[limit]', ["tables.views", "main.staff", "leave it out"]),
    (
        "[limit]",
        '[tables]\npublic = ["a"]\nviews = ["A"]\n[limit]',
        ["tables.views", '"A"', "one of the two"],
    ),
    ("[limit]", '[intruder]\nknows = ["salary"]\n[limit]', ["intruder.knows", "is a protected column"]),
    ("[limit]", "[decision]\nremainder = 1\n[limit]", ["decision.remainder = 1", "true, false or a label"]),
    ("[limit]", '[decision]\nremainder = " "\n[limit]', ["decision.remainder", "a label in quotes"]),
    (
        "[limit]",
        '[decision]\nremainder = "(other)"\npartial = "refuse"\n[limit]',
        ["decision.remainder", 'take partial = "suppress"'],
    ),
    ("[limit]", "[rules]\nmin_size = 1\n[limit]", ["rules.min_size = 1", "at least 2"]),
    ("[limit]", "[rules]\nmin_size = 2.5\n[limit]", ["rules.min_size = 2.5", "must be a whole number"]),
    ("[limit]", "[rules]\nmin_sise = 5\n[limit]", ["rules.min_sise", "did you mean rules.min_size?"]),
    ("[limit]", '[decision]\npartial = "some"\n[limit]', ["decision.partial", "'suppress' or 'refuse'"]),
    ("[limit]", '[decision]\nranges = "always"\n[limit]', ["decision.ranges", "'asked' or 'never'"]),
    ("[limit]", '[decision]\ndialect = "postgres"\n[limit]', ["decision.dialect", "above the first section"]),
    ("[protect]", 'dialect = "mysql"\n[protect]', ["dialect", '"mysql"', "'duckdb' or 'postgres'"]),
    ("[limit]\nrisk = 0.5", "", ["limit: missing", "[limit] with risk = 0.5"]),
    ("public", "limit = {}\npublic", ["protect.limit", "at least one of risk and epsilon"]),
    ("public", "limit = {risk = 2}\npublic", ["protect.limit.risk = 2", "less than 1"]),
    ("public", "limit = {epsilon = 240}\npublic", ["protect.limit.epsilon = 240", "whole domain"]),
    ("public", "limit = {epsilon = 20}\npublic", ["protect.limit.epsilon = 20", "give min_entropy too"]),
    ("public", "limit = {rysk = 0.5}\npublic", ["protect.limit.rysk = 0.5", "protect.limit.risk"]),
    ("[limit]", "[limit", ["not valid TOML"]),
]


@pytest.mark.parametrize(("old", "new", "named"), BROKEN, ids=[repr(new)[:50] for _, new, _ in BROKEN])
def test_a_mistake_is_one_error_with_key_value_and_what_would_do(
    old: str, new: str, named: list[str]
) -> None:
    assert old in TEXT
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TEXT.replace(old, new))
    message = str(caught.value)
    assert "\n" not in message
    for part in named:
        assert part in message


@pytest.mark.parametrize("model", ["interval", "posterior", "exact"])
def test_a_candidate_model_may_decide(model: str) -> None:
    policy = Policy.parse(TEXT.replace("[limit]", f'[intruder]\ncandidates = "{model}"\n[limit]'))
    assert policy.intruder.candidates == model


@pytest.mark.parametrize("given", ['"interwal"', '"Exact"', '""', "1", "true", '["exact"]', "{}"])
def test_any_other_candidate_model_is_a_mistake(given: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TEXT + f"[intruder]\ncandidates = {given}\n")
    text = str(caught.value)
    assert text.startswith("intruder.candidates = ")
    assert "'interval', 'posterior' or 'exact'" in text
    assert "\n" not in text


def test_a_candidate_model_that_is_gone_says_what_would_do() -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TEXT + '[intruder]\ncandidates = "tilted"\n')
    assert str(caught.value) == (
        'intruder.candidates = "tilted": is gone; take candidates = "posterior", which judges what answers '
        "make likely too"
    )


PRIMED = TEXT.replace("risk = 0.5", "epsilon = 20\nmin_entropy = 1.5") + (
    "[intruder]\nprior = [[10, 1000], [20, 1], [30, 0]]\n"
)


def test_a_prior_that_breaks_the_limit_before_any_answer_is_a_mistake_where_it_is_believed() -> None:
    assert Policy.parse(PRIMED + 'candidates = "interval"\n').intruder.candidates == "interval"
    assert Policy.parse(PRIMED + 'candidates = "exact"\n').intruder.candidates == "exact"
    told = r'limit.epsilon = 20: leaves 0.000 bits under candidates = "posterior"'
    with pytest.raises(PolicyError, match=told):
        Policy.parse(PRIMED)


HUGE = ["1" + "0" * 400, "1" + "0" * 5000]


@pytest.mark.parametrize("number", HUGE, ids=["400 digits", "5,000 digits"])
@pytest.mark.parametrize("key", ["risk = 0.5", "maximum = 250"])
def test_a_number_of_hundreds_of_digits_is_a_mistake_like_others(key: str, number: str) -> None:
    name = key.split()[0]
    with pytest.raises(PolicyError, match="digits"):
        Policy.parse(TEXT.replace(key, f"{name} = {number}"))


@pytest.mark.parametrize("insiders", [0, 1])
def test_there_are_no_insiders_or_one(insiders: int) -> None:
    policy = Policy.parse(TEXT + f"[intruder]\ninsiders = {insiders}\n")
    assert policy.intruder.insiders == insiders
    assert policy.protect_digest == Policy.parse(TEXT).protect_digest


def test_what_is_documented_of_insiders_is_the_default() -> None:
    rows = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith("| `intruder.insiders` |")]
    assert row.split("|")[2].strip() == f"`{DEFAULT_INSIDERS}`"


def test_one_protected_column_may_be_written_as_a_list_of_one() -> None:
    assert Policy.parse(TEXT.replace("[protect]", "[[protect]]")) == Policy.parse(TEXT)


TWO = """\
[[protect]]
table = "staff"
column = "salary"
minimum = 10
maximum = 250
step = 10
public = ["age", "sex", "dept"]

[[protect]]
table = "staff"
column = "bonus"
minimum = 0
maximum = 50
step = 5
resolution = 1
public = ["dept", "sex", "AGE"]
limit = {risk = 0.4}

[limit]
risk = 0.5
"""


def test_several_columns_have_a_domain_and_a_limit_each() -> None:
    policy = Policy.parse(TWO)
    salary, bonus = policy.protects
    assert (salary.domain.count, bonus.domain.count) == (25, 11)
    assert (salary.grid, bonus.grid) == (10, 1)
    assert [policy.limits_of(each).limit.risk for each in (salary, bonus)] == [0.5, 0.4]


def test_a_common_limit_may_be_left_out_where_each_column_has_its_own() -> None:
    own = TWO.replace("\n[limit]\nrisk = 0.5\n", "")
    with pytest.raises(PolicyError, match="limit: missing"):
        Policy.parse(own)
    policy = Policy.parse(own.replace("step = 10\n", "step = 10\nlimit = {risk = 0.3}\n"))
    assert [policy.limits_of(each).risk for each in policy.protects] == [0.3, 0.4]


APART = [
    ('column = "bonus"', 'column = "SALARY"', ["protect.column", "SALARY", "protected twice"]),
    ('table = "staff"\ncolumn = "bonus"', 'table = "main.Staff"\ncolumn = "salary"', ["protected twice"]),
    ('"dept", "sex", "AGE"', '"dept", "sex"', ["protect.public", "staff has others", "list the same"]),
    ('["dept", "sex", "AGE"]', '"all"', ["protect.public", "has others"]),
    ('"dept"]', '"dept", "Bonus"]', ["protect.public", '"Bonus"', "protected by another", "leave it out"]),
    ("resolution = 1", 'resolution = 1\nkey = "salary"', ["protect.key", "protected by another"]),
    ("resolution = 1", 'resolution = 1\nkey = "id"', ["protect.key", "has another", "name the same"]),
    ("step = 5\n", "", ["[[protect]] number 2", "protect.step is missing"]),
    ("maximum = 50", "maximum = 0", ["[[protect]] number 2", "protect.maximum = 0", "greater than minimum"]),
    ("{risk = 0.4}", "{risk = 4}", ["[[protect]] number 2", "protect.limit.risk = 4", "less than 1"]),
    ("{risk = 0.4}", "{epsilon = 60}", ["protect.limit.epsilon = 60", "staff.bonus", "whole domain"]),
    ("[limit]", '[tables]\npublic = ["staff"]\n[limit]', ["tables.public", "is a protected table"]),
    ("[limit]", '[intruder]\nknows = ["bonus"]\n[limit]', ["intruder.knows", "is a protected column"]),
    ("[limit]", '[intruder]\nknows = ["shoe"]\n[limit]', ["intruder.knows", "protect.public"]),
]


@pytest.mark.parametrize(("old", "new", "named"), APART, ids=[repr(new)[:50] for _, new, _ in APART])
def test_what_does_not_fit_together_is_one_error(old: str, new: str, named: list[str]) -> None:
    assert old in TWO
    with pytest.raises(PolicyError) as caught:
        Policy.parse(TWO.replace(old, new))
    message = str(caught.value)
    assert "\n" not in message
    for part in named:
        assert part in message


def test_what_is_public_of_one_table_may_be_protected_in_another() -> None:
    text = TWO.replace('table = "staff"\ncolumn = "bonus"', 'table = "firms"\ncolumn = "bonus"')
    text = text.replace('["dept", "sex", "AGE"]', '["salary"]') + '[intruder]\nknows = ["salary", "age"]\n'
    assert [each.table for each in Policy.parse(text).protects] == ["staff", "firms"]


@pytest.mark.parametrize("protect", ["7", "[]", "[1]", '"staff"'])
def test_protect_is_a_section(protect: str) -> None:
    with pytest.raises(
        PolicyError, match=r"protect = .*: must be a section: \[protect\], or \[\[protect\]\]"
    ):
        Policy.parse(f"protect = {protect}\n[limit]\nrisk = 0.5\n")


def test_the_digest_does_not_depend_on_the_order_of_the_columns() -> None:
    first, second = TWO.index("[[protect]]"), TWO.rindex("[[protect]]")
    limit = TWO.index("[limit]")
    swapped = TWO[second:limit] + TWO[first:second] + TWO[limit:]
    policy = Policy.parse(TWO)
    assert Policy.parse(swapped).protect_digest == policy.protect_digest
    assert Policy.parse(TWO.replace("0.4", "0.3")).protect_digest == policy.protect_digest
    assert Policy.parse(TWO.replace("maximum = 50", "maximum = 55")).protect_digest != policy.protect_digest
    assert Policy.parse(TEXT).protect_digest != policy.protect_digest


def test_the_digest_is_of_the_meaning_of_protect_and_nothing_else() -> None:
    digest = Policy.parse(TEXT).protect_digest
    same = [
        TEXT.replace('["age", "sex", "dept"]', '["dept", "AGE", "sex"]'),
        TEXT.replace("step = 10", "step = 10.0\nresolution = 10"),
        TEXT.replace("risk = 0.5", "risk = 0.4"),
        TEXT + "[decision]\nworlds = 7\n",
    ]
    assert all(Policy.parse(text).protect_digest == digest for text in same)
    other = [
        TEXT.replace("maximum = 250", "maximum = 260"),
        TEXT.replace("step = 10", "step = 10\nresolution = 5"),
        TEXT.replace(', "dept"]', "]"),
        TEXT.replace('"staff"', '"people"'),
        TEXT.replace("step = 10", 'step = 10\nkey = "id"'),
    ]
    assert digest not in {Policy.parse(text).protect_digest for text in other}


def test_relative_paths_are_relative_to_the_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(FULL, encoding="utf-8")
    policy = Policy.load(file)
    assert policy.ledger_location("/elsewhere/data.duckdb") == str(tmp_path / "staff.ledger")
    assert policy.anchor_path == tmp_path / "kept" / "staff.anchor"


def test_the_ledger_lies_beside_the_database_unless_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TEXT, encoding="utf-8")
    policy = Policy.load(str(file))
    assert policy.ledger_location(tmp_path / "sub" / "data.duckdb") == str(tmp_path / "sub" / "data.ledger")


def test_a_url_is_left_as_it_is() -> None:
    policy = Policy.parse(TEXT + '[ledger]\npath = "postgresql://host/ledger"\n')
    assert policy.ledger_location("data.duckdb") == "postgresql://host/ledger"


def test_a_file_that_cannot_be_read_is_a_policy_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.load(tmp_path / "absent.toml")
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'table = "\xe9"')
    with pytest.raises(PolicyError, match="not UTF-8"):
        Policy.load(tmp_path / "latin.toml")
    (tmp_path / "broken.toml").write_text(TEXT.replace("step", "stp"), encoding="utf-8")
    with pytest.raises(PolicyError, match=r"broken\.toml.*did you mean protect\.step"):
        Policy.load(tmp_path / "broken.toml")


@pytest.mark.parametrize(
    ("number", "text"), [("5/2", "2.5"), ("1/3", "1/3"), ("40", "40"), ("1/1000", "0.001")]
)
def test_numbers_are_shown_as_people_write_them(number: str, text: str) -> None:
    assert written(Fraction(number)) == text


@pytest.mark.parametrize("key", ["leaks = 3", 'after_leak = "continue"'])
def test_keys_of_leak_events_are_one_error_that_says_what_took_their_place(key: str) -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse(f"{TEXT}\n[decision]\n{key}")
    assert str(error.value).startswith(f"decision.{key}: is gone; leave it out.")
    assert "an end of where it lies is told" in str(error.value)


def test_a_policy_with_another_limit_says_so_for_every_column() -> None:
    text = """
    [[protect]]
    table = "staff"
    column = "salary"
    minimum = 0
    maximum = 100
    step = 10
    public = ["age"]
    limit = { risk = 0.3 }
    [[protect]]
    table = "staff"
    column = "bonus"
    minimum = 0
    maximum = 10
    step = 1
    public = ["age"]
    [limit]
    risk = 0.5
    """
    policy = Policy.parse(text)
    assert policy.protects[0].domain.count == 11  # what is kept with a section is no key of it
    varied = policy.varied(0.7, 0)
    assert [varied.limits_of(each).risk for each in varied.protects] == [0.7, 0.7]
    assert varied.intruder.insiders == 0
    stated = text.replace("0.3", "0.7").replace("0.5", "0.7") + "\n[intruder]\ninsiders = 0\n"
    assert varied == Policy.parse(stated)


def test_what_another_limit_would_break_is_one_error() -> None:
    text = """
    [protect]
    table = "staff"
    column = "salary"
    minimum = 0
    maximum = 100
    step = 10
    public = "all"
    [limit]
    risk = 0.5
    """
    with pytest.raises(PolicyError, match="insiders"):
        Policy.parse(text).varied(0.5, 2)
    with pytest.raises(PolicyError, match="risk"):
        Policy.parse(text).varied(1.5, 1)
