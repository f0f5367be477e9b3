"""Persons with several rows: what is protected is each row and every sum over some of a person's rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from auditor import DatabaseError, DataChanged, Gate, Policy, PolicyError, QueryRefused
from auditor.errors import NamelessRowsWarning
from auditor.gate.hints import Counted, suggestions
from auditor.gate.request import DIALECTS
from auditor.sql import Plan, understand
from auditor.sql.dialects import Dialect

STAYS = """CREATE TABLE stays AS
SELECT i AS id, (hash(i) % 120)::INT AS patient, ['a', 'b', 'c'][1 + (hash(i * 7) % 3)::INT] AS ward,
       (hash(i * 17) % 101)::INT AS charge
FROM range(600) each(i)"""


def policy_text(
    more: str = 'unit = "patient"',
    rest: str = "[ledger]\neditions = false",
    table: str = "stays",
    public: str = '["patient", "ward"]',
) -> str:
    return (
        f'[protect]\ntable = "{table}"\ncolumn = "charge"\nminimum = 0\nmaximum = 100\nstep = 1\n'
        f"public = {public}\n{more}\n[limit]\nrisk = 0.5\n{rest}"
    )


def policy(more: str = 'unit = "patient"', rest: str = "[ledger]\neditions = false") -> Policy:
    return Policy.parse(policy_text(more, rest))


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "stays.duckdb")) as connection:
        connection.execute(STAYS)
    return tmp_path / "stays.duckdb"


def test_a_persons_total_is_refused_and_groups_are_told(stays: Path) -> None:
    with Gate.open(stays, policy()) as gate:
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(charge) FROM stays WHERE patient = 7")
        told = gate.execute("SELECT ward, sum(charge) AS s FROM stays GROUP BY ward ORDER BY ward")
        assert (
            told.fetchall()
            == duckdb.connect(str(stays))
            .sql("SELECT ward, sum(charge) FROM stays GROUP BY ward ORDER BY ward")
            .fetchall()
        )
        # the difference to what was told is one person's total in a ward
        with pytest.raises(QueryRefused):
            gate.execute("SELECT sum(charge) FROM stays WHERE ward = 'a' AND patient <> 7")


def test_an_extreme_and_ranges_of_statistics_are_told_of_large_groups(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        ((greatest,),) = connection.sql("SELECT max(charge) FROM stays WHERE ward = 'a'").fetchall()
        ((true,),) = connection.sql("SELECT count(*) FROM stays WHERE charge > 50").fetchall()
    with Gate.open(stays, policy()) as gate:
        assert gate.execute("SELECT max(charge) FROM stays WHERE ward = 'a'").fetchall() == [(greatest,)]
        count = "count_if(charge > 50)"
        ((low, high),) = gate.execute(f"SELECT AT_LEAST({count}), AT_MOST({count}) FROM stays").fetchall()
        assert low <= true <= high
        assert high - low < 200
        # of a sum with weights of its own nobody knows whose rows weigh more together
        weighted = "SUM(charge * CASE WHEN ward = 'a' THEN 3 WHEN ward = 'b' THEN 2 ELSE 1 END)"
        with pytest.raises(QueryRefused):
            gate.execute(f"SELECT AT_LEAST({weighted}), AT_MOST({weighted}) FROM stays")


def test_a_persons_greatest_row_is_not_told(stays: Path) -> None:
    with Gate.open(stays, policy()) as gate, pytest.raises(QueryRefused):
        gate.execute("SELECT max(charge) FROM stays WHERE patient = 7")


def test_without_a_unit_rows_alone_are_protected(stays: Path) -> None:
    """The same statement, which the unit refuses."""
    with Gate.open(stays, policy("")) as gate:
        assert gate.execute("SELECT count(*) FROM stays WHERE patient < 12").fetchall()[0][0] > 40
        gate.execute("SELECT sum(charge) FROM stays WHERE patient < 2")
    with Gate.open(stays, policy(), stays.with_name("another.ledger")) as gate, pytest.raises(QueryRefused):
        gate.execute("SELECT sum(charge) FROM stays WHERE patient < 2")


def test_rows_without_a_name_are_persons_of_their_own(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = NULL WHERE patient >= 60")
        ((nameless,),) = connection.execute("SELECT count(*) FROM stays WHERE patient IS NULL").fetchall()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with Gate.open(stays, policy()) as gate:
            gate.execute("SELECT sum(charge) FROM stays WHERE patient IS NULL")
    (notice,) = [each for each in said if each.category is NamelessRowsWarning]
    assert f"{nameless} of 600 rows of table stays have no patient" in str(notice.message)


def test_rows_without_a_name_are_said_once_for_several_columns(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = NULL WHERE patient >= 60")
        connection.execute("ALTER TABLE stays ADD COLUMN days INT; UPDATE stays SET days = charge % 9")
    two = Policy.parse(
        "".join(
            f'[[protect]]\ntable = "stays"\ncolumn = "{column}"\nminimum = 0\nmaximum = 100\nstep = 1\n'
            'public = ["ward"]\nunit = "patient"\n'
            for column in ("charge", "days")
        )
        + "[limit]\nrisk = 0.5\n"
    )
    with pytest.warns(NamelessRowsWarning) as said, Gate.open(stays, two):
        pass
    assert len([each for each in said if each.category is NamelessRowsWarning]) == 1


def test_a_unit_that_names_nobody_is_an_error(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = NULL")
    with pytest.raises(
        DatabaseError, match=r'protect\.unit = "patient": names nobody, it is NULL in all rows'
    ):
        Gate.open(stays, policy())


@pytest.mark.parametrize(
    "type_", ["VARCHAR", "UUID", "HUGEINT", "DATE", "DECIMAL(9, 2)", "DOUBLE", "INTEGER[]"]
)
def test_a_unit_may_have_any_type(stays: Path, type_: str) -> None:
    made = {
        "UUID": "('00000000-0000-0000-0000-' || lpad(patient::VARCHAR, 12, '0'))::UUID",
        "DATE": "DATE '2020-01-01' + patient",
        "INTEGER[]": "[patient]",
    }.get(type_, f"patient::{type_}")
    with duckdb.connect(str(stays)) as connection:
        ((each,),) = connection.execute("SELECT count(DISTINCT patient) FROM stays").fetchall()
        connection.execute(
            f"CREATE OR REPLACE TABLE stays AS SELECT * REPLACE ({made} AS patient) FROM stays"
        )
    with Gate.open(stays, policy()) as gate:
        (vault,) = gate._database.vaults
        assert vault.units is not None
        assert len(set(vault.units.tolist())) == each


def test_whose_rows_they_are_is_part_of_the_data(stays: Path) -> None:
    """A ledger of other persons' rows is not this one's, though analysts see no difference."""
    hidden = Policy.parse(policy_text(public='["ward"]'))
    with Gate.open(stays, hidden) as gate:
        gate.execute("SELECT sum(charge) FROM stays")
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = (patient + id) % 120")
    with pytest.raises(DataChanged):
        Gate.open(stays, hidden)


def test_a_unit_with_one_value_is_an_error(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = 1")
    with pytest.raises(DatabaseError, match="one value in all rows"):
        Gate.open(stays, policy())


def test_a_key_that_is_not_unique_is_an_error_that_names_both_ways_out(stays: Path) -> None:
    with pytest.raises(DatabaseError, match='unit = "patient" in place of key; else name another'):
        Gate.open(stays, policy('key = "patient"'))
    with pytest.raises(DatabaseError, match=r"so it is no key: .* name another protect\.key, or none"):
        Gate.open(stays, policy('key = "patient"\nunit = "ward"'))


@pytest.mark.parametrize(
    ("more", "rest", "message"),
    [
        ('unit = "charge"', "", "is the protected column"),
        ('unit = "patient"', '[intruder]\ncandidates = "interval"', 'needs candidates = "posterior"'),
    ],
)
def test_a_unit_that_cannot_be_kept_is_an_error(more: str, rest: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy(more, rest)


def test_columns_of_one_table_have_one_unit_and_none_of_them_is_it() -> None:
    def two(first: str, second: str) -> Policy:
        protects = (("charge", first), ("days", second))
        return Policy.parse(
            "".join(
                f'[[protect]]\ntable = "stays"\ncolumn = "{column}"\nminimum = 0\nmaximum = 100\nstep = 1\n'
                f'public = ["ward"]\nunit = "{unit}"\n'
                for column, unit in protects
            )
            + "[limit]\nrisk = 0.5\n"
        )

    with pytest.raises(PolicyError, match='unit = "days": is the protected column'):
        two("days", "days")
    with pytest.raises(PolicyError, match='unit = "doctor": charge of the same table stays has another'):
        two("patient", "doctor")
    assert two("patient", "PATIENT").protects[0].unit == "patient"


def test_a_unit_that_is_no_column_is_an_error(stays: Path) -> None:
    with pytest.raises(DatabaseError, match="no column pupil"):
        Gate.open(stays, policy('unit = "pupil"'))


def test_a_later_state_whose_unit_has_another_type_is_an_error_that_names_it(stays: Path) -> None:
    keyed = Policy.parse(policy_text('key = "id"\nunit = "patient"', "", public='["ward"]'))
    Gate.open(stays, keyed).close()
    with duckdb.connect(str(stays)) as connection:
        connection.execute(
            "ALTER TABLE stays ALTER patient TYPE VARCHAR; UPDATE stays SET patient = 'p' || id"
        )
    with pytest.raises(DataChanged, match="the unit of table stays was of type INTEGER, is VARCHAR"):
        Gate.renew(stays, keyed)


# --- units of another table

CHARGES = "CREATE TABLE charges AS SELECT id, id % 300 AS stay, ward, charge FROM stays"
PLACES = "CREATE TABLE places AS SELECT i AS stay, (hash(i) % 90)::INT AS patient FROM range(300) each(i)"


def joined(unit: str = "places.patient", public: str = '["ward"]') -> Policy:
    rest = '[tables]\npublic = ["places"]\n[ledger]\neditions = false'
    return Policy.parse(policy_text(f'unit = "{unit}"', rest, "charges", public))


@pytest.fixture
def charges(stays: Path) -> Path:
    with duckdb.connect(str(stays)) as connection:
        connection.execute(f"{CHARGES}; {PLACES}")
    return stays


def units(gate: Gate) -> list[int]:
    (vault,) = gate._database.vaults
    assert vault.units is not None
    return vault.units.tolist()


def test_a_unit_of_a_public_table_is_found_by_the_column_that_both_have(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        ((each,),) = connection.execute(
            "SELECT count(DISTINCT patient) FROM charges JOIN places USING (stay)"
        ).fetchall()
    with Gate.open(charges, joined()) as gate:
        assert len(set(units(gate))) == each < 90 < len(units(gate)) == 600
        told = gate.execute("SELECT ward, sum(charge) AS s FROM charges GROUP BY ward").fetchall()
        assert len(told) == 3
        assert not gate.execute("SELECT count(*) FROM charges").df().empty


def test_a_unit_of_a_public_table_protects_as_one_of_the_table_itself(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute(
            "CREATE TABLE both_ AS SELECT charges.*, patient FROM charges JOIN places USING (stay)"
        )
    own = Policy.parse(policy_text(table="both_", public='["ward"]'))
    with (
        Gate.open(charges, joined()) as far,
        Gate.open(charges, own, charges.with_name("own.ledger")) as near,
    ):
        pairs = set(zip(units(far), units(near), strict=True))
        assert len(pairs) == len(set(units(far))) == len(set(units(near)))
    readable, ledger = joined(public='["ward", "stay"]'), charges.with_name("readable.ledger")
    with Gate.open(charges, readable, ledger) as gate, pytest.raises(QueryRefused):
        gate.execute("SELECT sum(charge) FROM charges JOIN places USING (stay) WHERE patient = 7")


def test_a_row_that_finds_no_partner_is_a_persons_of_its_own(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute("DELETE FROM places WHERE stay < 30")
    with pytest.warns(NamelessRowsWarning, match=r"60 of 600 rows of table charges have no places\.patient"):
        Gate.open(charges, joined()).close()


def test_a_declared_foreign_key_decides_whatever_columns_are_called(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute(
            "CREATE TABLE people (number BIGINT PRIMARY KEY, who INT, ward VARCHAR UNIQUE);"
            "INSERT INTO people SELECT stay, patient, stay::VARCHAR FROM places;"
            "CREATE TABLE paid (stay BIGINT REFERENCES people (number), ward VARCHAR, charge INT);"
            "INSERT INTO paid SELECT stay, ward, charge FROM charges"
        )
    text = policy_text('unit = "people.who"', '[tables]\npublic = ["people"]', "paid", '["ward"]')
    with Gate.open(charges, Policy.parse(text)) as gate:
        assert len(set(units(gate))) < 90


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ALTER TABLE places RENAME stay TO stay_number", "nothing says how tables charges and places are"),
        ("INSERT INTO places VALUES (1, 1)", "nothing says how tables charges and places are joined"),
        ("ALTER TABLE places ALTER stay TYPE VARCHAR", "nothing says how tables charges and places are"),
        ("ALTER TABLE places RENAME stay TO id", "nothing says how tables charges and places are joined"),
        (
            "ALTER TABLE charges ADD COLUMN visit INT; ALTER TABLE places ADD COLUMN visit INT; "
            "UPDATE places SET visit = stay",
            "can be joined by stay and by visit; declare one foreign key",
        ),
        ("ALTER TABLE places RENAME patient TO person", "table places has no column patient"),
        ("DELETE FROM places", "nothing says how tables charges and places are joined"),
        ("UPDATE places SET stay = stay + 1000", "names nobody"),
        ("UPDATE places SET patient = 1", "one value in all rows"),
    ],
)
def test_a_unit_of_another_table_that_is_not_found_is_an_error(
    charges: Path, change: str, message: str
) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute(change)
    with pytest.raises(DatabaseError, match=message):
        Gate.open(charges, joined())


def test_a_unit_of_a_table_of_another_schema_stays_out_of_all_columns(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute("CREATE SCHEMA hr; CREATE TABLE hr.places AS FROM places; DROP TABLE places")
    rest = '[tables]\npublic = ["HR.places"]\n[ledger]\neditions = false'
    text = policy_text('unit = "hr.places.patient"', rest, "charges", '"all"')
    with Gate.open(charges, Policy.parse(text)) as gate:
        assert len(set(units(gate))) < 90
        assert gate.execute("SELECT * EXCLUDE (charge) FROM charges LIMIT 0").columns == [
            "id",
            "stay",
            "ward",
        ]


def test_a_protected_column_never_says_whose_rows_they_are(charges: Path) -> None:
    with duckdb.connect(str(charges)) as connection:
        connection.execute(
            "ALTER TABLE charges DROP stay; ALTER TABLE places RENAME stay TO charge; "
            "ALTER TABLE places ALTER charge TYPE INTEGER"
        )
    with pytest.raises(DatabaseError, match="nothing says how"):
        Gate.open(charges, joined())


def test_a_unit_of_a_table_that_is_not_public_is_an_error() -> None:
    with pytest.raises(PolicyError, match=r"of wards, which is not in tables\.public; list that there, or"):
        policy('unit = "wards.patient"')


def test_two_ways_of_writing_a_unit_are_one_policy() -> None:
    assert joined("main.Places.PATIENT").protect_digest == joined().protect_digest
    assert joined("places.stay").protect_digest != joined().protect_digest


def test_units_of_another_table_are_found_in_frames_too(tmp_path: Path) -> None:
    given = {
        "charges": pd.DataFrame(
            {"stay": [i % 60 for i in range(180)], "charge": [i * 37 % 101 for i in range(180)]}
        ),
        "places": pd.DataFrame({"stay": range(60), "patient": [i % 20 for i in range(60)]}),
    }
    text = policy_text('unit = "places.patient"', '[tables]\npublic = ["places"]', "charges", "[]")
    with Gate.open(given, Policy.parse(text), tmp_path / "l.ledger") as gate:
        assert sorted(set(units(gate))) == list(range(20))


# --- sizes that people read


def advice(gate: Gate, sql: str, dialect: Dialect = "duckdb") -> str:
    return gate.check(sql, dialect=dialect).hint


GROUPS = "SELECT ward, id % 200 AS g, sum(charge) AS s FROM {} GROUP BY ward, id % 200 HAVING count(*) > 1"


def test_hints_count_units_where_analysts_can(stays: Path) -> None:
    readable = Policy.parse(policy_text(public='["id", "ward", "patient"]'))
    with Gate.open(stays, readable) as gate:
        for dialect in DIALECTS:
            assert "HAVING COUNT(DISTINCT patient) >= 10" in advice(gate, GROUPS.format("stays"), dialect)
        assert "Add HAVING COUNT(*)" not in advice(gate, GROUPS.format("stays"))
        found = understand(GROUPS.format("stays"), None, gate._database.schema)
        assert isinstance(found, Plan)
        counted = Counted.of(gate.policy.protects[0])
        for each in suggestions(found.normalised, ["charge"], counted):
            assert isinstance(understand(each.sql, None, gate._database.schema), Plan), each.sql
        large = "SELECT ward, sum(charge) FROM stays GROUP BY ward HAVING count(DISTINCT patient) > 90"
        assert "Add HAVING" not in advice(gate, large)


def test_hints_name_a_unit_that_analysts_cannot_read(stays: Path) -> None:
    hidden = Policy.parse(policy_text(public='["id", "ward"]'))
    with Gate.open(stays, hidden) as gate:
        said = advice(gate, GROUPS.format("stays"))
        assert said.startswith("Keep to groups with at least 10 different values of patient, ")
        assert "Add HAVING" not in said


def test_hints_count_units_of_a_table_that_is_joined(charges: Path) -> None:
    readable = joined(public='["id", "stay", "ward"]')
    with Gate.open(charges, readable) as gate:
        sql = GROUPS.format("charges JOIN places AS p USING (stay)")
        assert "HAVING COUNT(DISTINCT p.patient) >= 10" in advice(gate, sql)
        assert "different values of patient" in advice(gate, GROUPS.format("charges"))


def test_reports_count_units_and_judge_their_rows_together(stays: Path) -> None:
    with Gate.open(stays, Policy.parse(policy_text(public='["ward"]'))) as gate:
        assert gate.risk("posterior")["unit_risk"].max() == 0
        gate.execute("SELECT ward, sum(charge) FROM stays GROUP BY ward")
        found, likely = gate.risk(), gate.risk("posterior")
    with duckdb.connect(str(stays)) as connection:
        counts = connection.execute(
            "SELECT count(*), count(DISTINCT patient) FROM stays GROUP BY ward ORDER BY ward"
        ).fetchall()
    assert list(zip(found["records"], found["units"], strict=True)) == counts
    assert (likely["unit_risk"] > likely["worst_risk"]).all()
    assert likely["unit_risk"].max() < 0.5
    assert "unit_risk" not in found


def test_who_is_nearest_the_limit_is_named_by_the_unit_with_all_rows_together(stays: Path) -> None:
    """Where all are in the same sums, who has most rows, though analysts cannot read who that is."""
    hidden = Policy.parse(policy_text(public='["ward"]'))
    with Gate.open(stays, hidden) as gate:
        gate.execute("SELECT ward, sum(charge) FROM stays GROUP BY ward")
        (first, *_) = gate.nearest()
    with duckdb.connect(str(stays)) as connection:
        ((most,),) = connection.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM stays GROUP BY patient)"
        ).fetchall()
        ((its,),) = connection.execute(
            "SELECT count(*) FROM stays WHERE patient = $1", [first.about["patient"]]
        ).fetchall()
    assert most - 1 <= its
    assert first.unit_risk is not None
    assert first.unit_risk > first.risk
    assert f"of all rows together risk {first.unit_risk:.3f}" in first.words


def test_where_each_has_one_row_reports_are_those_of_rows(stays: Path) -> None:
    with duckdb.connect(str(stays)) as connection:
        connection.execute("UPDATE stays SET patient = id")
    with Gate.open(stays, Policy.parse(policy_text(public='["ward"]'))) as gate:
        gate.execute("SELECT ward, sum(charge) FROM stays GROUP BY ward")
        found = gate.risk("posterior")
        assert (found["unit_risk"] == found["worst_risk"]).all()
        assert all(each.unit_risk is None for each in gate.nearest())
