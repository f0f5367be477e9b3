"""The users file and `cae-sql users`: what is kept, who may change it, and what is said of a broken one."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.cli import main
from auditor.errors import UsersError
from auditor.proxy.scram import Verifier
from auditor.proxy.users import RESERVED, Role, User, Users, add_user, checked_name, read_users, remove_user

VERIFIER = Verifier.of_password("correct horse", b"salt", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "staff.users"
    add_user(path, User("ana", Role.ANALYST, VERIFIER))
    add_user(path, User("Grace Hopper", Role.ADMINISTRATOR, VERIFIER))
    return path


def test_users_read_back_as_they_were_added(file: Path) -> None:
    users = read_users(file)
    assert list(users.by_name) == ["ana", "Grace Hopper"]
    assert users.get("Grace Hopper") == User("Grace Hopper", Role.ADMINISTRATOR, VERIFIER)
    assert users.verifier("ana") == VERIFIER
    assert users.get("ANA") is None


names = st.text(min_size=1, max_size=40).filter(
    lambda name: (
        name.isprintable() and name == name.strip() and len(name.encode()) <= 63 and name not in RESERVED
    )
)


@given(st.lists(names, unique=True, max_size=5))
def test_any_name_that_may_be_had_reads_back(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[str]
) -> None:
    path = tmp_path_factory.mktemp("users") / "u"
    for name in chosen:
        add_user(path, User(name, Role.ANALYST, VERIFIER))
    if chosen:
        assert list(read_users(path).by_name) == chosen


def test_unknown_users_have_a_stand_in_that_outlives_changes(file: Path) -> None:
    before = read_users(file).verifier("nobody")
    add_user(file, User("bo", Role.ANALYST, VERIFIER))
    assert read_users(file).verifier("nobody") == before
    assert not before.genuine
    assert before.iterations == VERIFIER.iterations


def test_a_removed_user_is_gone(file: Path) -> None:
    remove_user(file, "ana")
    assert list(read_users(file).by_name) == ["Grace Hopper"]
    with pytest.raises(UsersError, match="no user 'ana'"):
        remove_user(file, "ana")


def test_the_file_is_its_owners_alone_and_no_passwords_are_in_it(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "correct" not in file.read_text()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    for use in (lambda: read_users(file), lambda: remove_user(file, "ana")):
        with pytest.raises(UsersError, match="chmod 600"):
            use()


def test_a_second_user_of_a_name_is_refused(file: Path) -> None:
    with pytest.raises(UsersError, match="already"):
        add_user(file, User("ana", Role.ADMINISTRATOR, VERIFIER))


@pytest.mark.parametrize(
    "name",
    ["", " ana", "ana ", "a\0b", "a\nb", "a\tb", "a\x7fb", "a\u202eb", "ä" * 32, "x" * 64, "published"],
)
def test_names_that_cannot_be_had(name: str) -> None:
    with pytest.raises(UsersError, match="user name"):
        checked_name(name)


SECRET = "secret " + "A" * 43 + "=\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SECRET + "boss ana x\n", r"line 2: begins with 'boss'; it must begin with one of analyst"),
        (SECRET + "analyst\n", "line 2: must be a role, a name and a verifier"),
        (SECRET + "analyst ana\n", "line 2: must be a role, a name and a verifier"),
        (SECRET + "\n# x\nanalyst ana md5abc\n", "line 4: the verifier of ana is none"),
        (SECRET + f"analyst ana {VERIFIER}\n" * 2, "line 3: there is a user ana already"),
        (SECRET * 2, "line 2: there is a secret already"),
        ("secret x\n", "line 1: must be `secret` and 32 bytes"),
        (f"analyst ana {VERIFIER}\n", "`secret …` is missing"),
        ("", "`secret …` is missing"),
        (SECRET + f"analyst {'x' * 64} {VERIFIER}", "line 2: user name .* 63 bytes"),
        (SECRET + f"analyst published {VERIFIER}", "line 2: user name 'published'"),
        (SECRET.encode() + b"analyst \xff x", "line 2: is not UTF-8"),
    ],
)
def test_a_broken_file_is_one_error_that_names_the_line(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    path = tmp_path / "u"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o600)
    with pytest.raises(UsersError, match=said):
        read_users(path)


@given(st.binary(max_size=200))
def test_no_bytes_bring_anything_but_the_documented_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("users") / "u"
    path.write_bytes(SECRET.encode() + content)
    path.chmod(0o600)
    with contextlib.suppress(UsersError):
        assert isinstance(read_users(path), Users)


def test_what_is_no_file_or_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsersError, match="users add"):
        read_users(tmp_path / "none")
    with pytest.raises(UsersError, match="is no file"):
        read_users(tmp_path)
    with pytest.raises(UsersError, match="folder is missing"):
        add_user(tmp_path / "none" / "u", User("ana", Role.ANALYST, VERIFIER))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsersError, match="is no file"):
        read_users(tmp_path / "pipe")


def test_writers_at_the_same_time_lose_nobody(file: Path) -> None:
    chosen = [f"user {number}" for number in range(12)]
    threads = [
        threading.Thread(target=add_user, args=(file, User(name, Role.ANALYST, VERIFIER))) for name in chosen
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read_users(file).by_name) == {"ana", "Grace Hopper", *chosen}


def test_a_write_that_fails_leaves_the_file_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsersError, match="No space left"):
        add_user(file, User("bo", Role.ANALYST, VERIFIER))
    assert file.read_bytes() == before


def test_a_link_to_the_file_stays_one(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(file)
    add_user(link, User("bo", Role.ANALYST, VERIFIER))
    assert link.is_symlink()
    assert read_users(file).get("bo") is not None


# The command line


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    out, err = capsys.readouterr()
    return status, out, err


def test_add_list_and_remove(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "u"
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))
    assert run(capsys, "users", "add", "ana", "--users", path, "--password-stdin")[0] == 0
    verifier = read_users(path).verifier("ana")
    assert verifier == Verifier.of_password("correct horse battery", verifier.salt)
    status, out, _ = run(capsys, "users", "list", "--users", path, "--format", "json")
    assert (status, json.loads(out)["rows"]) == (0, [["ana", "analyst"]])
    assert "ana" in run(capsys, "users", "list", "--users", path)[1]
    assert run(capsys, "users", "remove", "ana", "--users", path)[0] == 0
    assert run(capsys, "users", "list", "--users", path, "--format", "csv")[1] == "name,role\n"


def test_a_generated_password_is_shown_once_and_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "u"
    _, out, err = run(capsys, "users", "add", "ana", "--users", path, "--generate", "--role", "administrator")
    user = read_users(path).by_name["ana"]
    assert user.verifier == Verifier.of_password(out.strip(), user.verifier.salt)
    assert user.role is Role.ADMINISTRATOR
    assert out.strip() not in err


@pytest.mark.parametrize(
    ("typed", "said"),
    [(["too short", "too short"], "has 9 characters"), (["", ""], "has 0 characters"),
     (["correct horse", "correct house"], "differ")],
)  # fmt: skip
def test_a_typed_password_must_be_long_and_the_same_twice(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    typed: list[str],
    said: str,
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda _: typed.pop())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    status, _, err = run(capsys, "users", "add", "ana", "--users", tmp_path / "u")
    assert status == 2
    assert said in err
    assert not (tmp_path / "u").exists()


def test_mistakes_are_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "u"
    run(capsys, "users", "add", "ana", "--users", path, "--generate")
    for arguments, said in [
        (("add", "ana", "--generate"), "already"),
        (("add", "a\tb", "--generate"), "control characters"),
        (("add", "bo"), "--password-stdin or --generate"),
        (("remove", "bo"), "no user 'bo'"),
        (("add", "bo", "secret"), "unexpected extra argument"),
        (("add", "bo", "--generate", "--password-stdin"), "exclude"),
    ]:
        status, _, err = run(capsys, "users", *arguments, "--users", path)
        assert status == 2
        assert said in err
        assert "Traceback" not in err
