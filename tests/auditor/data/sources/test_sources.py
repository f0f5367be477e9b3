"""Whatever the source, the same table is opened: one fingerprint, so one ledger, and the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

from auditor import Gate, PolicyError
from auditor.cli import main
from auditor.data.sources import frame, source_of
from auditor.errors import DatabaseError, DataChanged
from tests.auditor.data.sources.made import (
    POLICY,
    ROWS,
    duckdb_file,
    fingerprint,
    opened,
    policy,
    staff,
    written,
)

ENDS = {".parquet": "", ".arrow": "", ".feather": "", ".arrows": ""}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as a DuckDB file, and as others."""
    folder = tmp_path_factory.mktemp("sources")
    duckdb_file(folder / "staff.duckdb")
    written(folder / "staff.parquet")
    with (
        pa.OSFile(str(folder / "staff.arrow"), "wb") as file,
        pa.ipc.new_file(file, staff().schema) as writer,
    ):
        writer.write_table(staff(), 40)
    with (
        pa.OSFile(str(folder / "staff.arrows"), "wb") as file,
        pa.ipc.new_stream(file, staff().schema) as writer,
    ):
        writer.write_table(staff())
    return folder


@pytest.fixture(scope="module")
def bound(home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fingerprint through the DuckDB file."""
    return fingerprint(home / "staff.duckdb", tmp_path_factory.mktemp("bound"))


@pytest.mark.parametrize("name", ["staff.parquet", "staff.arrow", "staff.arrows", "*.parquet"])
def test_files_have_the_fingerprint_of_a_duckdb_file(
    name: str, home: Path, bound: str, tmp_path: Path
) -> None:
    assert fingerprint(str(home / name), tmp_path) == bound


def in_memory() -> Iterator[tuple[str, Any]]:
    """Tables of one process, by what they are."""
    table = staff()
    yield "Arrow table", table
    yield "Arrow reader", table.to_reader(17)
    yield "Arrow dataset", pyarrow.dataset.dataset(table)
    yield "mapping", {"staff": table}
    yield "dictionary", table.set_column(3, "dept", table.column("dept").dictionary_encode())
    yield "large texts", table.set_column(3, "dept", table.column("dept").cast(pa.large_string()))
    shown = table.to_pandas()
    yield (
        "pandas",
        shown.astype({"dist": "object", "salary": "Int32"}).assign(
            dist=table.column("dist").to_pandas(types_mapper=None).astype("object")
        ),
    )


@pytest.mark.slow
def test_tables_in_memory_have_the_fingerprint_of_a_duckdb_file(bound: str, tmp_path: Path) -> None:
    import pandas as pd

    for name, given in in_memory():
        if name == "pandas":
            # a column of Python's Decimals has no declared precision; pandas has such with Arrow
            given["dist"] = given["dist"].astype(pd.ArrowDtype(pa.decimal128(9, 2)))
        assert fingerprint(given, tmp_path) == bound, name


@pytest.mark.slow
def test_polars_tables_have_the_fingerprint_of_a_duckdb_file(bound: str, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    table = polars.from_arrow(staff())
    assert fingerprint(table, tmp_path) == bound
    assert fingerprint(table.lazy(), tmp_path) == bound
    assert fingerprint(table.with_columns(polars.col("dept").cast(polars.Categorical)), tmp_path) == bound


def test_a_csv_file_has_the_fingerprint_of_a_duckdb_file_that_was_made_of_it(tmp_path: Path) -> None:
    path = written(tmp_path / "staff.csv")
    made = duckdb_file(tmp_path / "made.duckdb", f"SELECT * FROM read_csv('{path}', sample_size = -1)")
    assert fingerprint(path, tmp_path) == fingerprint(made, tmp_path)


@pytest.mark.slow
def test_one_ledger_goes_on_through_another_source(home: Path, tmp_path: Path) -> None:
    asked = "SELECT dept, avg(salary) AS a FROM staff GROUP BY dept ORDER BY dept"
    ledger = tmp_path / "staff.ledger"
    with Gate.open(home / "staff.duckdb", policy(), ledger) as gate:
        answer = gate.execute(asked).fetchall()
    for source in (home / "staff.parquet", staff()):
        with Gate.open(source, policy(), ledger) as gate:
            assert gate.execute(asked).fetchall() == answer
            assert gate.check(f"{asked} DESC").code == "known"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a value", "a type", "a row"])
def test_other_data_under_the_same_ledger_are_turned_away(what: str, tmp_path: Path) -> None:
    ledger, path = tmp_path / "staff.ledger", tmp_path / "staff.parquet"
    with Gate.open(written(path), policy(), ledger):
        pass
    changed = {
        "a value": f"SELECT * REPLACE (CASE WHEN id = 7 THEN 50 ELSE salary END AS salary) FROM ({ROWS})",
        "a type": f"SELECT * REPLACE (age::BIGINT AS age) FROM ({ROWS})",
        "a row": f"SELECT * FROM ({ROWS}) WHERE id <> 7",
    }
    written(path, query=changed[what])
    with pytest.raises(DataChanged):
        Gate.open(path, policy(), ledger)


def test_a_ledger_lies_beside_a_file_or_a_folder_and_must_be_named_for_what_lies_nowhere(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "v1.2"
    folder.mkdir()
    written(folder / "one.parquet")
    with Gate.open(folder, policy()):
        assert (tmp_path / "v1.2.ledger").exists()
    for source in (staff(), f"{folder}/*.parquet"):
        with pytest.raises(PolicyError, match=r"ledger\.path: missing"):
            Gate.open(source, policy())


@pytest.mark.slow
def test_further_tables_come_from_sources_of_their_own(tmp_path: Path) -> None:
    regions = pa.table({"dept": ["Sales", "Research", "Finance"], "region": ["N", "S", "S"]})
    rules = policy().model_copy(
        update={"tables": policy().tables.model_copy(update={"public": ("regions",)})}
    )
    asked = "SELECT region, sum(salary) FROM staff JOIN regions USING (dept) GROUP BY region ORDER BY region"
    with opened({"staff": staff(), "regions": regions}, tmp_path, rules) as gate:
        found = gate.execute(asked).fetchall()
    with opened({"STAFF": staff(), "main.regions": regions}, tmp_path, rules) as gate:
        assert gate.execute(asked).fetchall() == found
    with pytest.raises(DatabaseError, match="no source is given for table regions"):
        Gate.open({"staff": staff()}, rules, tmp_path / "a.ledger")
    with pytest.raises(DatabaseError, match="is one table, and the policy names staff, regions"):
        Gate.open(staff(), rules, tmp_path / "a.ledger")


def test_only_columns_that_the_policy_names_are_read(tmp_path: Path) -> None:
    odd = staff().append_column("odd", pa.array([[1, None]] * 150, pa.list_(pa.int32())))
    with opened(odd, tmp_path, policy(public='["age"]', key="")) as gate:
        assert [each.name for each in gate._schema.tables[0].columns] == ["age"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("missing.parquet", "there is no database file missing.parquet"),
        ("missing/*.parquet", "missing/*.parquet matches no file"),
        ("s3://bucket/staff.parquet?key=geheim", "s3://… is no source"),
        ("mysql://ann:geheim@host/x", "mysql://… is no source"),
        ("host=localhost password=geheim", "neither a file nor a URL"),
        ("postgres:geheim", "neither a file nor a URL"),
        ("postgresql://ann:ge@heim@host/x", "written %40"),
        ("postgresql://[geheim/x", "not a URL"),
        (3, "builtins.int is no source"),
        ({"staff": "postgresql://ann:geheim@host/x"}, "postgresql://ann@host/x holds tables of its own"),
        ({"staff": "missing.duckdb"}, "missing.duckdb holds tables of its own"),
    ],
)
def test_what_is_no_source_is_one_clear_error_without_a_password(
    given: Any, says: str, tmp_path: Path
) -> None:
    with pytest.raises(DatabaseError) as raised:
        Gate.open(given, policy(), tmp_path / "x.ledger")
    assert says in str(raised.value)
    assert "geheim" not in str(raised.value)
    assert not (tmp_path / "x.ledger").exists()


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Run a command beside a file, a folder of files, a policy and a log; it must end well."""
    monkeypatch.chdir(tmp_path)
    written(Path("staff.parquet"))
    Path("whole").mkdir()
    query = f"SELECT id, sex, salary FROM ({ROWS}) WHERE salary > 0"
    written(Path("whole/part.parquet"), query=query)
    Path("policy.toml").write_text(POLICY)
    Path("log.sql").write_text("SELECT sum(salary) FROM staff WHERE age = 30;\n")

    def command(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        said = "".join(capsys.readouterr())
        assert not left.value.code, (arguments, said)
        return said

    return command


ASKED = "SELECT sex, count(*) AS n, avg(salary) AS a FROM staff GROUP BY sex"


def test_commands_that_ask_take_a_source(run: Callable[..., str]) -> None:
    assert 'table = "staff"' in run("init", "staff.parquet", "--table", "staff", "--column", "salary")
    run("query", "staff.parquet", ASKED, "-p", "policy.toml")


@pytest.mark.slow
def test_every_command_takes_a_source(run: Callable[..., str]) -> None:
    for arguments in (
        ["query", "staff.parquet", ASKED], ["check", "staff.parquet", ASKED], ["risk", "staff.parquet"],
        ["history", "staff.parquet"], ["verify", "staff.parquet"],
        ["evaluate", "whole", "--technique", "sampling", "--percent", "50", "--fail-on", "none"],
        ["audit", "staff.parquet", "log.sql", "--fail-on", "none"],
        ["attack", "staff.parquet", "--only", "small-sets"],
    ):  # fmt: skip
        run(*arguments, "-p", "policy.toml")
    run("experiment", "--data", "whole", "--column", "salary", "--public", "sex", "--repetitions", "1")


def test_a_source_is_read_alike_from_a_process_elsewhere(home: Path, tmp_path: Path) -> None:
    for name in ("staff.parquet", "*.parquet"):
        source = source_of(os.path.relpath(home / name))
        assert source.elsewhere == str(home / name)
    assert source_of("postgres://ann:geheim@host/x").elsewhere == "postgresql://ann:geheim@host/x"
    assert source_of(staff()).elsewhere is None


def test_the_database_has_a_name_for_clients(home: Path) -> None:
    names = {
        str(home / "staff.parquet"): "staff", "data/staff.csv.gz": "staff.csv",
        "data/year=*/x.parquet": "data",
        "postgresql://ann:geheim@host/hr": "hr", "postgresql://ann@host": "ann",
    }  # fmt: skip
    assert {given: source_of(given).database for given in names} == names


@pytest.mark.slow
def test_heavy_libraries_are_imported_when_they_are_used_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    script = (
        "import sys\nfrom auditor import Gate\n"
        f"Gate.open({str(home / 'staff.parquet')!r}, 'policy.toml', 'a.ledger').close()\n"
        "heavy = {'psycopg', 'ibis', 'polars', 'pyspark', 'pyarrow.csv'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env=environment,
    )  # fmt: skip
    assert done.stdout == "[]\n", done.stderr


def test_a_table_is_had_without_a_gate(home: Path) -> None:
    assert frame(home / "staff.parquet").shape == (150, 12)
    assert frame(home / "staff.duckdb", "staff").shape == (150, 12)
