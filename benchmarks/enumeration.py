"""Whether the time that the proxy takes tells a user who exists from one who does not.

Run as `python -m benchmarks.enumeration`. Logins through a socket of `cae-sql serve`'s own server, each with
a wrong password, in random order: of a user who exists (twice as many, in two heaps) and of names that nobody
has. Two times are taken of each: until the challenge, which holds the salt, and from the proof until the
error. Told are medians and the rank test of Mann and Whitney: the share of pairs in which the unknown user
took longer, where one half means that there is nothing to tell. The two heaps of the known user, compared
alike, show what noise alone makes of it.
"""

from __future__ import annotations

import base64
import random
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import mannwhitneyu

from benchmarks._results import Line, options, write
from benchmarks.proxy import served
from benchmarks.repeated import build
from tests.auditor.proxy.protocol.wire import CLIENT, startup
from tests.auditor.proxy.raw import Raw

LOGINS = 4_000
SEED = 20130527


@dataclass(frozen=True)
class Row:
    """One comparison."""

    what: str
    of: str
    known: float
    unknown: float
    likelihood: float
    p: float


def login(port: int, user: str) -> tuple[float, float]:
    """Seconds until the challenge, and from the proof until the error."""
    with Raw(port) as client:
        begun = time.perf_counter()
        client.send(startup("3.0", {"user": user, "database": "staff"}))
        client.message()
        client.send(CLIENT["SASLInitialResponse"]("SCRAM-SHA-256", b"n,,n=,r=0123456789abcdef"))
        _, body = client.message()
        challenged = time.perf_counter()
        nonce = body.partition(b"r=")[2].partition(b",")[0]
        proof = base64.b64encode(bytes(32))
        begun_again = time.perf_counter()
        client.send(CLIENT["SASLResponse"](b"c=biws,r=" + nonce + b",p=" + proof))
        kind, body = client.message()
        ended = time.perf_counter()
        if kind != b"E" or b"28P01" not in body:
            raise RuntimeError("a login was not turned away")
    return challenged - begun, ended - begun_again


def compared(what: str, of: str, known: list[float], unknown: list[float]) -> Row:
    """Medians and the rank test."""
    found = mannwhitneyu(unknown, known)
    likelihood = float(found.statistic) / (len(known) * len(unknown))
    return Row(what, of, float(np.median(known)), float(np.median(unknown)), likelihood, float(found.pvalue))


def main(arguments: list[str] | None = None) -> None:
    parser = options("enumeration", __doc__)
    given = parser.parse_args(arguments)
    count = 100 if given.quick else LOGINS
    rng = random.Random(SEED)
    wanted = [*["known"] * count, *["known again"] * count, *["unknown"] * count]
    rng.shuffle(wanted)
    took: dict[str, list[tuple[float, float]]] = {each: [] for each in ("known", "known again", "unknown")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder / "staff.duckdb", 2_000, "lognormal")
        with served("gate", folder) as place:
            port = int(place[place.index("-p") + 1])
            for user in ("ana", "eve") * 20:  # what is asked first is not what is measured
                login(port, user)
            for each in track(wanted, "logging in", console=Console(stderr=True)):
                user = "ana" if each != "unknown" else rng.choice(["eve", "bob", "zoe"])
                took[each].append(login(port, user))
    rows = [
        compared(what, f"known, {other}", [t[n] for t in took["known"]], [t[n] for t in took[other]])
        for other in ("unknown", "known again")
        for n, what in enumerate(("until the challenge", "until the error"))
    ]
    table = Table(title=f"{count:,} logins of each kind, one after the other")
    for head in ("time", "of", "median", "median", "the second took longer", "p"):
        table.add_column(head, justify="left" if head in ("time", "of") else "right")
    for row in rows:
        table.add_row(row.what, row.of, f"{row.known * 1e6:.1f} µs", f"{row.unknown * 1e6:.1f} µs",
                      f"{row.likelihood:.3f}", f"{row.p:.3g}")  # fmt: skip
    Console().print(table)
    lines = [
        Line(f"unknown user, {row.what}", "–", f"{count:,} logins", row.unknown, "wrong password", row.known)
        for row in rows[:2]
    ]
    write(given.json, lines, [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
