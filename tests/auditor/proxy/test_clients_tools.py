"""Tools that people have, run as they are: what each lists, what it is answered, what it shows of a refusal.

Each is skipped where it is not installed; `.ci/run` installs them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.auditor.proxy.postgres_server import running as postgres_running
from tests.auditor.proxy.serving import PASSWORD, Running
from tests.auditor.proxy.tools import CLIENTS, filled, python_with, said, served

REFUSED = "refused: too much about somebody Hint:"
GROUPED = [("a", 40, 128.75), ("b", 40, 144.0), ("c", 45, 138.0), ("d", 45, 154.22222222222223)]
COLUMNS = ["id", "age", "sex", "dept", "salary", "hired", "seen"]
TYPES = ["int4", "int4", "text", "text", "int4", "date", "timestamp"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("tools")) as made:
        yield made
        assert made.events("internal error") == []


def framed(server: Running, which: str, *modules: str) -> dict[str, str]:
    """What the script prints, by the first word."""
    python = python_with("CAE_CLIENTS_PYTHON", *modules)
    lines = said(python, str(CLIENTS / "frames.py"), str(server.port), which)
    return dict(line.split(" ", 1) for line in lines)


def test_odbc_lists_tables_and_columns_and_shows_the_hint(server: Running) -> None:
    """As Excel, Power BI, Tableau and R ask."""
    if (
        not list(Path("/etc").glob("odbcinst.ini"))
        or "PostgreSQL Unicode" not in Path("/etc/odbcinst.ini").read_text()
    ):
        pytest.skip("psqlODBC is not installed")
    found = framed(server, "odbc", "pyodbc")
    tables = [("hr", "grade", "TABLE"), ("public", "department", "TABLE"), ("public", "staff", "TABLE")]
    assert found["tables"] == str(tables)
    assert found["columns"] == str(list(zip(COLUMNS, TYPES, strict=True)))
    assert (found["keys"], found["types"], found["none"]) == ("[]", "True", str(COLUMNS))
    assert found["grouped"] == str(GROUPED)
    assert found["parameters"] == "35"
    assert found["listed"].startswith("[('Sales', '1000.50', '1999-01-01', '1999-01-01 10:00:00')")
    assert found["refusal"] == REFUSED
    assert found["rows"] == "refused: row by row Hint:"


def as_frame(rows: list[tuple[Any, ...]]) -> str:
    return str(
        {name: list(each) for name, each in zip(("dept", "n", "a"), zip(*rows, strict=True), strict=True)}
    )


def test_connectorx_reads_by_every_protocol(server: Running) -> None:
    found = framed(server, "connectorx", "connectorx", "pyarrow")
    for protocol in ("binary", "csv", "cursor", "simple"):
        assert found[protocol] == as_frame(GROUPED)
    assert "'founded': ['1999-01-01', '2001-02-03']" in found["listed"]
    assert found["parts"] == str(sum(range(200)))
    assert found["refusal"] == REFUSED


def test_polars_reads_by_both_engines(server: Running) -> None:
    found = framed(server, "polars", "polars", "connectorx", "adbc_driver_postgresql", "pyarrow")
    assert found["connectorx"] == found["adbc"] == as_frame(GROUPED)
    assert found["refusal"] == REFUSED


def test_adbc_lists_and_copies(server: Running) -> None:
    found = framed(server, "adbc", "adbc_driver_postgresql", "pyarrow")
    assert found["tables"] == str(["department", "staff"])
    assert found["columns"] == str(COLUMNS)
    assert found["grouped"] == as_frame(GROUPED)
    assert found["parameters"] == str({"n": [145]})
    assert found["refusal"] == REFUSED


def test_duckdb_attaches_and_scans(server: Running) -> None:
    python = python_with("CAE_SCANNER_PYTHON", "duckdb", "duckdb_extension_postgres_scanner")
    lines = said(python, str(CLIENTS / "frames.py"), str(server.port), "scanner")
    found = dict(line.split(" ", 1) for line in lines)
    assert found["tables"] == str([("hr", "grade"), ("public", "department"), ("public", "staff")])
    assert found["columns"] == str(COLUMNS)
    assert found["counted"] == str([(dept, 50) for dept in "abcd"])
    assert found["grouped"] == str(GROUPED)
    assert found["refusal"] == REFUSED
    assert found["rows"] == "refused: row by row Hint:"


@pytest.mark.slow
def test_pgadmin_connects_fills_its_tree_and_asks(server: Running) -> None:
    python = python_with("CAE_PGADMIN_PYTHON", "pgadmin4")
    lines = said(python, "-W", "ignore", str(CLIENTS / "pgadmin_server.py"), str(server.port))
    lines = lines[lines.index("connect 200") :]
    assert "databases 200 ['staff']" in lines
    assert "schemas 200 ['hr', 'public']" in lines
    assert "tables 200 ['department', 'staff']" in lines
    assert f"columns 200 {sorted(COLUMNS)}" in lines
    assert "comment Protected" in lines
    assert f"query 200 {[[dept, str(n), f'{mean:.15g}'] for dept, n, mean in GROUPED]}"[:40] in str(lines)
    assert "rows of department 200 4" in lines
    assert [line.split(" ")[-2:] for line in lines if line.startswith("table ")] == [
        [what, "200"] for what in ("obj", "sql", "children", "stats", "dependency", "dependent")
    ]
    broken = [line for line in lines if " 200" not in line and line != "comment Protected"]
    assert len(broken) == 2
    assert "too much about somebody's salary. Hint: Drop the condition id = 3." in broken[0]
    assert "not shown row by row" in broken[1]


@pytest.mark.slow
def test_superset_makes_datasets_charts_and_asks(server: Running, tmp_path: Path) -> None:
    python = python_with("CAE_SUPERSET_PYTHON", "superset", "psycopg2")
    lines = said(python, "-W", "ignore", str(CLIENTS / "superset_server.py"), str(server.port), seconds=300)
    lines = lines[lines.index("database 201") :]
    assert lines[1:6] == [
        "schemas 200 ['hr', 'information_schema', 'public']",
        "tables 200 ['department', 'staff']",
        f"columns 200 {COLUMNS}",
        "dataset 201",
        "dataset 201",
    ]
    assert lines[6] == "chart 200 [{'dept': 'a', 'mean': 128.75}, {'dept': 'b', 'mean': 144.0}]"
    assert "too much about somebody's salary. Hint: Drop the condition id = 3." in lines[7]
    assert lines[8].startswith(
        "chart 200 [{'title': 'Finance', 'budget': None}, {'title': 'Law', 'budget': 2000.0}"
    )
    path, means = filled(tmp_path), "AVG(salary) AS mean"
    counts = 'COUNT(*) AS "count"'
    assert lines[9:20] == [
        over_time(path, "hired", f"DATE_TRUNC('{part}', hired)", "hired < DATE '2021-01-01'", what)
        for part, what in (
            ("year", means), ("quarter", means), ("month", counts), ("week", counts), ("day", counts),
        )
    ] + [
        over_time(path, "seen", grain, "seen BETWEEN '2024-05-01 06:00' AND '2024-05-01 17:59:59'", counts)
        for grain in (
            "DATE_TRUNC('day', seen)", "DATE_TRUNC('hour', seen)", "TIME_BUCKET(INTERVAL 30 MINUTE, seen)",
            "TIME_BUCKET(INTERVAL 5 MINUTE, seen)", "TIME_BUCKET(INTERVAL 30 SECOND, seen)", "seen",
        )
    ]  # fmt: skip
    assert lines[20] == f"lab 200 {[{'dept': dept, 'n': 50} for dept in 'abcd']}"
    assert "Hint: Drop the condition id = 3." in lines[21]


def over_time(path: Path, column: str, grain: str, within: str, what: str) -> str:
    """What a chart over time must show, by plain DuckDB: moments are milliseconds there."""
    with duckdb.connect(str(path), read_only=True) as plain:
        found = plain.execute(
            f"SELECT epoch_ms({grain}) * 1.0::DOUBLE AS {column}, {what} FROM staff "
            f"WHERE {within} GROUP BY 1 ORDER BY 1"
        )
        names = [each[0] for each in found.description]
        return f"chart 200 {[dict(zip(names, row, strict=True)) for row in found.fetchall()]}"


PROJECT = {
    "dbt_project.yml": "name: demo\nversion: '1.0'\nprofile: demo\n"
    "flags: {send_anonymous_usage_stats: false}\n",
    "models/sources.yml": """
