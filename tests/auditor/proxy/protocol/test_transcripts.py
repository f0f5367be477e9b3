"""The usual conversations, and some unusual ones, go as they are written, however their bytes arrive."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from tests.auditor.proxy import postgres_server
from tests.auditor.proxy.protocol import transcript
from tests.auditor.proxy.protocol.transcript import Chunks, Transcript
from tests.auditor.proxy.protocol.wire import Reader, startup

TRANSCRIPTS = {path.stem: transcript.load(path) for path in sorted(transcript.FOLDER.glob("*.txt"))}
SAME = [name for name, each in TRANSCRIPTS.items() if each.postgres]

CHUNKS: dict[str, Chunks] = {
    "at once": lambda sent: [b"".join(sent)],
    "one by one": lambda sent: sent,
    "byte by byte": lambda sent: [bytes([byte]) for each in sent for byte in each],
    "in threes": lambda sent: [b"".join(sent)[at : at + 3] for at in range(0, sum(map(len, sent)), 3)],
}


@pytest.mark.parametrize("how", CHUNKS)
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_conversation_goes_as_it_is_written(name: str, how: str) -> None:
    each = TRANSCRIPTS[name]
    assert transcript.run(each, CHUNKS[how]) == transcript.expected(each)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The socket of a PostgreSQL server."""
    with postgres_server.running() as connects:
        yield f"{connects['host']}/.s.PGSQL.5432"


def asked(path: str, each: Transcript) -> list[str]:
    """What a PostgreSQL server answers; its start goes without a password."""
    lines = each.lines
    started = lines[: len(transcript.AUTHENTICATION)] == transcript.AUTHENTICATION
    if started:
        lines = lines[len(transcript.AUTHENTICATION) :]
    said: list[str] = []
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(path)
        talk.settimeout(60)
        reader = Reader()
        if started:
            talk.sendall(startup("3.0", {"user": "postgres", "database": "postgres"}))
            answer = _until(talk, lambda data: b"Z\0\0\0\5" in data)
            list(reader.read(answer))
        for sent, _, answers in transcript.steps(lines):
            talk.sendall(b"".join(sent))
            wanted = len(answers)
            data = _until(talk, lambda data, wanted=wanted: _count(data, reader.startup) >= wanted)
            said += reader.read(data)
            if answers and answers[-1] == "closed" and talk.recv(1) == b"":
                said.append("closed")
    return said


def _until(talk: socket.socket, enough: object) -> bytes:
    data = b""
    deadline = time.monotonic() + 60
    assert callable(enough)
    while not enough(data) and time.monotonic() < deadline:
        try:
            more = talk.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            break
        data += more
    return data


def _count(data: bytes, beginning: bool) -> int:
    """How many whole messages these are."""
    count = 0
    while beginning and data[:1] in (b"N", b"S"):
        count, data = count + 1, data[1:]
    while len(data) >= 5 and len(data) > (length := struct.unpack_from("!I", data, 1)[0]):
        count, data = count + 1, data[length + 1 :]
    return count


@pytest.mark.parametrize("name", SAME)
def test_postgresql_answers_the_same(server: str, name: str) -> None:
    each = TRANSCRIPTS[name]
    lines = each.lines
    if lines[: len(transcript.AUTHENTICATION)] == transcript.AUTHENTICATION:
        lines = lines[len(transcript.AUTHENTICATION) :]
    assert asked(server, each) == [text for direction, text in lines if direction == "B"]
