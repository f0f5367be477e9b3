"""Whatever is wrong with files, policies and ledgers is one clear error; nothing is released or lost.

Each case is tried through Python and through the command line: the right exception, whose message says
what is wrong; exit status 2, one line on stderr, nothing on stdout; and the ledger as it was.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

import auditor.ledger.store
from auditor import AuditorError, DatabaseError, DataChanged, Gate, LedgerError, PolicyError
from auditor.cli import main
from tests.auditor.staff import build, entries, people, policy_text, verdict
from tests.quick import some

SQL = "SELECT sum(salary) FROM staff"
PLACES = '[ledger]\npath = "kept/staff.ledger"\nanchor = "elsewhere/staff.anchor"'


@dataclass(frozen=True)
class Place:
    """A protected table, its policy and its ledger of three entries, all of which a case may spoil."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "staff.duckdb"

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    @property
    def ledger(self) -> Path:
        return self.folder / "kept" / "staff.ledger"

    @property
    def anchor(self) -> Path:
        return self.folder / "elsewhere" / "staff.anchor"

    def rule(self, more: str = PLACES, limit: str = "risk = 0.5", **protect: object) -> None:
        self.policy.write_text(policy_text(more, limit, **protect))

    def run(self, *statements: str) -> None:
        with duckdb.connect(str(self.database)) as connection:
            for statement in statements:
                connection.execute(statement)

    def forget(self) -> None:
        """No ledger yet: what is wrong is found before there is one."""
        for path in (*self.ledger.parent.iterdir(), self.anchor):
            path.unlink()

    def content(self) -> list[tuple[object, ...]] | None:
        """The ledger's entries, read without the package; None where there is no ledger."""
        if not self.ledger.exists():
            return None
        try:
            with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True) as connection:
                return connection.execute("SELECT * FROM ledger_statement ORDER BY number").fetchall()
        except sqlite3.DatabaseError:
            return [(self.ledger.read_bytes(),)]


def filled(folder: Path) -> Place:
    place = Place(folder)
    place.ledger.parent.mkdir()
    place.anchor.parent.mkdir()
    build(place.database, people(40))
    place.rule()
    with Gate.open(place.database, place.policy) as gate:
        for sql in (SQL, "SELECT count(*) FROM staff", "SELECT sum(salary) FROM staff WHERE id = 3"):
            verdict(gate, sql)
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """What all cases begin with; each spoils a copy."""
    return filled(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def place(whole: Place, tmp_path: Path) -> Place:
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path)


Case = tuple[Callable[[Place], object], type[AuditorError], str]


def replaced(place: Place, *statements: str) -> None:
    """Other data under the same names, and no ledger yet."""
    place.forget()
    place.run("DROP TABLE staff", *statements)


def nine(place: Place, value: str) -> None:
    """Nine persons whose salary an expression gives."""
    replaced(place, f"CREATE TABLE staff AS SELECT i AS id, {value} AS salary FROM range(9) AS t(i)")


def cut(place: Place) -> None:
    """An older copy in the place of the ledger."""
    with sqlite3.connect(place.ledger) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DELETE FROM ledger_statement WHERE number >= 3")
    connection.close()


def changed(place: Place) -> None:
    with sqlite3.connect(place.ledger) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE ledger_statement SET sql = 'SELECT 1' WHERE number = 1")
    connection.close()


def damaged(place: Place) -> None:
    content = bytearray(place.ledger.read_bytes())
    content[100 : len(content)] = b"\xff" * (len(content) - 100)
    place.ledger.write_bytes(content)


def second_table(place: Place) -> None:
    place.run("CREATE TABLE boss AS SELECT * FROM staff")
    place.rule(table='"boss"')


def another_database(place: Place) -> None:
    place.database.unlink()
    build(place.database, people(40, 9))


