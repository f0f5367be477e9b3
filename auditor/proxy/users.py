"""The users file: who may connect, as what, and the verifier of each password. Never a password.

    # comment
    secret c2VjcmV0…
    analyst        ana           SCRAM-SHA-256$4096:…
    administrator  Grace Hopper  SCRAM-SHA-256$4096:…

A line is a role, a name and a verifier as PostgreSQL writes it; the name is what stands between the two. The
secret salts the stand-ins of unknown users (see `auditor.proxy.scram`), so that they are the same after a
restart and in every proxy that reads the file.

Promises: a file is read whole or not at all, and what is wrong with it is named with its line; a change is
written beside it and renamed, so that readers see the file before or after it, and two writers wait for each
other; the file is its owner's alone (0600), and one that others may write is not read.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from filelock import Timeout

from auditor import private
from auditor.errors import UsersError
from auditor.proxy.scram import ITERATIONS, Verifier

MAX_NAME = 63
"""Bytes of a name: as many as PostgreSQL's clients can send."""
MAX_FILE = 16 << 20
"""Bytes of a file."""
RESERVED = frozenset({"published"})
"""Names under which the ledger records statements that are no user's."""
_SECRET_BYTES = 32
_PATIENCE = 30.0
_HEADER = "# Who may connect to `cae-sql serve`: role, name, verifier. Written by `cae-sql users`.\n"


class Role(StrEnum):
    """What a user may do."""

    ANALYST = "analyst"
    """Ask."""
    ADMINISTRATOR = "administrator"
    """Ask, and read risk and history."""


@dataclass(frozen=True)
class User:
    """One who may connect."""

    name: str
    role: Role
    verifier: Verifier

    def __str__(self) -> str:
        return f"{self.role.value:<13}  {self.name}  {self.verifier}"


@dataclass(frozen=True)
class Users:
    """What a users file holds."""

    by_name: Mapping[str, User] = field(default_factory=lambda: MappingProxyType({}))
    """In the order of the file."""
    secret: bytes = field(default=b"", repr=False)
    """Salts the stand-ins of unknown users."""

    def get(self, name: str) -> User | None:
        """The user of a name, to the letter."""
        return self.by_name.get(name)

    def verifier(self, name: str) -> Verifier:
        """The verifier of a name; for one that is not there, a stand-in that always fails."""
        iterations = next((each.verifier.iterations for each in self.by_name.values()), ITERATIONS)
        stand_in = Verifier.of_nobody(name, self.secret, iterations)
        user = self.by_name.get(name)
        return stand_in if user is None else user.verifier


def checked_name(name: str) -> str:
    """A name that a user may have.

    Raises:
        UsersError: says what is wrong with it.
    """
    problem = ""
    if not name or name != name.strip():
        problem = "must not be empty, nor begin or end with a space"
    elif not name.isprintable():
        problem = "must not hold control characters"
    elif len(name.encode()) > MAX_NAME:
        problem = f"must have no more than {MAX_NAME} bytes; take a shorter one"
    elif name in RESERVED:
        problem = "is the ledger's own; take another one"
    if problem:
        raise UsersError(f"user name {name[:MAX_NAME]!a} {problem}")
    return name


def read_users(path: str | os.PathLike[str]) -> Users:
    """Read a users file; a function of the file alone, so that it may be read again at any time.

    Raises:
        UsersError: names file, line and what would do.
    """
    file = Path(path)
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UsersError(f"users file {file}: is no file")
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise UsersError(f"users file {file}: there is none; `cae-sql users add NAME` makes it") from None
    except OSError as error:
        raise UsersError(f"users file {file}: cannot be read: {error.strerror or error}") from error
    if os.name == "posix" and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsersError(f"users file {file}: others may write it; run chmod 600 on it, and read it first")
    if len(content) > MAX_FILE:
        raise UsersError(f"users file {file}: has more than {MAX_FILE >> 20} MB")
    return _parsed(file, content)


