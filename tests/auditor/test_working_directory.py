"""Nothing that lies in the working directory runs, or is read, in the gate or in what it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = """import os
with open(os.environ.get("MARK") or {marker!r}, "a") as file:
    file.write("{name}\\n")
raise SystemExit(9)
"""
# What Python, numba, DuckDB, sqlglot and pandas import, or try to import, by name.
NAMES = [
    "pickle",
    "struct",
    "json",
    "signal",
    "queue",
    "subprocess",
    "threading",
    "datetime",
    "decimal",
    "contextlib",
    "tempfile",
    "typing",
    "random",
    "auditor",
    "cae_sql",
    "udfs",
    "duckdb",
    "_duckdb",
    "numpy",
    "sqlglot",
    "sqlglotc",
    "sqlglotrs",
    "mypy_extensions",
    "pandas",
    "pyarrow",
    "yaml",
    "sitecustomize",
    "usercustomize",
    "adbc_driver_duckdb",
    "numba",
    "llvmlite",
    "resource",
    "zoneinfo",
    "tzdata",
    "pytz",
]
POLICY = """
[protect]
table = "staff"
column = "salary"
minimum = 0
maximum = 250
step = 10
public = ["id", "age"]

[limit]
risk = 0.9
"""
LONG = "SELECT avg(salary) FROM staff WHERE id IN (" + ", ".join(map(str, range(2_000))) + ")"
COMMAND = f"import sys; sys.path.append({str(ROOT)!r}); from auditor.cli import main; main(sys.argv[1:])"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder where modules, settings and caches of somebody else lie in wait; they would write `marker`."""
    place, marker = tmp_path / "hostile", tmp_path / "marker"
    place.mkdir()
    for name in NAMES:
        (place / f"{name}.py").write_text(HOSTILE.format(marker=str(marker), name=name))
    (place / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path / 'caught'}\n")
    (place / "matplotlibrc").write_text("figure.dpi: 17\n")
    (place / "evil-1.dist-info").mkdir()
    (place / "evil-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (place / "evil-1.dist-info" / "entry_points.txt").write_text("[pydantic]\nevil = pickle:evil\n")
    return place


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "staff.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE staff AS SELECT i AS id, 20 + i % 40 AS age, 20 + (i * 37) % 23 * 10 AS salary "
            "FROM range(150) t(i)"
        )
    (path.parent / "policy.toml").write_text(POLICY)
    return path


def ask(
    cwd: Path, database: Path, command: str, sql: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """One command in a process that does not search the working directory itself (-P, as a script has it)."""
    policy = str(database.parent / "policy.toml")
    return subprocess.run(
        [sys.executable, "-P", "-c", COMMAND, command, str(database), sql, "-p", policy],
        cwd=cwd, capture_output=True, text=True, timeout=300, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "sql", "status"),
    [
        ("query", "DESCRIBE SELECT 1", 0),
        ("check", "SELECT avg(salary) FROM staff WHERE age > 30", 0),
        ("query", LONG, 0),
    ],
    ids=["describe", "check", "a list of 2,000 numbers"],
)
def test_no_module_in_the_working_directory_runs(
    tmp_path: Path, hostile: Path, database: Path, command: str, sql: str, status: int
) -> None:
    done = ask(hostile, database, command, sql)
    assert not (tmp_path / "marker").exists(), (tmp_path / "marker").read_text()
    assert not (tmp_path / "caught").exists()
    assert done.returncode == status, done.stderr
    assert sorted(each.name for each in hostile.glob(".tmp*")) == []


