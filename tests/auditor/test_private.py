"""What holds confidential figures is its owner's alone, whatever the umask; so are the locks."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor import private
from auditor.cli.auditing import write
from auditor.errors import LedgerError
from auditor.ledger import Binding, Ledger
from auditor.ledger.copying import copy_ledger
from auditor.proxy.scram import Verifier
from auditor.proxy.users import Role, User, add_user

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
BINDING = Binding("p", "f", (("staff", "salary", 4),))


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {each.name: oct(stat.S_IMODE(each.stat().st_mode)) for each in folder.iterdir()}


def ask(ledger: Ledger) -> None:
    ledger.append(user="ann", sql="SELECT 1", verdict="answered", code="public")


def test_a_ledger_its_log_its_lock_and_its_anchor_are_its_owners_alone(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "x.ledger", BINDING, anchor=tmp_path / "x.anchor") as ledger:
        with ledger.deciding():
            ask(ledger)
        names = {"x.ledger", "x.ledger-wal", "x.ledger-shm", "x.ledger.lock", "x.anchor", "x.anchor.lock"}
        assert modes(tmp_path) == dict.fromkeys(names, "0o600")
    copy_ledger(tmp_path / "x.ledger", tmp_path / "copy.ledger")
    assert modes(tmp_path)["copy.ledger"] == "0o600"


def test_a_ledger_that_others_may_read_is_taken_away_from_them_when_it_is_opened(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "x.ledger", BINDING) as ledger:
        ask(ledger)
        for each in tmp_path.iterdir():
            each.chmod(0o644)
        Ledger.open(tmp_path / "x.ledger", BINDING).close()
        assert set(modes(tmp_path).values()) == {"0o600"}
        ask(ledger)


def test_a_lock_of_somebody_else_that_is_open_to_all_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.open(tmp_path / "x.ledger", BINDING).close()
    (tmp_path / "x.ledger.lock").touch(0o666)
    (tmp_path / "x.ledger.lock").chmod(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(LedgerError, match=r"x\.ledger\.lock is another user's.*chmod 600"):
        Ledger.open(tmp_path / "x.ledger", BINDING)


def test_users_and_reports_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_user(tmp_path / "users", User("ana", Role.ANALYST, Verifier.of_password("long enough, I hope")))
    (tmp_path / "r.json").touch(0o644)
    monkeypatch.setattr("auditor.report.as_json", lambda findings: "{}\n")
    write(None, {"json": tmp_path / "r.json"})  # type: ignore[arg-type]
    assert (tmp_path / "r.json").read_text() == "{}\n"
    assert set(modes(tmp_path).values()) == {"0o600"}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_text("before")
    with pytest.raises(UnicodeEncodeError):
        private.replace(tmp_path / "x", "\ud800")
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "before"


def test_nothing_is_written_through_a_link_that_somebody_left(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "x.new").symlink_to(tmp_path / "victim")
    private.replace(tmp_path / "x", "text")
    assert (tmp_path / "victim").read_text() == "mine"
    with pytest.raises(FileExistsError):
        private.create(tmp_path / "victim")
