"""Conversations as text files: `F:` what the frontend sends, `B:` what the backend answers.

A line is a direction and a message as a call: `F: Query("SELECT 1")`. F lines that follow each other are sent
at once. `=: TLS` says that the handshake is done, `=: end` that the client's bytes end, `B: closed` that the
connection is over. In the head, `# tls: offered` says how the server is set up (`none` if nothing is said),
and `# postgres: same` that PostgreSQL 15 answers the same bytes with the same messages.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from auditor.proxy.protocol import TLS, Connection
from tests.auditor.proxy.protocol.owner import Owner
from tests.auditor.proxy.protocol.wire import CLIENT, Reader

FOLDER = Path(__file__).parent / "transcripts"

AUTHENTICATION: list[tuple[str, str]] = [
    ("F", 'StartupMessage("3.0", {"user": "anna", "database": "staff"})'),
    ("B", "AuthenticationSASL('SCRAM-SHA-256')"),
    ("F", 'SASLInitialResponse("SCRAM-SHA-256", b"n,,n=,r=nonce")'),
    ("B", "AuthenticationSASLContinue(b'challenge')"),
    ("F", 'SASLResponse(b"c=biws,r=nonce,p=proof")'),
    ("B", "AuthenticationSASLFinal(b'verified')"),
    ("B", "AuthenticationOk()"),
    ("B", "ParameterStatus('server_version', '15.0')"),
    ("B", "BackendKeyData(17, 4)"),
    ("B", "ReadyForQuery('I')"),
]
"""What `=: start` stands for: everything up to the first ReadyForQuery."""


@dataclass(frozen=True)
class Transcript:
    """One conversation."""

    name: str
    tls: TLS
    postgres: bool
    lines: list[tuple[str, str]]
    """Direction and text."""


def load(path: Path) -> Transcript:
    head: dict[str, str] = {}
    lines: list[tuple[str, str]] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# ") and ":" in line:
            name, _, value = line[2:].partition(":")
            head[name] = value.strip()
        elif line and not line.startswith("#"):
            direction, _, text = line.partition(": ")
            assert direction in "FB=", line
            lines += AUTHENTICATION if (direction, text) == ("=", "start") else [(direction, text)]
    tls = head.get("tls", "none")
    assert tls in ("none", "offered", "required")
    return Transcript(path.stem, tls, head.get("postgres") == "same", lines)  # type: ignore[arg-type]


def encoded(text: str) -> bytes:
    """A client's message from its text."""
    name, _, inside = text.partition("(")
    return CLIENT[name](*ast.literal_eval(f"({inside.removesuffix(')')},)" if inside != ")" else "()"))


def steps(lines: list[tuple[str, str]]) -> Iterator[tuple[list[bytes], str, list[str]]]:
    """What is sent at once, what happens (`TLS`, `end` or nothing), and what is answered."""
    sent: list[bytes] = []
    happens = ""
    answers: list[str] = []
    for direction, text in lines:
        if direction != "B" and answers:
            yield sent, happens, answers
            sent, happens, answers = [], "", []
        if direction == "F":
            sent.append(encoded(text))
        elif direction == "=":
            if sent:
                yield sent, happens, answers
                sent, answers = [], []
            happens = text
        else:
            answers.append(text)
    yield sent, happens, answers


Chunks = Callable[[list[bytes]], list[bytes]]


def run(transcript: Transcript, chunks: Chunks) -> list[tuple[str, str]]:
    """The conversation as it goes with our connection."""
    connection, owner, reader = Connection(tls=transcript.tls), Owner(), Reader()
    said: list[tuple[str, str]] = []
    closed = False
    for sent, happens, _ in steps(transcript.lines):
        if happens == "TLS":
            connection.tls_established()
        elif happens == "end":
            connection.receive_eof()
        said += [("=", happens)] if happens else []
        said += [("F", repr(each)) for each in sent]
        for chunk in chunks(sent):
            connection.receive(chunk)
            owner.serve(connection)
        owner.serve(connection)
        said += [("B", text) for text in reader.read(connection.data_to_send())]
        if connection.closed and not closed:
            closed = True
            said.append(("B", "closed"))
    return said


def expected(transcript: Transcript) -> list[tuple[str, str]]:
    """The conversation as it is written."""
    return [
        (direction, repr(encoded(text)) if direction == "F" else text) for direction, text in transcript.lines
    ]
