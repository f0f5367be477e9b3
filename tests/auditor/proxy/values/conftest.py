"""A PostgreSQL of the tests' own, asked for raw bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ..postgres_server import running

Ask = Callable[..., list[tuple[bytes | None, ...]]]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg asks PostgreSQL, the oracle of these tests")
    with running() as address, psycopg.connect(**address, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def raw(postgres: Any) -> Ask:
    """Rows as PostgreSQL sends them, in a format."""

    def ask(
        sql: str,
        code: int = 0,
        parameters: Sequence[bytes | None] = (),
        oids: Sequence[int] = (),
        into: int = 0,
    ) -> list[tuple[bytes | None, ...]]:
        result = postgres.pgconn.exec_params(
            sql.encode(), list(parameters), oids or None, [into] * len(parameters) or None, code
        )
        if result.status not in (1, 2):
            raise LookupError(result.error_message.decode())
        return [
            tuple(result.get_value(row, column) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

    return ask
