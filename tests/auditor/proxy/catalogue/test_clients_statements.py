"""What clients ask a PostgreSQL is answered as PostgreSQL 15 answers it: names, types, rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from auditor.proxy.catalogue import Catalogue, CatalogueError
from auditor.proxy.values.writing import RowWriter

from . import oracle
from .statements import ADA, Statement, catalogue, statements

ALL = list(statements())
ANSWERED = [each for each in ALL if not oracle.matching(oracle.UNANSWERED, each)]


@pytest.fixture(scope="module")
def ours() -> Iterator[Catalogue]:
    made = catalogue()
    yield made
    made.close()


def _asked(ours: Catalogue, statement: Statement) -> oracle.Answer:
    oids = {table.name: table.oid for table in ours.tables(ADA)}
    sql, parameters = statement.on(oids)
    listing = ours.answer(sql, parameters, ADA)
    assert listing is not None, "it was not taken for a statement about the catalogue"
    # Each answer can be sent in the binary format too.
    RowWriter(listing.types, [1]).rows(listing.rows)
    return oracle.ours(listing, oids)


@pytest.mark.parametrize("statement", ANSWERED, ids=lambda each: each.name)
def test_a_client_gets_what_postgres_answered_when_it_was_recorded(
    ours: Catalogue, statement: Statement
) -> None:
    assert oracle.difference(statement, _asked(ours, statement), oracle.recorded()[statement.name]) == ""


@pytest.mark.slow
def test_a_client_gets_what_postgres_answers_now(ours: Catalogue) -> None:
    pytest.importorskip("psycopg", reason="psycopg asks the PostgreSQL that is compared with")
    with oracle.server() as server:
        found = {}
        for statement in ANSWERED:
            theirs = server.ask(statement)
            assert theirs is not None, statement.name
            found[statement.name] = oracle.difference(statement, _asked(ours, statement), theirs)
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize("statement", ANSWERED, ids=lambda each: each.name)
def test_a_statement_is_described_as_it_is_answered(ours: Catalogue, statement: Statement) -> None:
    oids = {table.name: table.oid for table in ours.tables(ADA)}
    sql, parameters = statement.on(oids)
    described = ours.describe(sql, [], ADA)
    listing = ours.answer(sql, parameters, ADA)
    assert described is not None
    assert listing is not None
    assert described.names == listing.names
    assert [each.type for each in described.types] == [each.type for each in listing.types]
    assert len(described.parameters) == len(parameters)


@pytest.mark.parametrize(
    "statement", [each for each in ALL if each not in ANSWERED], ids=lambda each: each.name
)
def test_what_cannot_be_answered_is_an_error_with_a_code(ours: Catalogue, statement: Statement) -> None:
    with pytest.raises(CatalogueError) as caught:
        _asked(ours, statement)
    assert caught.value.sqlstate == oracle.matching(oracle.UNANSWERED, statement)
