"""What was judged, written to a file, so that it and nothing else is published.

Promise: whole or not at all; the records of a table are put into another order, which the seed decides and
which tells nothing to who does not have it; evaluating the file gives the figures of the release. A CSV holds
no text that a spreadsheet would run: values are not changed, such a table is for Parquet.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditorError
from auditor.evaluation.releases import Release
from auditor.plain import cell, line
from cae_sql.errors import InvalidInput
from cae_sql.releases.drawing import generator

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")


def secret_seed() -> int:
    """A seed that nobody guesses, small enough for a 64-bit number."""
    return secrets.randbits(63)


def check_suffix(path: Path) -> None:
    """Refuse other files before the work begins.

    Raises:
        InvalidInput: neither CSV nor Parquet.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"--save {path}: name a file that ends in .csv or .parquet")


def save(release: Release, seed: int, path: Path) -> None:
    """Write what is published.

    Args:
        release: One that was made here.
        seed: What it was made from.
        path: A file of `SUFFIXES`.

    Raises:
        InvalidInput: a release that is no table, or a CSV with text that a spreadsheet would run.
        AuditorError: a file that cannot be written.
    """
    table = release.published()
    if table is None:
        raise InvalidInput(f"{path}: not written: what is published are answers to queries, not a table")
    if path.suffix.lower() == ".csv":
        _refuse_formulas(table, path)
    if release.ordered:
        table = table.iloc[generator([seed, 1]).permutation(len(table))]
    beside = path.with_name(f".{path.name}.part")
    try:
        _write(table.reset_index(drop=True), beside, path.suffix.lower())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise AuditorError(f"{path}: cannot be written: {error.strerror or error}") from error


def _refuse_formulas(table: pd.DataFrame, path: Path) -> None:
    for name in table.columns:
        texts = (value for value in (name, *table[name].unique()) if isinstance(value, str))
        if any(cell(text) != text for text in texts):
            raise InvalidInput(
                f"{path}: not written: a text in column {line(str(name))} would be a formula or a control "
                "character to a spreadsheet; name a file that ends in .parquet"
            )


def _write(table: pd.DataFrame, path: Path, suffix: str) -> None:
    if suffix == ".csv":
        table.to_csv(path, index=False, lineterminator="\n")
    else:
        table.to_parquet(path, index=False)