def bound_to_nonsense(place: Place) -> None:
    """The first row of a ledger as somebody could have written it."""
    with sqlite3.connect(place.ledger) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE ledger_binding SET sizes = ?", ["[" * 100_000])
    connection.close()


FRESH = "id INTEGER, age INTEGER, sex VARCHAR, dept VARCHAR, salary"

CASES: dict[str, Case] = {
    # the database
    "a missing file": (lambda p: p.database.unlink(), DatabaseError, r"no database file .*staff\.duckdb"),
    "a file of another kind": (
        lambda p: p.database.write_text("id,salary\n1,2\n" * 999),
        DatabaseError,
        r"staff\.duckdb is not a DuckDB database",
    ),
    "an empty file": (lambda p: p.database.write_bytes(b""), DatabaseError, r"staff\.duckdb"),
    "a folder": (lambda p: (p.database.unlink(), p.database.mkdir()), DatabaseError, "has no Parquet, CSV"),
    "a file cut short": (
        lambda p: p.database.write_bytes(p.database.read_bytes()[:5000]),
        DatabaseError,
        r"staff\.duckdb",
    ),
    "a table that is not there": (
        lambda p: p.rule(table='"staf"'),
        DatabaseError,
        r"no table staf\b.*staff",
    ),
    "a column that is not there": (
        lambda p: p.rule(column='"salery"'),
        DatabaseError,
        r"no column salery\b.*salary",
    ),
    "a public column that is not there": (
        lambda p: p.rule(public='["age", "gender"]'),
        DatabaseError,
        "no column gender",
    ),
    "a key that is not there": (lambda p: p.rule(key='"ssn"'), DatabaseError, "no column ssn"),
    "a public table that is not there": (
        lambda p: p.rule(f'{PLACES}\n[tables]\npublic = ["regions"]'),
        DatabaseError,
        "no table regions",
    ),
    "a column of text": (lambda p: p.rule(column='"dept"'), DatabaseError, "dept has type VARCHAR"),
    "an empty table": (
        lambda p: replaced(p, f"CREATE TABLE staff ({FRESH} INTEGER)"),
        DatabaseError,
        "staff has no row with a value in salary",
    ),
    "a table of one record": (
        lambda p: replaced(
            p, f"CREATE TABLE staff ({FRESH} INTEGER)", "INSERT INTO staff VALUES (0,1,'f','a',50)"
        ),
        DatabaseError,
        "staff has 1 record",
    ),
    "nothing but NULL": (
        lambda p: replaced(
            p, "CREATE TABLE staff AS SELECT i AS id, NULL::INTEGER AS salary FROM range(9) t(i)"
        ),
        DatabaseError,
        "staff has no row with a value in salary",
    ),
    "NaN": (
        lambda p: replaced(
            p, "CREATE TABLE staff AS SELECT i AS id, 'nan'::DOUBLE AS salary FROM range(9) t(i)"
        ),
        DatabaseError,
        "salary .*(NaN|not a number|finite)",
    ),
    "an infinite value": (
        lambda p: replaced(
            p, "CREATE TABLE staff AS SELECT i AS id, 'inf'::DOUBLE AS salary FROM range(9) t(i)"
        ),
        DatabaseError,
        "salary .*(infinit|finite)",
    ),
    # the policy
    "a missing policy": (lambda p: p.policy.unlink(), PolicyError, r"policy\.toml: cannot be read"),
    "a policy that is no TOML": (
        lambda p: p.policy.write_text("protect:\n  x"),
        PolicyError,
        "not valid TOML",
    ),
    "a policy that is no text": (lambda p: p.policy.write_bytes(b"\xff\xfe"), PolicyError, "UTF-8"),
    "a policy of lists in lists": (
        lambda p: p.policy.write_text("[protect]\ntable = " + "[" * 5_000 + "]" * 5_000),
        PolicyError,
        r"policy .*policy\.toml: nested too deeply; a policy is sections of keys",
    ),
    "a policy of tables in tables": (
        lambda p: p.policy.write_text("[protect]\ntable = " + "{a = " * 5_000),
        PolicyError,
        r"policy .*policy\.toml: nested too deeply; a policy is sections of keys",
    ),
    "a policy with a key of a thousand parts": (
        lambda p: p.rule(table="{" + "a." * 1_500 + "a = 1}"),
        PolicyError,
        r"policy .*policy\.toml: nested too deeply; a policy is sections of keys",
    ),
    "a policy with a number of thousands of digits": (
        lambda p: p.rule(maximum="9" * 5_000),
        PolicyError,
        r"policy .*policy\.toml: not valid TOML: .*digits",
    ),
    "an unknown key": (lambda p: p.rule(colum='"salary"'), PolicyError, r"protect\.colum\b.*column"),
    "an unknown section": (lambda p: p.rule(f"{PLACES}\n[limits]\nrisk = 1"), PolicyError, "limits"),
    "a domain that the data leave below": (
        lambda p: p.rule(minimum=100),
        PolicyError,
        "minimum = 100.*outside",
    ),
    "a domain that the data leave above": (
        lambda p: p.rule(maximum=200),
        PolicyError,
        "maximum = 200.*outside",
    ),
    "a resolution that the data do not fit": (
        lambda p: p.rule(step=20),
        PolicyError,
        r"protect\.resolution = 20.*not minimum plus a multiple",
    ),
    "a limit that nothing could meet": (
        lambda p: p.rule(limit="epsilon = 240"),
        PolicyError,
        r"limit\.epsilon = 240",
    ),
    "an entropy that nothing could have": (
        lambda p: p.rule(limit="epsilon = 20\nmin_entropy = 4"),
        PolicyError,
        r"limit\.min_entropy = 4",
    ),
    "no limit": (lambda p: p.rule(limit=""), PolicyError, "limit"),
    "an intruder who knows what is not public": (
        lambda p: p.rule(f'{PLACES}\n[intruder]\nknows = ["age", "dept"]', public='["age"]'),
        PolicyError,
        "intruder.knows",
    ),
    "an intruder who knows a column that is not there": (
        lambda p: p.rule(f'{PLACES}\n[intruder]\nknows = ["gender"]'),
        AuditorError,
        "gender",
    ),
    # the ledger
    "data that changed": (
        lambda p: p.run("DELETE FROM staff WHERE id = 3"),
        DataChanged,
        "'staff' has changed",
    ),
    "another database": (another_database, DataChanged, "'staff' has changed"),
    "the ledger of another table": (
        second_table,
        LedgerError,
        "begun for staff.salary, the policy protects boss.salary",
    ),
    "a changed [protect]": (lambda p: p.rule(maximum=260), LedgerError, r"\[protect\].*maximum"),
    "a missing ledger": (lambda p: p.ledger.unlink(), LedgerError, "is missing, and its anchor"),
    "a shortened ledger": (
        cut,
        LedgerError,
        "has 2 entries where its anchor says 3|rows that its chain|its trigger \\w+ is missing",
    ),
    "an altered ledger": (changed, LedgerError, "entry 1 was altered"),
    "a damaged ledger": (damaged, LedgerError, r"staff\.ledger"),
    "a ledger that is none": (lambda p: p.ledger.write_text("x" * 9999), LedgerError, "not a ledger"),
    "an empty ledger file": (lambda p: p.ledger.write_bytes(b""), LedgerError, "not a ledger"),
    "a ledger's folder that is missing": (
        lambda p: p.rule('[ledger]\npath = "nowhere/staff.ledger"'),
        LedgerError,
        "its folder does not exist",
    ),
    "a server that is not offered": (
        lambda p: p.rule('[ledger]\npath = "postgresql://host/ledger"'),
        LedgerError,
        "postgresql",
    ),
    "a broken anchor": (lambda p: p.anchor.write_text("{"), LedgerError, "anchor"),
    "an anchor of lists in lists": (
        lambda p: p.anchor.write_text("[" * 100_000),
        LedgerError,
        r"anchor .*staff\.anchor: not an anchor; restore it from a copy",
    ),
    "an anchor with a length of thousands of digits": (
        lambda p: p.anchor.write_text('{"id": "a", "length": ' + "9" * 5_000 + ', "head": "b"}'),
        LedgerError,
        r"anchor .*staff\.anchor: not an anchor; restore it from a copy",
    ),
    "an anchor whose length is no number": (
        lambda p: p.anchor.write_text('{"id": "a", "length": true, "head": "b"}'),
        LedgerError,
        r"anchor .*staff\.anchor: not an anchor; restore it from a copy",
    ),
    "a ledger that is bound to lists in lists": (
        bound_to_nonsense,
        LedgerError,
        r"ledger .*staff\.ledger: what it is bound to cannot be read; restore it from a copy",
    ),
}


def through_python(place: Place, sql: str = SQL) -> None:
    with Gate.open(place.database, place.policy) as gate:
        gate.execute(sql)


def through_the_command_line(
    place: Place, capsys: pytest.CaptureFixture[str], command: str = "query", sql: str = SQL
) -> str:
    words = [command, str(place.database), *([sql] if command in ("query", "check") else [])]
    with pytest.raises(SystemExit) as left:
        main([*words, "-p", str(place.policy)])
    printed = capsys.readouterr()
    assert left.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("cae-sql: ")
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize("name", some(CASES, 12))
def test_what_is_wrong_is_one_error(name: str, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, kind, text = CASES[name]
    spoil(place)
    before = place.content()
    with pytest.raises(kind, match=text) as caught:
        through_python(place)
    assert type(caught.value) in (PolicyError, DatabaseError, LedgerError, DataChanged)
    assert "\n" not in str(caught.value)
    for command in ("query", "risk"):
        said = through_the_command_line(place, capsys, command)
        assert " ".join(str(caught.value).split()) in said
    assert place.content() == before


def test_what_the_owner_does_about_it_helps(place: Place) -> None:
    """The ledger back in its place, the policy as it was: all that was known is known again."""
    kept = place.folder / "copy"
    shutil.copytree(place.ledger.parent, kept)
    place.ledger.unlink()
    with pytest.raises(LedgerError):
        through_python(place)
    shutil.copytree(kept, place.ledger.parent, dirs_exist_ok=True)
    with Gate.open(place.database, place.policy) as gate:
        assert verdict(gate, SQL).code == "known"
        assert len(entries(gate)) == 4


def test_a_database_that_another_program_writes(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); c.execute('CREATE TABLE t (i INTEGER)'); "
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(place.database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        with pytest.raises(DatabaseError, match="open for writing in another program"):
            through_python(place)
        assert "open for writing" in through_the_command_line(place, capsys)
        writer.stdin.close()
    through_python(place)


def test_a_database_that_this_process_has_open(place: Place) -> None:
    with duckdb.connect(str(place.database)), pytest.raises(DatabaseError, match="in this process"):
        through_python(place)
    through_python(place)


@pytest.fixture
def unprivileged() -> Iterator[Place]:
    """A place that the present user may not write, also where tests run as the superuser."""
    if os.name != "posix":
        pytest.skip("file permissions are POSIX's")
    folder, user = Path(tempfile.mkdtemp()), os.geteuid()
    folder.chmod(0o755)
    try:
        yield filled(folder)
    finally:
        os.seteuid(user)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["kept", "elsewhere"])
def test_a_ledger_or_an_anchor_that_cannot_be_written(
    what: str, unprivileged: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place = unprivileged
    for path in [place.folder, *place.folder.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    for path in [*(place.folder / what).iterdir(), place.folder / what]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = place.content()
    if os.geteuid() == 0:
        os.seteuid(65534)
    with pytest.raises(LedgerError, match=r"staff\.(ledger|anchor).*(writ|Permission|chmod)"):
        through_python(place)
    through_the_command_line(place, capsys)
    assert place.content() == before


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own limit gives the very error of a full disk."""
    real = auditor.ledger.store.open_file

    def limited(file: Path) -> sqlite3.Connection:
        opened = real(file)
        if not file.name.endswith(".new"):
            opened.execute("PRAGMA max_page_count = 1")
        return opened

    monkeypatch.setattr(auditor.ledger.store, "open_file", limited)


LONG = [
    f"SELECT avg(salary) FROM staff WHERE age < 40 -- {'x' * 60_000}",
    f"SELECT sum(salary) FROM staff -- {'x' * 60_000}",
    f"SELECT count(*) FROM staff -- {'x' * 60_000}",
    f"SELECT salary FROM staff -- {'x' * 60_000}",
    f"SELECT sum(salary) FROM staff WHERE id <> 3 -- {'x' * 60_000}",
]


@pytest.mark.slow
@pytest.mark.parametrize("sql", LONG, ids=["new", "known", "public", "unsupported", "refused"])
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_releases_nothing(sql: str, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = place.content()
    with Gate.open(place.database, place.policy) as gate:
        with pytest.raises(LedgerError, match="disk is full; nothing was released"):
            gate.execute(sql)
        with pytest.raises(LedgerError, match="disk is full; nothing was released"):
            gate.check(sql)
        # not from memory either
        with pytest.raises(LedgerError, match="disk is full"):
            gate.execute(sql)
    assert "disk is full; nothing was released" in through_the_command_line(place, capsys, sql=sql)
    assert place.content() == before


def test_a_gate_whose_ledger_is_taken_away_stops(place: Place) -> None:
    with Gate.open(place.database, place.policy) as gate:
        gate.execute(SQL)
        cut(place)
        for sql in (SQL, "SELECT avg(salary) FROM staff WHERE age < 40", "SELECT count(*) FROM staff"):
            with pytest.raises(LedgerError):
                gate.execute(sql)


@pytest.mark.parametrize(
    ("sql", "user"),
    [
        (f"{SQL} -- \ud800", "eve"),
        (SQL, "\udc80"),
    ],
    ids=["sql", "user"],
)
def test_what_cannot_be_written_down_is_not_answered(sql: str, user: str, place: Place) -> None:
    before = place.content()
    with Gate.open(place.database, place.policy) as gate, pytest.raises(AuditorError):
        gate.execute(sql, user=user)
    assert place.content() == before


CIRCULAR: list[object] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize("parameters", [{(1, 2): 3}, CIRCULAR, 7], ids=["key", "circle", "number"])
def test_parameters_that_are_none_are_one_error(parameters: object, place: Place) -> None:
    with Gate.open(place.database, place.policy) as gate, pytest.raises(AuditorError):
        gate.execute("SELECT sum(salary) FROM staff WHERE age < ?", parameters)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_program_itself_says_it_in_one_line(place: Place) -> None:
    place.run("DELETE FROM staff WHERE id = 3")
    command = [sys.executable, "-m", "auditor", "query", str(place.database), SQL, "-p", str(place.policy)]
    if not (Path(auditor.cli.__file__).parents[1] / "__main__.py").exists():
        command[1:3] = ["-c", "from auditor.cli import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "has changed since" in done.stderr
