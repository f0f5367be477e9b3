"""Files, patterns and folders: Hive partitions are columns, files that differ are not mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from auditor.data.sources import files, source_of
from auditor.data.sources.wanted import Needed, Wanted
from auditor.errors import DatabaseError, PolicyError
from tests.auditor.data.sources.made import ROWS, duckdb_file, fingerprint, opened, policy, staff, written


def described(path: Path | str, *columns: str) -> list[tuple[str, str]]:
    """Names and types of what is read."""
    with duckdb.connect(":memory:") as connection:
        source_of(path).attach(connection, "source", Wanted((Needed("t", columns or None),)))
        return [tuple(row[:2]) for row in connection.execute("DESCRIBE source.t").fetchall()]


def rows(path: Path | str, *columns: str) -> list[Any]:
    """What is read, in some order."""
    with duckdb.connect(":memory:") as connection:
        source_of(path).attach(connection, "source", Wanted((Needed("t", columns or None),)))
        return connection.execute("SELECT * FROM source.t ORDER BY ALL").fetchall()


def arrow_file(path: Path, table: pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.slow
def test_hive_partitions_are_columns_of_the_types_that_duckdb_gives(tmp_path: Path) -> None:
    query = f"SELECT id, salary, dept, since, age FROM ({ROWS})"
    for kind in ("parquet", "csv"):
        written(tmp_path / kind, f"(FORMAT {kind}, PARTITION_BY (dept, since, age))", query)
        literal = f"{tmp_path}/{kind}/**/*.{kind}"
        plain = duckdb.sql(f"SELECT * FROM read_{kind}('{literal}', hive_partitioning = true) ORDER BY ALL")
        assert described(tmp_path / kind) == list(zip(plain.columns, map(str, plain.types), strict=True))
        assert rows(tmp_path / kind) == plain.fetchall()
        assert rows(f"{tmp_path}/{kind}/*/*/*/*.{kind}") == plain.fetchall()


def test_hive_partitions_of_arrow_files_are_as_those_of_parquet(tmp_path: Path) -> None:
    for value, texts in (("1", "a"), ("2", "b%20c"), ("__HIVE_DEFAULT_PARTITION__", "d")):
        table = pa.table({"x": [1, 2]})
        arrow_file(tmp_path / "arrow" / f"n={value}" / f"t={texts}" / "p.arrow", table)
        folder = tmp_path / "parquet" / f"n={value}" / f"t={texts}"
        folder.mkdir(parents=True)
        with duckdb.connect() as connection:
            connection.register("table_", table)
            connection.execute(f"COPY table_ TO '{folder}/p.parquet'")
    assert described(tmp_path / "arrow") == [("x", "BIGINT"), ("n", "BIGINT"), ("t", "VARCHAR")]
    assert rows(tmp_path / "arrow") == rows(tmp_path / "parquet")
    assert (1, None, "d") in rows(tmp_path / "arrow")
    assert (2, 2, "b c") in rows(tmp_path / "arrow")


@pytest.mark.slow
def test_a_partition_has_a_type_only_where_no_text_is_changed_by_it(tmp_path: Path) -> None:
    for place, texts in enumerate(
        [["01", "02"], ["1.5", "2.5"], ["1", "-2"], [" 5", "6"], ["1e3", "5"], ["+5", "-3"], ["1_000", "2"],
         ["2020-01-01", "infinity"], ["2020-01-01 10:00:00", "2020-01-02"], ["", "x"], ["NULL", "x"],
         ["2020-01-01 10:00:00", "2020-01-01 11:00:00"], ["99999999999999999999", "1"], ["true", "false"]]
    ):  # fmt: skip
        home = tmp_path / str(place)
        for text in texts:
            (home / f"k={text}").mkdir(parents=True)
            written(home / f"k={text}" / "a.parquet", query="SELECT 1 AS x")
        plain = duckdb.sql(f"SELECT * FROM read_parquet('{home}/*/*', hive_partitioning = true) ORDER BY ALL")
        assert described(home) == list(zip(plain.columns, map(str, plain.types), strict=True)), texts
        assert rows(home) == plain.fetchall(), texts


def test_folders_above_the_one_that_is_given_are_no_partitions(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    written(folder / "staff.parquet", query="SELECT 1 AS x")
    for given in (folder / "staff.parquet", folder, f"{folder}/*.parquet"):
        assert described(given) == [("x", "INTEGER")]
    assert described(tmp_path) == [("x", "INTEGER"), ("year", "BIGINT")]
    assert described(f"{tmp_path}/year=*/*.parquet") == [("x", "INTEGER"), ("year", "BIGINT")]


@pytest.mark.slow
def test_a_table_in_many_files_is_the_table(tmp_path: Path) -> None:
    whole = fingerprint(written(tmp_path / "whole.parquet"), tmp_path)
    parts = tmp_path / "parts"
    (parts / "more").mkdir(parents=True)
    for place in range(3):
        written(
            parts / ("more" if place else "") / f"{place}.parquet",
            query=f"SELECT * FROM ({ROWS}) WHERE id % 3 = {place}",
        )
    (parts / "_SUCCESS").touch()
    (parts / ".part.crc").touch()
    assert fingerprint(parts, tmp_path) == whole
    assert fingerprint(f"{parts}/**/*.parquet", tmp_path) == whole
    arrows = tmp_path / "arrows"
    for place in range(3):
        arrow_file(arrows / f"{place}.feather", staff().slice(place * 50, 50))
    assert fingerprint(arrows, tmp_path) == whole


def test_types_of_a_csv_file_fit_all_rows_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "csv").mkdir()
    for place in range(12):
        last = "10.5" if place == 11 else "10"
        lines = [
            f"{i},{last if i == 29_999 else 10},0123{i % 10}" for i in range(30_000 if place == 11 else 2)
        ]
        (tmp_path / "csv" / f"{place:02}.csv").write_text("id,salary,zip\n" + "\n".join(lines) + "\n")
    assert described(tmp_path / "csv") == [("id", "BIGINT"), ("salary", "DOUBLE"), ("zip", "VARCHAR")]


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize(
    "other",
    ["SELECT 2 AS a", "SELECT 2 AS a, 3 AS c", "SELECT 2 AS b, 3 AS a", "SELECT 2 AS a, 3 AS b, 4 AS c"],
)
def test_files_of_other_columns_are_not_mixed(kind: str, other: str, tmp_path: Path) -> None:
    for name, query in (("1", "SELECT 0 AS a, 1 AS b"), ("2", other)):
        if kind == "arrow":
            arrow_file(tmp_path / f"{name}.arrow", duckdb.sql(query).to_arrow_table())
        else:
            written(tmp_path / f"{name}.{kind}", query=query)
    with pytest.raises(DatabaseError, match=r"2\.\w+ has other columns, or columns of other types, than"):
        rows(tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_files_of_other_types_are_not_mixed(kind: str, tmp_path: Path) -> None:
    for name, value in (("1", "1::BIGINT"), ("2", "1.5::DOUBLE")):
        if kind == "arrow":
            arrow_file(tmp_path / f"{name}.arrow", duckdb.sql(f"SELECT {value} AS a").to_arrow_table())
        else:
            written(tmp_path / f"{name}.{kind}", query=f"SELECT {value} AS a")
    with pytest.raises(DatabaseError, match="columns of other types"):
        rows(tmp_path)


def bad(folder: Path) -> dict[str, tuple[Path | str, str]]:
    """What cannot be read, and what is said of it."""
    written(folder / "good.parquet")
    content = (folder / "good.parquet").read_bytes()
    (folder / "short.parquet").write_bytes(content[: len(content) // 2])
    (folder / "torn.parquet").write_bytes(content[:400] + bytes(300) + content[700:])
    (folder / "text.parquet").write_text("salary,4711\n")
    (folder / "empty.parquet").touch()
    (folder / "empty").mkdir()
    (folder / "torn.arrow").write_bytes(b"ARROW1\0\0" + bytes(50))
    arrow = arrow_file(folder / "whole.arrow", staff()).read_bytes()
    (folder / "short.arrow").write_bytes(arrow[: len(arrow) // 2])
    (folder / "torn.csv").write_bytes(b"id,salary\n1,10\n" + bytes([255, 254, 0]) * 9)
    (folder / "mixed").mkdir()
    (folder / "mixed" / "a.parquet").write_bytes(content)
    (folder / "mixed" / "b.csv").write_text("a\n1\n")
    (folder / "other").mkdir()
    (folder / "other" / "a.parquet").write_bytes(content)
    (folder / "other" / "readme.txt").write_text("x")
    (folder / "delta" / "_delta_log").mkdir(parents=True)
    (folder / "delta" / "a.parquet").write_bytes(content)
    (folder / "iceberg" / "metadata").mkdir(parents=True)
    (folder / "iceberg" / "metadata" / "v1.metadata.json").touch()
    (folder / "uneven" / "a=1").mkdir(parents=True)
    (folder / "uneven" / "a=1" / "a.parquet").write_bytes(content)
    (folder / "uneven" / "b.parquet").write_bytes(content)
    (folder / "twice" / "age=1").mkdir(parents=True)
    (folder / "twice" / "age=1" / "a.parquet").write_bytes(content)
    (folder / "od*d.parquet").write_bytes(content)
    return {
        "short.parquet": (folder / "short.parquet", "could not be read: it is broken, or no Parquet"),
        "text.parquet": (folder / "text.parquet", "could not be read: it is broken, or no Parquet"),
        "empty.parquet": (folder / "empty.parquet", "could not be read: it is broken, or no Parquet"),
        "torn.arrow": (folder / "torn.arrow", "could not be read: it is broken, or no Arrow"),
        "short.arrow": (folder / "short.arrow", "could not be read: it is broken, or no Arrow"),
        "torn.csv": (folder / "torn.csv", "could not be read: it is broken, or no CSV"),
        "nothing in it": (folder / "empty", "has no Parquet, CSV or Arrow file in it"),
        "nothing matches": (f"{folder}/*.pq", "matches no file"),
        "several formats": (folder / "mixed", "has files of several formats: CSV, Parquet"),
        "something else": (folder / "other", "readme.txt is no Parquet, CSV or Arrow file"),
        "something else matches": (f"{folder}/other/*", "has a file that is no Parquet, CSV or Arrow"),
        "Delta": (folder / "delta", "is a Delta, Iceberg or Hudi table"),
        "Iceberg": (folder / "iceberg", "is a Delta, Iceberg or Hudi table"),
        "uneven": (folder / "uneven", "files in folders of different partitions"),
        "twice": (folder / "twice", "column age stands in the files and in the names of their folders"),
        "a star in its name": (folder / "od*d.parquet", "which stand for others; rename it"),
    }


def test_what_cannot_be_read_is_one_clear_error_and_no_ledger(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for what, (given, says) in bad(made).items():
        with pytest.raises(DatabaseError) as raised, opened(given, tmp_path):
            pass
        assert says in str(raised.value), what
        assert "4711" not in str(raised.value)
    assert not list(tmp_path.glob("*.ledger"))


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "staff.parquet")

    def refusing(*arguments: Any) -> None:
        raise PermissionError(13, "Permission denied")  # root is let in whatever the file's mode

    monkeypatch.setattr(files, "open", refusing, raising=False)
    with pytest.raises(DatabaseError, match=r"staff\.parquet: cannot be read: Permission denied"):
        source_of(path)


def test_what_the_policy_names_must_be_there(tmp_path: Path) -> None:
    path = written(tmp_path / "staff.parquet")
    for change, says in (
        ({"column": '"salry"'}, r"no column salry\. Did you mean salary\?"),
        ({"public": '["aeg"]'}, r"no column aeg\. Did you mean age\?"),
        ({"key": '"idd"'}, r"no column idd\. Did you mean id\?"),
    ):
        with pytest.raises(DatabaseError, match=says), opened(path, tmp_path, policy(**change)):
            pass
    with pytest.raises(DatabaseError, match="dept does not name each record of table staff once"):
        opened(path, tmp_path, policy(key='"dept"')).__enter__()
    views = policy().model_copy(update={"tables": policy().tables.model_copy(update={"views": ("old",)})})
    with pytest.raises(DatabaseError, match=r"tables\.views: .*has no stored queries"):
        opened(path, tmp_path, views).__enter__()


def test_floats_that_are_not_on_the_grid_are_said_without_a_value(tmp_path: Path) -> None:
    path = written(
        tmp_path / "staff.parquet", query=f"SELECT * REPLACE (47.11::DOUBLE AS salary) FROM ({ROWS})"
    )
    with pytest.raises(PolicyError) as raised, opened(path, tmp_path):
        pass
    assert "grid" in str(raised.value)
    assert "47" not in str(raised.value)


@pytest.mark.parametrize("change", ["grown", "another file", "gone"])
def test_files_that_change_while_they_are_read_are_not_used(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "data" / "a.parquet") if (tmp_path / "data").mkdir() is None else tmp_path
    put = files.staging.put

    def changing(*arguments: Any) -> None:
        put(*arguments)
        if change == "grown":
            with path.open("ab") as file:
                file.write(b"x")
        elif change == "another file":
            written(path.with_name("b.parquet"))
        else:
            path.unlink()

    monkeypatch.setattr(files.staging, "put", changing)
    with pytest.raises(DatabaseError), opened(tmp_path / "data", tmp_path):
        pass


def test_a_duckdb_file_is_one_whatever_its_name(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "staff.parquet")
    assert fingerprint(path, tmp_path) == fingerprint(duckdb_file(tmp_path / "staff.duckdb"), tmp_path)


def test_columns_that_differ_in_case_alone_are_said(tmp_path: Path) -> None:
    path = arrow_file(tmp_path / "a.arrow", pa.table({"Id": [1], "id": [2]}))
    with pytest.raises(DatabaseError, match="columns Id and id, which SQL does not tell apart"):
        rows(path)


def test_moments_are_one_type_whatever_their_unit(tmp_path: Path) -> None:
    for unit in ("s", "ms", "us", "ns"):
        at = pa.array([1_577_836_800], pa.timestamp("s")).cast(pa.timestamp(unit))
        assert described(arrow_file(tmp_path / f"{unit}.arrow", pa.table({"at": at}))) == [
            ("at", "TIMESTAMP")
        ]
    fine = pa.table({"at": pa.array([1], pa.timestamp("ns"))})
    assert described(arrow_file(tmp_path / "fine.arrow", fine)) == [("at", "TIMESTAMP_NS")]