@pytest.mark.slow
def test_no_module_beside_the_package_runs_in_its_workers(tmp_path: Path, hostile: Path) -> None:
    # The checkout is the working directory, and PYTHONPATH and Python itself ('') name it.
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("auditor", "cae_sql", "udfs"):
        (hostile / f"{name}.py").unlink()
        (checkout / name).symlink_to(ROOT / name)
    script = (
        "import shutil, sys\n"
        f"sys.path[:0] = ['', {str(checkout)!r}]\n"
        "from auditor.sql import Schema, sandbox\n"
        f"shutil.copytree({str(hostile)!r}, '.', dirs_exist_ok=True)\n"
        "print(sandbox._POOL.ask(('SELECT', None, Schema((), ()), 'duckdb'), 30).code)\n"
        "print(sys.modules['auditor'].__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=checkout, capture_output=True, text=True, timeout=120
    )
    assert not (tmp_path / "marker").exists(), (tmp_path / "marker").read_text()
    code, home = done.stdout.split()
    assert code != "too-large", done.stderr
    assert home.startswith(str(checkout))


@pytest.mark.slow
def test_a_worker_has_a_bare_environment_and_an_empty_folder(tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("the system does not say what a process was started with")
    script = (
        "import os\nfrom pathlib import Path\nfrom auditor.sql import Schema, sandbox\n"
        "sandbox._POOL.ask(('SELECT', None, Schema((), ()), 'duckdb'), 30)\n"
        "pid = next(each._process.pid for each in sandbox._POOL._all if each._process)\n"
        "given = Path(f'/proc/{pid}/environ').read_text().split(chr(0))\n"
        "names = [each.split('=')[0] for each in given if each]\n"
        "folder = os.readlink(f'/proc/{pid}/cwd')\n"
        "print(sorted(set(names) - {'LC_CTYPE'}), folder != os.getcwd(), os.path.exists(folder))\n"
    )
    environment = {**os.environ, "SECRET": "x", "TZ": "UTC", "LD_LIBRARY_PATH": ":/nowhere:relative"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.append({str(ROOT)!r})\n{script}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert done.stdout.strip() == "['LD_LIBRARY_PATH', 'TZ'] True False", done.stderr


@pytest.mark.slow
def test_numba_takes_no_settings_from_the_working_directory(tmp_path: Path, hostile: Path) -> None:
    # Where a reader of YAML is installed, the file could name a cache of compiled code, which is unpickled.
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "yaml.py").write_text(
        "def safe_load(file):\n    return dict(line.strip().split(': ') for line in file)\n"
    )
    script = (
        "import sys\n"
        f"sys.path += [{str(libraries)!r}, {str(ROOT)!r}]\n"
        "from cae_sql import cae_area\n"
        "import yaml\n"
        "print(cae_area([1.0, 2.0, 4.0]) > 0, 'safe_load' in dir(yaml))\n"
        "from numba.core import config\n"
        "config.reload_config()\n"
        "print(repr(config.CACHE_DIR))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=hostile, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == ["True True", "''"], done.stderr
    assert not (tmp_path / "caught").exists()


def test_a_picture_is_drawn_without_the_working_directorys_settings(hostile: Path) -> None:
    script = (
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "from auditor.drawing import require_matplotlib\n"
        "require_matplotlib('none')\n"
        "import matplotlib, os\nprint(matplotlib.rcParams['figure.dpi'], os.getcwd())\n"
    )
    environment = {**os.environ, "HOME": str(hostile.parent)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=hostile, capture_output=True, text=True, timeout=120,
        env=environment,
    )  # fmt: skip
    assert done.stdout.split() == ["100.0", str(hostile)], done.stderr


def test_what_memory_cannot_hold_is_not_put_into_the_working_directory(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from auditor.data import loading
    from auditor.data.sources import Wanted, source_of
    from auditor.policy.policy import Policy

    seen: list[object] = []
    source = source_of(database)
    attach = source.attach

    def spy(connection: duckdb.DuckDBPyConnection, catalog: str, wanted: Wanted) -> None:
        seen.append(connection.execute("SELECT current_setting('temp_directory')").fetchone())
        attach(connection, catalog, wanted)

    monkeypatch.setattr(source, "attach", spy)
    loading.load(source, Policy.parse(POLICY).protects, (), (), "1GB").connection.close()
    assert seen == [("",)]
