"""Takes envelopes off: a file of them becomes the lines of the log inside.

Promises that every message is given once, whole where it came in parts; what is in no envelope that is known,
a part that is missing, and what the file says that it left out are counted.
"""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from auditor.history.readers import envelopes
from auditor.history.readers.json_stream import objects
from auditor.history.readers.prefix import LEVEL, LONGEST, NO_TIME
from auditor.history.readers.source import Lines, lines
from auditor.history.readers.tally import Tally
from auditor.history.readers.times import parse_time

SAMPLE = 400
"""Lines that are looked at to find the envelope."""
WAITING = 2_000
"""Lines after which a message of syslog is whole, though nothing says so: its process is silent."""
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_NUMBERED = re.compile(r"\[(\d+)-(\d+)\] ?(.*)", re.DOTALL)
_ESCAPED = re.compile(r"#(0[0-3][0-7])")
_DEEPEST = 3
"""Envelopes within each other: of a cloud, of a container, of an operator."""


@dataclass
class Message:
    """What an envelope held."""

    number: int
    text: str
    time: str = ""
    process: str = ""
    detail: str = ""
    partial: bool = False
    stream: str = ""


def opener(head: str) -> Callable[[io.BufferedReader, str, Tally], Lines] | None:
    """How to take off the envelope that the start of a file shows; None where it shows none.

    Args:
        head: The start.
    """
    start = head.lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        return _of_json
    some = [line for line in head.splitlines()[:SAMPLE] if line.strip()]
    for name, pattern in envelopes.LINES.items():
        if sum(pattern.match(line) is not None for line in some) > len(some) // 2 or (
            name == "CloudWatch export" and some and pattern.match(some[0])
        ):
            return partial(_of_lines, name)
    return None


def sample(head: str, size: int = SAMPLE) -> str:
    """The first lines of the log inside the envelopes that a file starts with; "" where there are none."""
    from auditor.history.statement import Reading

    found = opener(head)
    if found is None:
        return ""
    # the start may end anywhere: what is counted here is not told
    stream = cast(io.BufferedReader, io.BufferedReader(io.BytesIO(head.encode("utf-8", "replace"))))
    inside = []
    for _, line in found(stream, "", Tally(Reading(), "")):
        inside.append(line)
        if len(inside) >= size:
            break
    return "\n".join(inside)


# --- objects


def _of_json(stream: io.BufferedReader, inside: str, tally: Tally) -> Lines:
    yield from _written(_joined(_messages(_values(stream, tally), tally)), inside)
    # an object that could be read is whole
    tally.unended = 0


def _values(stream: io.BufferedReader, tally: Tally) -> Iterator[tuple[int, object]]:
    start = stream.peek(1 << 16)[: 1 << 16].lstrip()
    if start.startswith(b"[") or start.split(b"\n", 1)[0].strip() == b"{":
        yield from objects(stream, tally)
        return
    for number, line in lines(stream, tally):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                tally.broken(number, "not JSON", len(line))


def _messages(values: Iterable[tuple[int, object]], tally: Tally) -> Iterator[Message]:
    for number, value in values:
        listed = (
            next((value[name] for name in envelopes.LISTS if isinstance(value.get(name), list)), None)
            if isinstance(value, Mapping)
            else None
        )
        if isinstance(value, Mapping) and isinstance(listed, list):
            if any(value.get(name) for name in envelopes.MORE):
                tally.lost(number, "page of an export that is not in the file")
            for each in listed:
                yield from _message(number, each, tally)
        else:
            yield from _message(number, value, tally)


