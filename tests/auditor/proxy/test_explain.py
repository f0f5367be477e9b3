"""EXPLAIN through PostgreSQL's protocol: rows that say what would become of a statement, in both dialects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.auditor.proxy.serving import Running, opened, running_with

psycopg = pytest.importorskip("psycopg", reason="the client of these tests")

BY_SEX = "SELECT sex, avg(salary) FROM staff WHERE age > %s GROUP BY sex ORDER BY sex"


@pytest.fixture(scope="module", params=["postgres", "duckdb"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("explain")
    more = "[decision]\nchecks = 3\n[tables]\npublic = []\n"
    with (
        opened(folder, more, before=f'dialect = "{request.param}"\n') as gate,
        running_with(gate, folder, tls=False) as made,
    ):
        yield made


def test_it_returns_rows_takes_parameters_and_is_a_check_on_record(server: Running) -> None:
    with psycopg.connect(**(server.psycopg | {"autocommit": True})) as connection:
        found = connection.execute(f"EXPLAIN {BY_SEX}", (20,))
        assert [column.name for column in found.description or ()] == [
            "group", "aggregate", "fate", "reason", "left",
        ]  # fmt: skip
        assert [row[:3] for row in found.fetchall()] == [
            ("sex f", "avg(salary)", "exact"),
            ("sex m", "avg(salary)", "exact"),
        ]
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="takes no options"):
            connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) SELECT avg(salary) FROM staff")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="salary is protected"):
            connection.execute("EXPLAIN SELECT salary FROM staff")
        connection.execute("EXPLAIN SELECT avg(salary) FROM staff")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="used up"):
            connection.execute("EXPLAIN SELECT avg(salary) FROM staff")
        assert connection.execute("SELECT count(*) FROM staff").fetchone() == (60,)
    history = server.sources.gate.history()
    assert history["check"].tolist()[0]
    assert history["sql"][0].startswith("EXPLAIN SELECT sex")
