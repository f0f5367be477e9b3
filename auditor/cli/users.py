"""`cae-sql users`: who may connect to `cae-sql serve`.

Promise: a password is typed without echo, read from stdin, or made here and shown once; it is never an
argument, which other users of the machine could read, and never stored.
"""

from __future__ import annotations

import getpass
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli import show
from auditor.cli.show import Format
from auditor.errors import UsersError

if TYPE_CHECKING:
    from auditor.proxy.users import Users

MIN_PASSWORD = 12
"""Characters."""
_GENERATED_BYTES = 18
DEFAULT_FILE = Path("cae-sql.users")


class RoleName(StrEnum):
    """What `--role` takes."""

    ANALYST = "analyst"
    ADMINISTRATOR = "administrator"


users = typer.Typer(help="Who may connect to `cae-sql serve`.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The user's name, as clients send it.")]
File = Annotated[Path, typer.Option("--users", metavar="FILE", help="The users file.")]


@users.command("add")
def add(
    name: Name,
    file: File = DEFAULT_FILE,
    role: Annotated[RoleName, typer.Option("--role", help="What the user may do.")] = RoleName.ANALYST,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from stdin, one line.")
    ] = False,
    generate: Annotated[bool, typer.Option("--generate", help="Make a password, and show it once.")] = False,
) -> None:
    """Let a user connect. The password is asked for; what is kept does not give it away."""
    if password_stdin and generate:
        raise typer.BadParameter("--password-stdin and --generate exclude each other")
    from auditor.proxy.scram import Verifier
    from auditor.proxy.users import Role, User, add_user, checked_name, read_users

    checked_name(name)
    if file.exists() and read_users(file).get(name) is not None:
        # before a password is typed for nothing
        raise UsersError(f"users file {file}: there is a user {name} already; remove it first")
    if generate:
        import secrets

        password = secrets.token_urlsafe(_GENERATED_BYTES)
    else:
        password = _checked(_from_stdin() if password_stdin else _typed(name))
    add_user(file, User(name, Role(role.value), Verifier.of_password(password)))
    if generate:
        print(password)
    print(f"added {show.line(name)} as {role.value} to {show.line(str(file))}", file=sys.stderr)


@users.command("remove")
def remove(name: Name, file: File = DEFAULT_FILE) -> None:
    """Let a user connect no more. What was answered stays in the ledger, under the name."""
    from auditor.proxy.users import remove_user

    remove_user(file, name)
    print(f"removed {show.line(name)} from {show.line(str(file))}", file=sys.stderr)


@users.command("list")
def list_(
    file: File = DEFAULT_FILE,
    form: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Show who may connect, and as what."""
    from auditor.proxy.users import read_users

    found: Users = read_users(file)
    content = [[user.name, user.role.value] for user in found.by_name.values()]
    about = {"code": "users", "message": f"{len(content)} users", "hint": ""}
    show.rows(["name", "role"], content, form, about)


def _typed(name: str) -> str:
    if not sys.stdin.isatty():
        raise UsersError("no terminal to ask for the password; use --password-stdin or --generate")
    password = getpass.getpass(f"Password for {name}: ")
    if getpass.getpass("Once more: ") != password:
        raise UsersError("the two passwords differ; nothing was changed")
    return password


def _from_stdin() -> str:
    line = sys.stdin.readline()
    return line.removesuffix("\n").removesuffix("\r")


def _checked(password: str) -> str:
    if len(password) < MIN_PASSWORD:
        raise UsersError(
            f"the password has {len(password)} characters; take {MIN_PASSWORD} or more, or --generate one"
        )
    if "\0" in password:
        raise UsersError("the password holds a NUL, which no client can send")
    return password