def _message(
    number: int, value: object, tally: Tally, depth: int = 0, outer: Message | None = None
) -> Iterator[Message]:
    if not isinstance(value, Mapping):
        tally.broken(number, "not an object")
        return
    if (found := envelopes.record(value, outer.time if outer else "")) is not None:
        yield from _recorded(number, value, found, tally)
        return
    for envelope in envelopes.JSON:
        content = envelopes.at(value, envelope.message)
        if (
            isinstance(content, list)
            and content
            and all(isinstance(each, int) and 0 <= each < 256 for each in content)
        ):
            # journald writes what is not printable as bytes
            content = bytes(content).decode("utf-8", "replace")
        time = _moment(envelopes.at(value, envelope.time))
        if isinstance(content, Mapping) and depth < _DEEPEST:
            if (found := envelopes.record(content, time)) is not None:
                yield from _recorded(number, content, found, tally)
                return
            continue
        if not isinstance(content, str):
            continue
        process, detail = (envelopes.at(value, path) for path in (envelope.process, envelope.detail))
        message = Message(
            number, content, time, str(process or ""), detail if isinstance(detail, str) else ""
        )
        message.partial, message.stream = (
            envelope.parts and not content.endswith("\n"),
            str(value.get("stream", "")),
        )
        if content.lstrip().startswith("{") and depth < _DEEPEST and not message.partial:
            try:
                yield from _message(number, json.loads(content), tally, depth + 1, message)
                return
            except (ValueError, RecursionError):
                pass
        yield message
        return
    for name, ours in envelopes.OTHERS.items():
        if isinstance(value.get(name), str) and value[name] not in ours:
            tally.pass_over("message of another program")
            return
    tally.broken(number, "an object without a server's message")


def _recorded(
    number: int, given: Mapping[str, object], found: Mapping[str, object], tally: Tally
) -> Iterator[Message]:
    count = str(given.get("chunkCount", "1"))
    if count != "1":
        # the parts are entries of their own, in whatever order
        tally.lost(number, f"statement in parts, of which this is {given.get('chunkIndex')} of {count}")
    yield Message(number, json.dumps(found))


def _joined(messages: Iterable[Message]) -> Iterator[Message]:
    """Messages that came in parts, as one: of Docker, of the CRI."""
    held: dict[str, Message] = {}
    for message in messages:
        before = held.pop(message.stream, None)
        if before is not None and _begins(message.text):
            yield before
            before = None
        if before is not None:
            message.text, message.number = before.text + message.text, before.number
        if message.partial:
            held[message.stream] = message
        else:
            yield message
    yield from held.values()


def _begins(text: str) -> bool:
    """Whether a text begins as a message, or as a line that goes on with one, does."""
    level = LEVEL.search(text[:LONGEST])
    return text.startswith(("\t", '{"')) or (
        level is not None and _STAMP.search(text[: level.end()]) is not None
    )


def _written(messages: Iterable[Message], inside: str) -> Lines:
    """Their lines, with the time and the process before those that lack them."""
    for message in messages:
        for place, line in enumerate(message.text.removesuffix("\n").split("\n")):
            line = line.removesuffix("\r")
            if place and inside in ("", "stderr") and not _begins(line):
                line = "\t" + line.removeprefix("\t")
            yield message.number, _stamped(line, message.time, message.process)
        if message.detail:
            level = LEVEL.search(message.text[:LONGEST])
            before = message.text[: level.start("severity")] if level else ""
            text = message.detail.replace("\n", "\n\t")
            for line in f"{before}DETAIL:  {text}".split("\n"):
                yield message.number, _stamped(line, message.time, message.process)


def _stamped(line: str, time: str, process: str) -> str:
    if line.startswith(("\t", "{")) or (level := LEVEL.search(line[:LONGEST])) is None:
        return line
    if _STAMP.search(line[: level.start()]):
        return line
    begun = f"[{process}] " if process and not re.search(r"\[\d+\]", line[: level.start()]) else ""
    return f"{time or NO_TIME} {begun}{line}"


