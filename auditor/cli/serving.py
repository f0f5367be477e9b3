"""`cae-sql serve`: the gate behind PostgreSQL's protocol."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auditor.cli.show import SOURCE
from auditor.errors import ServingError

if TYPE_CHECKING:
    from auditor.proxy.server import Address, Serving

MAX_RESULT = 512 << 20
"""Bytes of one result."""

Database = Annotated[str, typer.Argument(metavar="DATABASE", help=SOURCE)]


def serve(
    database: Database,
    policy: Annotated[Path, typer.Option("-p", "--policy", help="The policy (TOML).")],
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen.")
    ] = "127.0.0.1:5432",
    users: Annotated[Path, typer.Option("--users", metavar="FILE", help="The users file.")] = Path(
        "cae-sql.users"
    ),
    certificate: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="The server's certificate (PEM).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (PEM).")
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", metavar="HOST:PORT", help="Where /metrics and /health are answered."),
    ] = None,
    connections: Annotated[int, typer.Option("--max-connections", min=1, help="Connections in all.")] = 100,
    per_user: Annotated[
        int, typer.Option("--max-connections-per-user", min=1, help="Connections of one user.")
    ] = 20,
    rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows of one result.")] = 5_000_000,
    timeout: Annotated[
        float, typer.Option("--statement-timeout", min=0.1, help="Seconds for one statement.")
    ] = 60.0,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Log statements about the catalogue that are not answered, with the user."
        ),
    ] = False,
) -> None:
    """Let PostgreSQL's clients ask through the gate: psql, drivers, notebooks, BI tools."""
    from auditor.proxy.server import Serving, Times

    serving = Serving(
        _address(listen),
        users,
        certificate,
        key,
        None if metrics is None else _address(metrics),
        connections,
        per_user,
        times=Times(statement=timeout),
    )
    _run(database, policy, serving, rows, debug)


def _run(database: str, policy: Path, serving: Serving, rows: int, debug: bool) -> None:
    from auditor.data.running import Limits, Room
    from auditor.data.sources import source_of
    from auditor.gate.gate import Gate
    from auditor.policy.policy import Policy
    from auditor.proxy.observing import Log
    from auditor.proxy.server import run
    from auditor.proxy.sources import Sources
    from auditor.proxy.users import read_users

    source = source_of(database)
    names = list(read_users(serving.users).by_name)
    limits = Limits(serving.times.statement, rows, MAX_RESULT, Room(serving.held))

    def opened(rules: Policy) -> Gate:
        gate = Gate.open(source, rules)
        gate.limit(limits)
        return gate

    def reopened() -> Gate | None:
        now = Policy.load(policy)
        same = now == sources.gate.policy and not sources.gate.outdated
        return None if same else opened(now)

    with closing(Sources(opened(Policy.load(policy)), source.database, names)) as sources:
        run(sources, serving, Log(_to_stderr, debug=debug), reopen=reopened)


def _to_stderr(line: str) -> None:
    # Not through sys.stderr, whose lock would keep the process from ending while nobody reads it.
    os.write(2, line.encode())


def _address(text: str) -> Address:
    from auditor.proxy.server import Address

    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ServingError(f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:5432")
    return Address(host, int(port))
