"""What the hash of an entry covers: the hash before it, its row and its answers, canonically. No I/O.

Promise: two different histories have different hashes. The canonical form is JSON with nothing left to
choice (ASCII, no spaces, fixed order), so no two rows share one; packed bytes enter by their own digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

Row = Mapping[Any, object]
"""A row by its column names."""

FORMAT = 4
"""Version of tables and canonical form of a new ledger."""

BINDING_FIELDS: Mapping[int, tuple[str, ...]] = {
    2: ("id", "format", "protect_digest", "fingerprint", "sizes", "scope", "protect", "created"),
    3: ("id", "format", "protect_digest", "fingerprint", "sizes", "scope", "protect", "created", "insiders"),
    4: (
        *(
            "id",
            "format",
            "protect_digest",
            "fingerprint",
            "sizes",
            "scope",
            "protect",
            "created",
            "insiders",
        ),
        "people",
    ),
}
"""What the first hash covers, by format; others are not opened. Format 2 knew no insiders, format 3 not
who is who (`people`)."""
ENTRY_FIELDS = (
    "number",
    "time",
    "user_name",
    "sql",
    "parameters",
    "normalised",
    "verdict",
    "code",
    "is_check",
    "risk_before",
    "risk_after",
    "leak",
    "answers",
)
ANSWER_FIELDS = ("statement", "position", "table_name", "column_name", "kind", "value")


def first_hash(binding: Row) -> bytes:
    """The hash that the first entry follows: that of what the ledger is bound to."""
    version = binding["format"]
    assert isinstance(version, int)
    return _digest([digested(binding[name]) for name in BINDING_FIELDS[version]])


def next_hash(before: bytes, row: Row, answers: Iterable[Row]) -> bytes:
    """The hash of an entry's row and its answers' rows, after the entry whose hash is `before`."""
    told = [
        [*(answer[name] for name in ANSWER_FIELDS), _part(answer["records"]), _part(answer["signs"])]
        for answer in answers
    ]
    return _digest([before.hex(), [row[name] for name in ENTRY_FIELDS], told])


def digested(value: object) -> object:
    """A value of a row as the chain has it: packed bytes by their digest, all else as it is."""
    return _part(value) if isinstance(value, bytes) else value


def _part(packed: object) -> str | None:
    return blake2b(packed, digest_size=32).hexdigest() if isinstance(packed, bytes) else None


def _digest(content: Sequence[object]) -> bytes:
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=32).digest()
