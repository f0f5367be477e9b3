"""The anchor: id, length and head of a ledger, in a small file kept elsewhere.

Promise: the file is always whole (written beside, synced, then put in place) and never goes back. It follows
every commit before anything is released, so a ledger that is shorter than its anchor has lost something.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import Timeout

from auditor import private
from auditor.errors import LedgerError

PATIENCE = 30.0
"""Seconds to wait for another process that writes the anchor, which takes it milliseconds."""


@dataclass(frozen=True)
class Anchored:
    """What an anchor says."""

    id: str
    """Which ledger."""
    length: int
    """How many entries it had, at least."""
    head: str
    """Hex hash of the last of them."""


def read_anchor(path: Path) -> Anchored | None:
    """What the anchor says, or None where there is none yet."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = Anchored(content["id"], content["length"], content["head"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"anchor {path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LedgerError(f"anchor {path}: not an anchor; restore it from a copy") from error
    if not (type(found.length) is int and isinstance(found.id, str) and isinstance(found.head, str)):
        raise LedgerError(f"anchor {path}: not an anchor; restore it from a copy")
    return found


def write_anchor(path: Path, new: Anchored) -> None:
    """Move the anchor on to `new`; what is already further stays.

    Raises:
        LedgerError: it cannot be written, or belongs to another ledger.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        private.tighten(lock)
        with private.lock(lock, PATIENCE):
            old = read_anchor(path)
            if old is not None and old.id != new.id:
                raise LedgerError(f"anchor {path}: belongs to another ledger; give each ledger its own")
            if old is None or old.length < new.length:
                private.replace(path, json.dumps(asdict(new)) + "\n")
    except Timeout as error:
        raise LedgerError(f"anchor {path}: another process holds it, or its folder is missing") from error
    except OSError as error:
        raise LedgerError(f"anchor {path}: cannot be written: {error.strerror or error}") from error
