"""`python -m tests.auditor.proxy.protocol.fuzz --messages 100000 --seed 1`: damaged conversations and noise.

A stream is a few messages of the transcripts, shuffled, repeated and damaged, or plain noise; it arrives in
random pieces at a connection whose owner answers, and now and then fails. Held: nothing is raised, what is
answered is well-formed, what is held is bounded, and nothing is said after the end.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from auditor.proxy.protocol import TLS, Connection, Limits, Query, Transaction, events
from auditor.proxy.protocol.sqlstate import SHUTDOWN, ErrorFields
from tests.auditor.proxy.protocol import transcript
from tests.auditor.proxy.protocol.owner import Failure, Owner
from tests.auditor.proxy.protocol.wire import CLIENT, Reader, message

LIMITS = Limits(message=20_000, memory=30_000, statements=5, portals=3)
"""Small, so that a stream comes to them."""
LARGEST_CHUNK = 5_000
SETTINGS: tuple[TLS, ...] = ("none", "offered", "required")
LENGTHS = (b"\0\0\0\0", b"\0\0\0\4", b"\0\0\0\5", b"\0\0\x10\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff")


@dataclass
class Moody(Owner):
    """An owner that fails now and then, changes the transaction, and ends a connection once in a while."""

    rng: random.Random = field(default_factory=random.Random)

    def answer(self, connection: Connection, event: events.Event) -> None:
        mood = self.rng.random()
        if mood < 0.001:
            connection.fatal(SHUTDOWN)
            return
        if mood < 0.01 and not isinstance(event, events.Rejected) and connection.owner_turn:
            connection.set_transaction(self.rng.choice(list(Transaction)))
        super().answer(connection, event)

    def _answer(self, connection: Connection, event: events.Event) -> None:
        fails = isinstance(event, Query | events.BindPortal | events.ExecutePortal | events.Sync)
        if fails and self.rng.random() < 0.03:
            raise Failure(ErrorFields("XX000", "no\0 luck \ud800", "because", "try again", position=3))
        super()._answer(connection, event)


def started() -> list[bytes]:
    """The messages up to the first ReadyForQuery."""
    return [transcript.encoded(text) for direction, text in transcript.AUTHENTICATION if direction == "F"]


def sources() -> list[list[bytes]]:
    """The client's messages of every transcript, without their start; long conversations more often."""
    prefix, found = started(), []
    for path in sorted(transcript.FOLDER.glob("*.txt")):
        lines = transcript.load(path).lines
        sent = [transcript.encoded(text) for direction, text in lines if direction == "F"]
        if sent[: len(prefix)] == prefix:
            found += [sent[len(prefix) :]] * (1 + len(sent) // 5)
        else:
            found.append(sent)
    return [each for each in found if each]


class Streams:
    """Streams of messages, from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.sources, self.start = sources(), started()
        self.pool = [each for source in self.sources for each in source]

    def stream(self) -> list[bytes]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.1:
            return [rng.randbytes(rng.randrange(1, 200)) for _ in range(rng.randrange(1, 5))]
        start = list(self.start)
        if rng.random() < 0.1:
            start = [rng.choice(self.pool), *start] if rng.random() < 0.5 else self.damaged(start)
        if kind < 0.3:
            return start + [self.noise() for _ in range(rng.randrange(30))]
        body = []
        for _ in range(rng.randrange(1, 9)):
            body += [self.hoarding() for _ in range(9)] if rng.random() < 0.2 else rng.choice(self.sources)
        if kind < 0.4:
            rng.shuffle(body)
        return start + (body if rng.random() < 0.2 else self.damaged(body))

    def noise(self) -> bytes:
        """A right frame around noise."""
        rng = self.rng
        return message(rng.choice("QPBDECHSdcf"), rng.randbytes(rng.randrange(30)))

    def hoarding(self) -> bytes:
        """Statements and portals that stay, in a block, up to the limits."""
        rng = self.rng
        name, text = f"h{rng.randrange(9)}", "SELECT $1::text" + " " * rng.choice((0, 0, 5_000))
        value = b"v" * rng.choice((0, 0, 7_000))
        return rng.choice(
            [
                CLIENT["Query"]("BEGIN"),
                CLIENT["Parse"](name, text),
                CLIENT["Bind"](f"p{rng.randrange(9)}", name, [], [value]),
                CLIENT["Bind"]("", name, [], [value]),
                CLIENT["Sync"](),
                CLIENT["Close"](rng.choice("SP"), name),
            ]
        )

    def damaged(self, pieces: list[bytes]) -> list[bytes]:
        rng, out = self.rng, list(pieces)
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(out) + 1) if out else 0
            if at == len(out):
                out.append(rng.choice(self.pool))
                continue
            piece = bytearray(out[at])
            spot = rng.randrange(len(piece)) if piece else 0
            match rng.randrange(8):
                case 0 if piece:
                    piece[spot] = rng.randrange(256)
                case 1:
                    piece[spot:spot] = rng.randbytes(rng.randrange(1, 9))
                case 2:
                    del piece[spot : spot + rng.randrange(1, 9)]
                case 3:
                    out.insert(at, rng.choice(self.pool))
                    continue
                case 4:
                    piece[1:5] = rng.choice(
                        [b"\0\0\0\4", b"\xff\xff\xff\xff", b"\0\0\x10\0", rng.randbytes(4)]
                    )
                case 5 if len(piece) > 5:
                    # A body that is damaged while its frame is right.
                    spot = rng.randrange(5, len(piece))
                    piece = bytearray(message(chr(piece[0]), bytes(piece[5:spot]) + rng.randbytes(3)))
                case 6:
                    out[at : at + 1] = [out[at]] * rng.randrange(2, 20)
                    continue
                case _:
                    del out[at]
                    continue
            out[at] = bytes(piece)
        return out


@dataclass
class Outcome:
    """What became of the streams."""

    counts: Counter[str] = field(default_factory=Counter)
    held: int = 0
    """Bytes that a connection held at most, statements and portals included."""


def converse(pieces: Sequence[bytes], rng: random.Random, outcome: Outcome) -> Connection:
    """Send a stream through a connection and hold it to its promises.

    Raises:
        AssertionError: one of them is broken.
    """
    connection = Connection(tls=rng.choice(SETTINGS), limits=LIMITS)
    owner, reader = Moody(rng=rng), Reader()
    data, at, answered = b"".join(pieces), 0, 0
    if rng.random() < 0.9:
        connection.receive(CLIENT["SSLRequest"]())
    largest = rng.choice((1, 10, 100, LARGEST_CHUNK))
    while True:
        owner.serve(connection)
        said = list(reader.read(connection.data_to_send()))
        answered += len(said)
        held = len(connection._inbox) + connection.statements.size
        assert held <= LIMITS.message + 20 + LARGEST_CHUNK + LIMITS.memory
        outcome.held = max(outcome.held, held)
        if connection.owner_turn:
            connection.tls_established()
        elif at >= len(data) or connection.closed:
            break
        else:
            assert connection.wants_bytes, "it waits for bytes that it does not want"
            size = rng.randrange(1, largest + 1)
            connection.receive(data[at : at + size])
            at += size
    connection.receive_eof()
    owner.serve(connection)
    assert connection.closed
    ended = connection.data_to_send()
    list(reader.read(ended))
    connection.receive(data[:100])
    assert connection.next_event() is None
    assert connection.data_to_send() == b""
    for event in owner.seen:
        outcome.counts[type(event).__name__] += 1
        outcome.counts["errors"] += isinstance(event, events.Rejected)
    ends = list(accumulate(map(len, pieces)))
    outcome.counts["messages"] += bisect_right(ends, at)
    outcome.counts["answers"] += answered
    outcome.counts["closed"] += any(
        isinstance(event, events.Rejected) and event.error.severity == "FATAL" for event in owner.seen
    )
    return connection


def fuzz(messages: int, seed: int) -> Outcome:
    """Streams until so many messages have arrived; what comes after a connection's end does not count."""
    streams, outcome = Streams(seed), Outcome()
    while outcome.counts["messages"] < messages:
        converse(streams.stream(), streams.rng, outcome)
        outcome.counts["streams"] += 1
    return outcome


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    outcome = fuzz(wanted.messages, wanted.seed)
    seconds = time.perf_counter() - began
    for name, count in sorted(outcome.counts.items()):
        print(f"{name:22}{count:>12,}")
    print(f"{'messages per second':22}{outcome.counts['messages'] / seconds:>12,.0f}")
    print(f"{'held at most, bytes':22}{outcome.held:>12,}")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{'peak memory, KiB':22}{after:>12,} ({after - before:,} more than before)")


if __name__ == "__main__":
    main()