def _moment(value: object) -> str:
    """A time as a server's prefix may have it; "" for none."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    found, _ = parse_time(str(value))
    return (
        found.strftime("%Y-%m-%d %H:%M:%S.%f+00")
        if found is not None and found.utcoffset() is not None and not found.utcoffset()
        else (found.isoformat(" ") if found else "")
    )


# --- lines


def _of_lines(name: str, stream: io.BufferedReader, inside: str, tally: Tally) -> Lines:
    pattern, source = envelopes.LINES[name], lines(stream, tally)
    if name in envelopes.SYSLOG:
        yield from _Syslog(pattern, tally).lines(source)
        return
    yield from _written(_joined(_by_line(source, pattern, name, tally)), inside)


def _by_line(source: Lines, pattern: re.Pattern[str], name: str, tally: Tally) -> Iterator[Message]:
    for number, line in source:
        found = pattern.match(line)
        if found is None:
            if name == "CloudWatch export":
                # only the first line of an event has the time
                yield Message(number, line)
            elif line.strip():
                tally.broken(number, "line without its envelope", len(line))
            continue
        part = found.groupdict()
        text, time = part["text"] or "", _moment(part["time"])
        if text.lstrip().startswith("{"):
            try:
                yield from _message(number, json.loads(text), tally, 1, Message(number, text, time))
                continue
            except (ValueError, RecursionError):
                pass
        yield Message(number, text, time, partial=part.get("part") == "P", stream=part.get("stream") or "")


@dataclass
class _Held:
    """A message of syslog that may go on."""

    number: int
    serial: int
    part: int
    time: str
    process: str
    since: int
    lines: list[str] = field(default_factory=list)
    whole: bool = False


class _Syslog:
    """Messages of all processes, put together from their numbered lines, in the order in which they began."""

    def __init__(self, pattern: re.Pattern[str], tally: Tally) -> None:
        self._pattern, self._tally = pattern, tally
        self._waiting: deque[_Held] = deque()
        self._last: dict[tuple[str, str, str], _Held] = {}
        self._programs = {"postgres", "postgresql", "postmaster"}

    def lines(self, source: Lines) -> Lines:
        waiting = self._waiting
        for count, (number, line) in enumerate(source):
            found = self._pattern.match(line)
            if found is not None:
                self._take(number, count, found.groupdict())
            elif line.strip():
                self._tally.broken(number, "line without its envelope", len(line))
            while waiting and (waiting[0].whole or count - waiting[0].since > WAITING):
                yield from self._given(waiting.popleft())
        while waiting:
            yield from self._given(waiting.popleft())

    def _take(self, number: int, count: int, part: Mapping[str, str | None]) -> None:
        text = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), part["text"] or "")
        program, process = part["program"] or "", part["process"] or ""
        process = process if process.isdecimal() else ""
        numbered = _NUMBERED.fullmatch(text)
        serial, place, text = (int(numbered[1]), int(numbered[2]), numbered[3]) if numbered else (0, 0, text)
        if LEVEL.search(text[:LONGEST]):
            self._programs.add(program)
        elif program.split("-")[0] not in self._programs and program not in self._programs:
            self._tally.pass_over("message of another program")
            return
        key = (part["host"] or "", program, process or f"#{serial}")
        last = self._last.get(key)
        goes_on = last is not None and (last.serial == serial if numbered else not _is_new(text))
        if goes_on and last is not None:
            if numbered and place != last.part + 1:
                self._tally.lost(number, "line of syslog that is missing before another of its message")
            last.part, last.since = place, count
            _append(last.lines, text)
            return
        if (numbered and place != 1) or (not numbered and not _is_new(text)):
            self._tally.broken(number, "goes on with a message that is not there", len(text))
            return
        if last is not None:
            last.whole = True
            if numbered and process and serial > last.serial + 1:
                self._tally.lost(
                    number, "message of syslog that is missing by its number", serial - last.serial - 1
                )
        held = _Held(number, serial, place, _moment(part["time"]), process or "0", count)
        _append(held.lines, text)
        self._last[key] = held
        self._waiting.append(held)

    def _given(self, held: _Held) -> Lines:
        held.whole = True
        for line in held.lines:
            yield held.number, _stamped(line, held.time, held.process)


def _is_new(text: str) -> bool:
    level = LEVEL.search(text[:LONGEST])
    return (
        not text.startswith("\t")
        and level is not None
        and level["severity"]
        not in ("DETAIL", "HINT", "CONTEXT", "STATEMENT", "QUERY", "LOCATION", "BACKTRACE")
    )


def _append(held: list[str], text: str) -> None:
    """A line of syslog: a line's end and what follows, another field, or the rest of a long line."""
    for place, line in enumerate(text.split("\n")):
        if place or not held or line.startswith("\t") or LEVEL.search(line[:LONGEST]):
            held.append(
                line if not place or line.startswith("\t") or LEVEL.search(line[:LONGEST]) else "\t" + line
            )
        else:
            held[-1] += line