version: 2
sources:
  - name: main
    schema: public
    tables:
      - name: department
        columns: [{name: dept, data_tests: [not_null, unique]}]
      - name: staff
        columns:
          - name: dept
            data_tests: [{relationships: {to: "source('main', 'department')", field: dept}}]
""",
    "models/pay.sql": "select dept, avg(salary) as mean from {{ source('main', 'staff') }} group by dept",
}


@pytest.mark.slow
def test_dbt_tests_sources_and_is_told_that_nothing_is_built(server: Running, tmp_path: Path) -> None:
    python = python_with("CAE_DBT_PYTHON", "dbt.adapters.postgres")
    target = f"{{type: postgres, host: 127.0.0.1, port: {server.port}, user: ana, password: '{PASSWORD}', "
    target += "dbname: staff, schema: public, threads: 1}"
    profile = f"demo: {{target: dev, outputs: {{dev: {target}}}}}\n"
    for name, text in {**PROJECT, "profiles.yml": profile}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def dbt(*words: str) -> str:
        code = "import sys; from dbt.cli.main import cli; cli()"
        command = [python, "-c", code, "--no-use-colors", *words, "--project-dir", str(tmp_path)]
        done = subprocess.run(
            [*command, "--profiles-dir", str(tmp_path)],
            capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
        )  # fmt: skip
        return done.stdout

    assert "PASS=3 WARN=0 ERROR=0" in dbt("test")
    assert "PASS=0 WARN=0 ERROR=1" in (told := dbt("run"))
    assert (
        "CREATE is not possible here. Hint: This server answers queries; the database cannot be changed"
        in told
    )
    assert "Catalog written" in dbt("docs", "generate")


def test_knex_sequelize_typeorm_drizzle_and_postgres_js(server: Running) -> None:
    node = shutil.which("node")
    packages = ("pg", "knex", "sequelize", "typeorm", "drizzle-orm", "postgres")
    wanted = "".join(f"require('{each}');" for each in packages)
    if node is None or subprocess.run([node, "-e", wanted], capture_output=True, check=False).returncode:
        pytest.skip(f"node or one of its packages {', '.join(packages)} is not installed")
    lines = said(node, str(CLIENTS / "orms.js"), str(server.port))
    failed = [line for line in lines if " FAIL " in line]
    assert [line.split(" FAIL ")[0] for line in failed] == [
        "knex refusal", "sequelize refusal", "typeorm refusal", "drizzle refusal", "postgres.js refusal",
    ]  # fmt: skip
    assert all("Hint: Drop the condition" in line for line in failed)
    found = dict(re.fullmatch(r"(\S+ \S+) (.*)", line).groups() for line in lines if " FAIL " not in line)
    assert found["knex any"] == found["sequelize bind"] == found["postgres.js any"] == '[{"n":"100"}]'
    assert found["sequelize tables"] == '["department","staff"]'
    types = ["integer", "integer", "text", "text", "integer", "date", "timestamp without time zone"]
    listed = ",".join(f'"{name}:{type_}"' for name, type_ in zip(COLUMNS, types, strict=True))
    assert found["typeorm table"] == f"[{listed}]"
    assert found["postgres.js copy"] == r'"a\t50\nb\t50\nc\t50\nd\t50\n"'


def test_prisma_aggregates_groups_and_pages(server: Running, tmp_path: Path) -> None:
    """With its adapter for `pg` it needs no engine; its generator looks for one all the same."""
    node, modules = shutil.which("node"), Path(os.environ.get("NODE_PATH", "nowhere"))
    if node is None or not (modules / "@prisma" / "adapter-pg").exists():
        pytest.skip("node or one of its packages prisma, @prisma/client, @prisma/adapter-pg is not installed")
    for file in (CLIENTS / "prisma").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "node_modules").symlink_to(modules.resolve())
    generate = [node, str(modules / "prisma" / "build" / "index.js"), "generate", "--schema"]
    without = {"PRISMA_SCHEMA_ENGINE_BINARY": sys.executable, "CHECKPOINT_DISABLE": "1"}
    said(*generate, str(tmp_path / "schema.prisma"), **without)
    lines = said(node, str(tmp_path / "ask.js"), str(server.port))
    found = dict(line.split(" ", 1) for line in lines)
    assert [found[name] for name in ("count", "since", "raw")] == ["80", "101", '[{"n":50}]']
    mean = sum(count * each for _, count, each in GROUPED) / 170
    assert json.loads(found["mean"]) == {"_avg": {"salary": pytest.approx(mean)}, "_count": 170}
    assert [
        (each["dept"], each["_count"], each["_avg"]["salary"]) for each in json.loads(found["groups"])
    ] == GROUPED
    assert json.loads(found["rows"]) == [{"id": 1, "dept": "b"}, {"id": 2, "dept": "c"}]
    assert "too much about somebody's salary. Hint: Drop the condition" in found["refusal"]
    assert "salary is protected: it is not shown row by row. Hint: " in found["person"]


def test_isql_lists_asks_and_shows_the_hint(server: Running) -> None:
    """unixODBC's own program, with psqlODBC."""
    isql, known = shutil.which("isql"), Path("/etc/odbcinst.ini")
    if isql is None or not known.exists() or "PostgreSQL Unicode" not in known.read_text():
        pytest.skip("isql or psqlODBC is not installed")
    place = f"Driver=PostgreSQL Unicode;Server=127.0.0.1;Port={server.port};Database=staff;Uid=ana;"
    command = [isql, "-v", "-k", "-b", "-d|", "-c", f"{place}Pwd={PASSWORD}"]
    asked = "SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept ORDER BY dept\nhelp\nhelp staff\n"
    done = subprocess.run(
        command, input=asked + "SELECT AVG(salary) FROM staff WHERE id = 3\n", capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[:5] == ["dept|n", "a|50", "b|50", "c|50", "d|50"]
    assert [line.split("|")[3] for line in lines if line.startswith("staff|public|staff|")][1:] == COLUMNS
    assert "Hint: Drop the condition id = 3." in done.stdout + done.stderr


@pytest.mark.slow
def test_r_lists_by_rodbc_and_summarises_by_dbplyr(server: Running) -> None:
    r, packages = shutil.which("Rscript"), ("RODBC", "dbplyr", "RPostgreSQL")
    wanted = "".join(f"requireNamespace('{each}', quietly = TRUE) || quit(status = 1);" for each in packages)
    if (
        r is None
        or subprocess.run([r, "--vanilla", "-e", wanted], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"R or one of its packages {', '.join(packages)} is not installed")
    found = dict(
        line.split(" ", 1)
        for line in said(r, "--vanilla", str(CLIENTS / "frames.R"), str(server.port), PASSWORD)
    )
    means = [f"{mean:.7g}" for _, _, mean in GROUPED]
    assert found["tables"] == "department grade staff"
    assert found["columns"] == found["names"] == " ".join(COLUMNS)
    assert found["grouped"].split() == [*"abcd", *means]
    assert found["refusal"] == "1"
    assert found["summarised"].split() == [*"abcd", *[str(count) for _, count, _ in GROUPED], *means]
    by_title = dict(zip(("Sales", "Law", "Finance", "Research"), means, strict=True))
    assert found["joined"].split() == [*sorted(by_title), *[by_title[title] for title in sorted(by_title)]]


@pytest.mark.slow
def test_postgres_fdw_imports_reads_and_analyzes(server: Running) -> None:
    psycopg = pytest.importorskip("psycopg", reason="asks PostgreSQL")
    with postgres_running() as given, psycopg.connect(**given, autocommit=True) as local:
        try:
            local.execute("CREATE EXTENSION postgres_fdw")
        except psycopg.Error:
            pytest.skip("this PostgreSQL has no postgres_fdw")
        local.execute(
            "CREATE SERVER proxy FOREIGN DATA WRAPPER postgres_fdw "
            f"OPTIONS (host '127.0.0.1', port '{server.port}', dbname 'staff')"
        )
        local.execute(
            f"CREATE USER MAPPING FOR postgres SERVER proxy OPTIONS (user 'ana', password '{PASSWORD}')"
        )
        local.execute("CREATE SCHEMA far")
        local.execute("IMPORT FOREIGN SCHEMA public FROM SERVER proxy INTO far")

        def ask(sql: str) -> list[Any]:
            found: list[Any] = local.execute(sql).fetchall()
            return found

        assert ask("SELECT dept, title FROM far.department ORDER BY dept LIMIT 2") == [
            ("a", "Sales"),
            ("b", "Law"),
        ]
        grouped = (
            "SELECT dept, count(*), avg(salary)::float8 FROM far.staff "
            "WHERE age > 25 GROUP BY dept ORDER BY dept"
        )
        assert ask(grouped) == GROUPED
        assert ask("SELECT count(*) FROM far.staff WHERE dept = ANY (ARRAY['a', 'b'])") == [(100,)]
        local.execute("ANALYZE far.department")
        with pytest.raises(psycopg.Error, match=r"row by row\. Hint: "):
            local.execute("ANALYZE far.staff")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Hint: Drop the condition"):
            ask("SELECT avg(salary) FROM far.staff WHERE id = 3")


@contextmanager
def bouncing(program: str, server: Running, mode: str) -> Iterator[int]:
    """pgbouncer on a free port, as somebody who is not root; stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    home = Path(tempfile.mkdtemp(prefix="cae-pgb-"))
    where = f"host=127.0.0.1 port={server.port} dbname=staff user=ana password='{PASSWORD}'"
    (home / "ini").write_text(
        f"[databases]\nstaff = {where}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = any\npool_mode = {mode}\ndefault_pool_size = {2 if mode == 'session' else 1}\n"
        "unix_socket_dir =\nignore_startup_parameters = extra_float_digits\n"
    )
    home.chmod(0o755)
    as_other = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 and shutil.which("runuser") else []
    with subprocess.Popen(
        [*as_other, program, "-q", str(home / "ini")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + 30
            while time.monotonic() < end:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()
            process.wait(30)
            shutil.rmtree(home, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_pgbouncer_pools_in_both_modes(server: Running, mode: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="the client of this test")
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    with bouncing(program, server, mode) as port:
        place = {"host": "127.0.0.1", "port": port, "user": "ana", "dbname": "staff", "autocommit": True}
        clients = [
            psycopg.connect(**place, prepare_threshold=0 if mode == "session" else None) for _ in range(2)
        ]
        for _ in range(4):
            for client in clients:
                counted = client.execute("SELECT COUNT(*) FROM staff WHERE age > %s", (25,))
                assert counted.fetchone() == (170,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="Hint: Drop the condition"):
            clients[0].execute("SELECT AVG(salary) FROM staff WHERE id = 3")
        for client in clients:
            client.close()
        if mode == "session":
            return
        # Statements that are prepared by name: the same ones are shared, others are told of, never mistaken.
        named = [psycopg.connect(**place, prepare_threshold=0) for _ in range(2)]
        for client in named * 2:
            assert client.execute("SELECT COUNT(*) FROM staff WHERE age > %s", (25,)).fetchone() == (170,)
        named[0].execute("SELECT COUNT(*) + 1 FROM staff WHERE age > %s", (25,))
        with pytest.raises(psycopg.errors.DuplicatePreparedStatement, match="prepare_threshold=None"):
            named[1].execute("SELECT COUNT(*) + 2 FROM staff WHERE age > %s", (25,))
        for client in named:
            client.close()
