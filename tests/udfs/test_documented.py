"""What docs/sql-functions.md shows of the Adult data is what its statement gives."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

import udfs
from udfs.register import RETURNS, _macros

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql-functions.md").read_text(encoding="utf-8")


def test_the_table_of_narrow_groups_is_what_the_statement_above_it_gives(shared_data: Path) -> None:
    found = re.search(r"```sql\n(.+?)```\n\n((?:\|[^\n]*\n)+)", PAGE, re.DOTALL)
    assert found is not None
    sql, shown = found.groups()
    with duckdb.connect() as connection:
        udfs.register(connection)
        file = shared_data / "microdata" / "adult_complete_45222.csv.gz"
        connection.execute("CREATE TABLE adult AS FROM read_csv(?)", [str(file)])
        answer = connection.execute(sql)
        names = [name for name, *_ in answer.description]
        rows = answer.fetchall()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines()]
    assert [names, *([str(value) for value in row] for row in rows)] == [lines[0], *lines[2:]]


def test_every_function_and_every_macro_is_on_the_page() -> None:
    macros = re.findall(r"MACRO ([a-z]\w+)\(", " ".join(_macros()))  # those for others alone begin with _
    assert len(macros) == 5
    for name in (*RETURNS, *macros):
        assert f"| `{name}(" in PAGE
