"""A file from which an interrupted audit goes on: what was learned, and how far the log was read.

One zip: `state.json`, and the arrays in NumPy's format, without pickles. Promises that a file is either whole
or not there (it is written beside and moved), and that one of another policy, other data or other logs is
refused: what was learned there would be wrong here.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections import Counter
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from auditor import private
from auditor.errors import LogError
from auditor.history.facts import Fact
from auditor.history.findings import Cited, Moment
from auditor.history.parties import NOTED, Party, PartyColumn, Source, query_of
from auditor.history.replay import Replay
from auditor.history.statement import Logged
from cae_sql.inference.lookback.located_so_far import LocatedSoFar

VERSION = 2
DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
    RuntimeError,  # encrypted, packed in a way that is not offered, nested too deeply
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a file raises that is none of ours, wherever in it the fault is."""


def save(path: Path, replay: Replay, identity: str) -> None:
    """Keep what a replay has learned; what is there already is replaced."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    sources: dict[int, int] = {}
    held: list[Source] = []

    def number(source: Source) -> int:
        if id(source) not in sources:
            sources[id(source)] = len(held)
            held.append(source)
        return sources[id(source)]

    parties = [_party(party, number, arrays, place) for place, party in enumerate(_held(replay))]
    differences = [[number(source) for source in each.sources] for each in replay.differences]
    state = {
        "version": VERSION,
        "identity": identity,
        "position": replay.position,
        "statements": replay.statements,
        "failed": replay.failed,
        "spent": [replay.budget.spent, replay.budget.waited, replay.budget.worked],
        "times": {name.hex(): count for name, count in replay.times.items()},
        "lessons": {name.hex(): each for name, each in replay.lessons.items()},
        "examples": {kind: [_cited(each) for each in shown] for kind, shown in replay.examples.items()},
        "texts": {name.hex(): _logged(each) for name, each in replay.texts.items()},
        "parties": parties,
        "alone": replay.parties.only_user,
        "differences": differences,
        "sources": [_source(source, place, arrays) for place, source in enumerate(held)],
    }
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    private.create(beside)
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("state.json", json.dumps(state))
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        file.writestr("arrays.npz", content.getvalue())
    with open(beside, "rb+") as written:
        os.fsync(written.fileno())
    os.replace(beside, path)


def load(path: Path, replay: Replay, identity: str) -> bool:
    """Bring a replay to where another one was; False where there is no file.

    Raises:
        LogError: the file cannot be read, or is of another audit.
    """
    if not path.exists():
        return False
    try:
        with zipfile.ZipFile(path) as file:
            state = json.loads(file.read("state.json"))
            with np.load(io.BytesIO(file.read("arrays.npz")), allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            said = state.get("version"), state.get("identity")
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    if said != (VERSION, identity):
        raise LogError(
            f"checkpoint {path}: is of another policy, other data, other logs or other options; "
            "delete it, or name another file"
        )
    try:
        _restore(replay, state, arrays)
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    return True


def _unreadable(path: Path, error: Exception) -> LogError:
    """One line, whatever the file has made some library say."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return LogError(f"checkpoint {path}: cannot be read ({reason}); delete it to begin anew")


def _held(replay: Replay) -> list[Party]:
    return [replay.parties.everyone, *replay.parties.groups.values(), *replay.parties.users.values()]


def _party(party: Party, number: Any, arrays: dict[str, Any], place: int) -> dict[str, Any]:
    columns = []
    for position, part in enumerate(party.columns):
        name = f"p{place}_{position}_"
        for key, value in (
            *part.so_far.states.items(),
            *((k, getattr(part, k)) for k in NOTED),
        ):
            arrays[name + key] = value
        columns.append(
            {
                "answers": [number(source) for source in part.sources],
                "cited": [_cited(each) for each in part.cited],
                "counts": part.counts,
                "direct": {str(record): number(source) for record, source in part.direct.items()},
            }
        )
    return {
        "name": party.name,
        "users": list(party.users),
        "statements": party.statements,
        "seen": [name.hex() for name in party.seen],
        "timeline": [
            [m.statement, _time(m.time), m.answers, m.located, m.exact, m.open, m.risk]
            for m in party.timeline
        ],
        "columns": columns,
    }


