"""What the attacks on a ledger share: one half of a difference answered, then something done to the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auditor import Gate, Policy

from .arena import build, people, policy, verdict

ALL = "SELECT sum(salary) FROM staff"
REST = "SELECT sum(salary) FROM staff WHERE id <> 17"


class Place:
    """A table, a ledger, and an anchor elsewhere."""

    def __init__(self, folder: Path, anchored: bool) -> None:
        self.database = build(folder / "staff.duckdb", people(24, 22))
        self.ledger = folder / "staff.ledger"
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self.anchor = self.elsewhere / "staff.anchor"
        self.anchored = anchored

    @property
    def rules(self) -> Policy:
        anchor = f'anchor = "{self.anchor}"' if self.anchored else ""
        return policy(f'[ledger]\npath = "{self.ledger}"\n{anchor}')

    @contextmanager
    def gate(self) -> Iterator[Gate]:
        with Gate.open(self.database, self.rules) as gate:
            yield gate

    def asked(self, *statements: str) -> list[str]:
        """Verdicts, from a gate that is opened for them and closed again."""
        with self.gate() as gate:
            return [verdict(gate, sql).verdict for sql in statements]

    def remove(self) -> None:
        """The ledger and all that SQLite keeps beside it."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.ledger}{suffix}").unlink(missing_ok=True)