def add_user(path: str | os.PathLike[str], user: User) -> None:
    """Add a user; makes the file if there is none.

    Raises:
        UsersError: there is one of that name, the name cannot be had, or the file cannot be used.
    """
    checked_name(user.name)
    file = Path(path)
    with _Writing(file):
        users = (
            read_users(file) if os.path.lexists(file) else Users(secret=secrets.token_bytes(_SECRET_BYTES))
        )
        if user.name in users.by_name:
            raise UsersError(f"users file {file}: there is a user {user.name} already; remove it first")
        _write(file, replace(users, by_name={**users.by_name, user.name: user}))


def remove_user(path: str | os.PathLike[str], name: str) -> None:
    """Remove a user.

    Raises:
        UsersError: there is none of that name, or the file cannot be used.
    """
    file = Path(path)
    read_users(file)  # a file that is not there needs no lock
    with _Writing(file):
        users = read_users(file)
        if name not in users.by_name:
            raise UsersError(f"users file {file}: there is no user {name[:MAX_NAME]!a}")
        left = {each: user for each, user in users.by_name.items() if each != name}
        _write(file, replace(users, by_name=left))


def _parsed(file: Path, content: bytes) -> Users:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        broken = content.count(b"\n", 0, error.start) + 1
        raise UsersError(f"users file {file}, line {broken}: is not UTF-8") from None
    users: dict[str, User] = {}
    secret = b""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            if words[0] == "secret":
                if secret:
                    raise UsersError("there is a secret already; leave one of them out")
                secret = _secret(words)
                continue
            user = _user(line)
            if user.name in users:
                raise UsersError(f"there is a user {user.name} already; leave one of them out")
        except UsersError as error:
            raise UsersError(f"users file {file}, line {number}: {error}") from None
        users[user.name] = user
    if not secret:
        raise UsersError(
            f"users file {file}: its line `secret …` is missing; restore it, or start a new file"
        )
    return Users(MappingProxyType(users), secret)


def _secret(words: list[str]) -> bytes:
    try:
        secret = base64.b64decode(words[1], validate=True) if len(words) == 2 else b""
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != _SECRET_BYTES:
        raise UsersError(f"must be `secret` and {_SECRET_BYTES} bytes in base64")
    return secret


def _user(line: str) -> User:
    parts = line.strip().split(maxsplit=1)
    try:
        role = Role(parts[0])
    except ValueError:
        roles = ", ".join(Role)
        raise UsersError(
            f"begins with {parts[0][:20]!a}; it must begin with one of {roles}, secret"
        ) from None
    rest = parts[1].rsplit(maxsplit=1) if len(parts) > 1 else []
    if len(rest) != 2:
        raise UsersError("must be a role, a name and a verifier")
    name = checked_name(rest[0].strip())
    try:
        return User(name, role, Verifier.parse(rest[1]))
    except ValueError as error:
        raise UsersError(
            f"the verifier of {name} is none: {error}; remove the user and add it again"
        ) from None


class _Writing:
    """One writer at a time."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, private.lock(file.with_name(f"{file.name}.lock"), _PATIENCE)

    def __enter__(self) -> None:
        if not self._file.parent.is_dir():
            raise UsersError(f"users file {self._file}: its folder is missing; make it first")
        try:
            private.tighten(Path(self._lock.lock_file))
            self._lock.acquire()
        except Timeout:
            raise UsersError(
                f"users file {self._file}: somebody else has been writing it for {_PATIENCE:.0f} seconds"
            ) from None
        except OSError as error:
            raise UsersError(
                f"users file {self._file}: cannot be written: {error.strerror or error}"
            ) from error

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _write(file: Path, users: Users) -> None:
    secret = base64.b64encode(users.secret).decode()
    lines = [_HEADER, f"secret {secret}\n", *(f"{user}\n" for user in users.by_name.values())]
    file = file.resolve()  # a link stays one
    try:
        private.replace(file, "".join(lines))
    except OSError as error:
        raise UsersError(f"users file {file}: cannot be written: {error.strerror or error}") from error