def _restore(replay: Replay, state: dict[str, Any], arrays: dict[str, Any]) -> None:
    replay.position, replay.statements, replay.failed = (
        state["position"],
        state["statements"],
        state["failed"],
    )
    budget = replay.budget
    budget.spent, budget.waited, budget.worked = state.get("spent", (0, 0.0, 0.0))
    replay.times = Counter({bytes.fromhex(name): count for name, count in state["times"].items()})
    replay.lessons = {
        bytes.fromhex(name): (kind, tuple((a, b) for a, b in unmodelled), shows)
        for name, (kind, unmodelled, shows) in state["lessons"].items()
    }
    replay.examples = {
        kind: [_cited_again(each) for each in shown] for kind, shown in state["examples"].items()
    }
    for name, each in state["texts"].items():
        replay.texts[bytes.fromhex(name)] = _logged_again(each)
    sources = [_source_again(each, place, arrays) for place, each in enumerate(state["sources"])]
    for pairs, numbers in zip(replay.differences, state["differences"], strict=True):
        for number in numbers:
            pairs.add(sources[number])
    replay.parties.begin_again(state["alone"], [each["name"] for each in state["parties"]])
    for place, (party, kept) in enumerate(zip(_held(replay), state["parties"], strict=True)):
        party.users = dict.fromkeys(kept["users"])
        party.statements = kept["statements"]
        party.seen = {bytes.fromhex(name) for name in kept["seen"]}
        party.timeline = [Moment(m[0], _time_again(m[1]), party.name, *m[2:]) for m in kept["timeline"]]
        for position, (part, column) in enumerate(zip(party.columns, kept["columns"], strict=True)):
            _column_again(part, column, sources, arrays, f"p{place}_{position}_")


def _column_again(
    part: PartyColumn, kept: dict[str, Any], sources: list[Source], arrays: dict[str, Any], name: str
) -> None:
    part.sources = [sources[number] for number in kept["answers"]]
    part.cited = [_cited_again(each) for each in kept["cited"]]
    part.counts = kept["counts"]
    part.direct = {int(record): sources[number] for record, number in kept["direct"].items()}
    for key in NOTED:
        setattr(part, key, arrays[name + key])
    before = part.so_far
    states = {key: arrays[name + key] for key in before.states}
    queries = [query_of(source.fact) for source in part.sources]
    part.so_far = LocatedSoFar.again(before.truth, before.top, before.standard, queries, states)


def _source(source: Source, place: int, arrays: dict[str, Any]) -> list[Any]:
    fact = source.fact
    arrays[f"s{place}_r"] = fact.records.astype(np.int32)
    if fact.coefficients is not None:
        arrays[f"s{place}_c"] = fact.coefficients
    factor = None if fact.factor is None else str(fact.factor)
    return [_cited(source.cited), fact.column, fact.kind, list(fact.place), factor, fact.digits, source.sql]


def _source_again(kept: list[Any], place: int, arrays: dict[str, Any]) -> Source:
    said, column, kind, where, factor, digits, sql = kept
    fact = Fact(
        column,
        kind,
        arrays[f"s{place}_r"].astype(np.int64),
        arrays.get(f"s{place}_c"),
        (where[0], where[1], where[2]),
        None if factor is None else Fraction(factor),
        digits,
    )
    return Source(_cited_again(said), fact, sql)


def _cited(each: Cited) -> list[Any]:
    return [each.number, _time(each.time), each.user, each.sql, each.source]


def _cited_again(kept: list[Any]) -> Cited:
    return Cited(kept[0], _time_again(kept[1]), kept[2], kept[3], kept[4])


def _logged(each: Logged) -> list[Any]:
    parameters = None if each.parameters is None else list(each.parameters)
    return [
        each.number,
        each.sql,
        parameters,
        each.user,
        _time(each.time),
        each.dialect,
        each.zone,
        each.source,
    ]


def _logged_again(kept: list[Any]) -> Logged:
    number, sql, parameters, user, when, dialect, zone, source = kept
    return Logged(
        number, sql, None if parameters is None else tuple(parameters), user, _time_again(when),
        dialect=dialect, zone=zone, source=source,
    )  # fmt: skip


def _time(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _time_again(kept: str | None) -> datetime | None:
    return None if kept is None else datetime.fromisoformat(kept)
