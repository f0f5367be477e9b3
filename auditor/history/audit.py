"""The façade: a log, a policy and the database as it is now become findings.

What was answered was answered, whatever a gate would have said of it. Answers are computed again over the
data as they are now: where the data have changed since, so may have the answers, and the findings are about
the present values.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from auditor.data.database import Database, Limits
from auditor.data.sources import Given, source_of
from auditor.errors import LogError
from auditor.history import checkpoint as checkpoints
from auditor.history.beside import Beside
from auditor.history.findings import (
    ClassRisk,
    Finding,
    Findings,
    GateView,
    MadeLikely,
    PartyFindings,
    TotalFinding,
)
from auditor.history.gateview import view_of
from auditor.history.likely import STEPS as LIKELY_STEPS
from auditor.history.likely import prepare
from auditor.history.outcome import Table, findings_of, for_party, party_findings
from auditor.history.parties import EVERYONE, Party
from auditor.history.replay import Replay
from auditor.history.risks import curve
from auditor.history.statement import Logged, Reading
from auditor.history.totals import STEPS as TOTALS_STEPS
from auditor.history.totals import TotalsFound, totals_of
from auditor.parties.celling import with_values
from auditor.parties.party import Knowledge
from auditor.policy.policy import Policy
from auditor.sql.time_zones import session_zone
from cae_sql.inference.allowance import Allowance
from cae_sql.inference.lookback.look import STEPS
from cae_sql.threads import alone

Log = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Iterable[Logged]
LIMITS = Limits(seconds=120.0, rows=20_000_000, bytes=2 << 30)
"""What one statement of a log may take when it is run again."""
GRACE, GRACE_STEPS = 20.0, 5 * 10**8
"""Seconds for certificates after somebody has stopped the replay, and steps for a last look at everybody;
records without a certificate are counted."""
SAVE_EVERY, TELL_EVERY = 60.0, 0.2
"""Seconds between two checkpoints, and between two notes of progress."""


@dataclass(frozen=True)
class Progress:
    """How far an audit is."""

    statements: int
    answers: int
    """Independent ones that everyone together knows."""
    located: int
    bytes_read: int
    bytes_in_all: int
    """0 where it is not known."""


def audit(
    database: Given,
    policy: Policy | str | os.PathLike[str],
    log: Log,
    *,
    format: str = "auto",
    columns: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    dialect: str | None = None,
    timezone: str = "UTC",
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    stop: Callable[[], bool] | None = None,
    gate_seconds: float = 60.0,
    effort: float = 1.0,
) -> Findings:
    """Find out what a query log has given away, to whom, and which statements prove it.

    The policy's insiders are not considered: findings are what answers alone prove. With insiders = 1 a
    colleague who knows her own value may locate others who are not found here.

    Args:
        database: The source, as it is now (see `Gate.open`); it is copied from and let go.
        policy: A policy, or the path of one: what is protected, and from when on somebody is located.
        log: A path, several paths, or statements.
        format: Of the paths; see `auditor.history.readers`.
        columns: Of tables, which column holds what, where it has another name.
        groups: Users who tell each other everything, by name.
        dialect: Whose SQL it is where the log does not say; by default as the policy says.
        timezone: In which a session reckons until its log says otherwise (SET TIME ZONE).
        progress: Called now and then, and at the end.
        checkpoint: A file that is written every minute and when the audit is stopped, and gone on from where
            it is there already; removed when the audit is complete.
        stop: Asked between statements; once it says yes the findings so far are returned, marked `partial`.
            So is Ctrl-C.
        gate_seconds: For asking a gate what it would have done; 0: it is not asked.
        effort: How many times as much as by default all costly statements together may cost; those that would
            cost more are not read, and counted as "not understood: too costly".

    Raises:
        PolicyError, DatabaseError: as `Gate.open`.
        LogError: a log that cannot be read, a checkpoint of another audit, or an unknown time zone.
    """
    rules = policy if isinstance(policy, Policy) else Policy.load(Path(policy))
    try:
        timezone = session_zone(timezone).name
    except KeyError:
        raise LogError(
            f"{timezone} is no time zone that is known here: write one such as Europe/Berlin"
        ) from None
    began = time.monotonic()
    protects = sorted(rules.protects, key=lambda each: each.name)
    source = source_of(database)
    cells = with_values(rules, protects, source, "an audit")
    tables = rules.tables
    opened = Database.open(source, protects, public_tables=tables.public, views=tables.views, cells=cells)
    beside = Beside(source, rules, dialect or rules.dialect, gate_seconds)
    # matrices are small and many: with other work on the machine threads would wait for each other
    with opened as data, alone(), beside:
        data.limits = LIMITS
        audit = _Audit(rules, data, beside, groups or {}, dialect or rules.dialect, effort)
        reading = Reading()
        paths = _paths(log)
        how: list[object] = [format, sorted((columns or {}).items()), effort, timezone]
        identity = _identity(rules, data, paths, groups or {}, audit.dialect, how)
        if checkpoint is not None:
            checkpoints.load(Path(checkpoint), audit.replay, identity)
        statements = _statements(log, paths, format, columns, reading)
        statements = (each if each.zone else replace(each, zone=timezone) for each in statements)
        partial = audit.run(statements, reading, progress, checkpoint, identity, stop)
        if partial and checkpoint is not None:
            checkpoints.save(Path(checkpoint), audit.replay, identity)
        found = audit.findings(reading, partial, gate_seconds > 0, stop, began)
    if checkpoint is not None and not found.partial:
        Path(checkpoint).unlink(missing_ok=True)
    return found


class _Audit:
    """One audit at work."""

    def __init__(
        self,
        policy: Policy,
        database: Database,
        beside: Beside,
        groups: Mapping[str, Sequence[str]],
        dialect: str,
        effort: float = 1.0,
    ) -> None:
        self._policy, self._database, self._beside = policy, database, beside
        self.dialect = dialect
        knowledge = Knowledge(policy, database)
        self._tables = [
            _table(database, known, place, column.protect.key)
            for place, (known, column) in enumerate(
                zip(knowledge.known_columns, knowledge.columns, strict=True)
            )
        ]
        self.columns = knowledge.columns
        self.replay = Replay(
            database, knowledge.columns, groups, [each.codes for each in self._tables], dialect, effort
        )

    def run(
        self,
        statements: Iterator[Logged],
        reading: Reading,
        progress: Callable[[Progress], None] | None,
        checkpoint: str | os.PathLike[str] | None,
        identity: str,
        stop: Callable[[], bool] | None,
    ) -> str:
        """Replay all statements; why it ended before, "" where it did not."""
        replay, passed = self.replay, self.replay.position
        saved = told = time.monotonic()
        for logged in replay.texts.values():
            self._beside.ask(logged)
        try:
            for logged in statements:
                if stop is not None and stop():
                    return self._stopped(reading)
                if logged.number <= passed:
                    continue
                if replay.take(logged):
                    self._beside.ask(logged)
                now = time.monotonic()
                if progress is not None and now - told > TELL_EVERY:
                    progress(self._progress(reading))
                    told = now
                if checkpoint is not None and now - saved > SAVE_EVERY:
                    checkpoints.save(Path(checkpoint), replay, identity)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            return self._stopped(reading)
        if progress is not None:
            progress(self._progress(reading))
        return ""

    def _stopped(self, reading: Reading) -> str:
        replay = self.replay
        share = (
            f" ({reading.bytes_read / reading.bytes_in_all:.0%} of the log)" if reading.bytes_in_all else ""
        )
        return f"stopped after statement {replay.position}{share}: what came later is not in these findings"

    def _progress(self, reading: Reading) -> Progress:
        parts = self.replay.parties.everyone.columns
        return Progress(
            self.replay.statements,
            sum(len(part.so_far.answers) for part in parts),
            sum(int(part.located.sum()) for part in parts),
            reading.bytes_read,
            reading.bytes_in_all,
        )

    # --- at the end

    def findings(
        self,
        reading: Reading,
        partial: str,
        gate: bool,
        stop: Callable[[], bool] | None,
        began: float,
    ) -> Findings:
        """What was found; `gate`: whether one is asked what it would have done."""
        replay, asked = self.replay, self._until(stop, partial)
        for party in replay.parties.distinct:
            party.finish(GRACE_STEPS if partial else STEPS)
        there = replay.parties.all()
        found, parties, classes, likely, lacking = self._proved(there, asked)
        totals, unproved = self._totals(there, parties, asked)
        # what is made likely has its own time, and last of all a gate that must be asked here
        parties[0] = replace(parties[0], gate=self._gate(asked) if gate else None)
        column = self.columns[0]
        domain = column.protect.domain
        values = [float(domain.minimum) + float(domain.step) * place for place in range(domain.count)]
        return Findings(
            findings=tuple(found),
            parties=tuple(parties),
            timeline=tuple(moment for party in there for moment in party.timeline),
            classes=tuple(sorted(classes, key=lambda each: -each.risk)),
            prior_curve=curve(_array(values), _array([1.0 / len(values)] * len(values))),
            prior_width=float(domain.maximum) - float(domain.minimum),
            unmodelled=tuple(replay.unmodelled()),
            kinds=replay.kinds(),
            reading=_reading(reading, replay.statements),
            policy=_policy_text(self._policy),
            policy_digest=self._policy.protect_digest,
            fingerprint=self._database.fingerprint,
            likely=tuple(likely),
            totals=tuple(totals),
            unit=", ".join(dict.fromkeys(each.protect.unit for each in self.columns if each.protect.unit)),
            partial="; ".join(filter(None, (partial, lacking, unproved))),
            seconds=time.monotonic() - began,
        )

    def _gate(self, asked: Callable[[], bool]) -> GateView | None:
        replay = self.replay
        statements = [(logged, replay.times[name]) for name, logged in replay.texts.items()]
        with suppress(KeyboardInterrupt):
            return view_of(self._beside.found(asked), statements)
        return None

    def _proved(
        self, there: Sequence[Party], stop: Callable[[], bool]
    ) -> tuple[list[Finding], list[PartyFindings], list[ClassRisk], list[MadeLikely], str]:
        """What is found of parties, everyone first, and of whom no certificate was found."""
        found: list[Finding] = []
        parties: list[PartyFindings] = []
        classes: list[ClassRisk] = []
        likely: list[MadeLikely] = []
        by_party: dict[str, list[Finding]] = {}
        lacking = ""
        by_place = []
        for party in there:
            own, without = self._of(party, by_party, stop)
            if without and not lacking:
                lacking = f"no certificate was found for {without} located records of {party.name}"
            found += own
            by_place.append(own)
        prepare()
        baseline, allowance = self._policy.intruder.baseline, Allowance(LIKELY_STEPS)
        for party, own in zip(there, by_place, strict=True):
            summary, risks, beyond = party_findings(party, self._tables, own, baseline, allowance)
            likely += beyond
            parties.append(summary)
            classes += risks
        return found, parties, classes, likely, lacking

    def _totals(
        self, there: Sequence[Party], parties: list[PartyFindings], stop: Callable[[], bool]
    ) -> tuple[list[TotalFinding], str]:
        """The located totals of units, and what is lacking; their numbers are added to the parties'."""
        everyone, allowance = self.replay.parties.everyone, Allowance(TOTALS_STEPS)
        kept, lacking = list[TotalFinding](), ""
        by_party: dict[str, TotalsFound] = {}
        for place, party in enumerate(there):
            same = party.name == f"user {self.replay.parties.only_user}"
            if not same:
                pairs = self.replay.differences if party is everyone else [None] * len(self.columns)
                try:
                    found = totals_of(party, self._tables, pairs, allowance, stop)
                except KeyboardInterrupt:
                    found, lacking = TotalsFound(), f"the totals of {party.name} were not all looked at"
                without, by_party[party.name] = found.located - len(found.findings), found
                if without and not lacking:
                    lacking = f"no certificate was found for {without} located totals of {party.name}"
            found = by_party[EVERYONE if same else party.name]
            kept += for_party(found.findings, party.name)
            parties[place] = replace(parties[place], totals=found.located, totals_open=found.open)
        return kept, lacking

    @staticmethod
    def _until(stop: Callable[[], bool] | None, partial: str) -> Callable[[], bool]:
        """When to end: as asked; whoever has stopped the replay waits a little for proofs."""
        if partial:
            end = time.monotonic() + GRACE
            return lambda: time.monotonic() > end
        return stop if stop is not None else (lambda: False)

    def _of(
        self, party: Party, by_party: dict[str, list[Finding]], stop: Callable[[], bool]
    ) -> tuple[list[Finding], int]:
        everyone = self.replay.parties.everyone
        alone = self.replay.parties.only_user
        if alone is not None and party.name == f"user {alone}":
            return for_party(by_party[EVERYONE], party.name), 0
        differences = self.replay.differences if party is everyone else [None] * len(self.columns)
        try:
            own, without = findings_of(party, self._tables, differences, stop)
        except KeyboardInterrupt:
            own, without = [], sum(int(part.located.sum()) for part in party.columns)
        by_party[party.name] = own
        return own, without


def _array(values: list[float]) -> Any:
    import numpy as np

    return np.array(values)


def _table(database: Database, known: Sequence[str], place: int, key: str | None) -> Table:
    codes, shared = database.classes(known, protected=place)
    texts = shared.astype(str).to_dict("records")
    names = [{str(name): str(value) for name, value in row.items()} for row in texts]
    keys: list[str] = []
    if key is not None:
        numbers, values = database.classes([key], protected=place)
        listed = values.iloc[:, 0].astype(str).tolist()
        keys = [listed[number] for number in numbers.tolist()]
    return Table(keys, codes, names or [{}])


def _paths(log: Log) -> list[Path] | None:
    """The files of a log; None where it is statements."""
    if isinstance(log, str | os.PathLike):
        return [Path(log)]
    if isinstance(log, Sequence) and log and all(isinstance(each, str | os.PathLike) for each in log):
        return [Path(each) for each in log]
    return None


def _statements(
    log: Log, paths: list[Path] | None, format: str, columns: Mapping[str, str] | None, reading: Reading
) -> Iterator[Logged]:
    if paths is None:
        return iter(log)  # type: ignore[arg-type]
    from auditor.history.readers import read

    return read(paths, format, columns, reading)


def _identity(
    policy: Policy,
    database: Database,
    paths: list[Path] | None,
    groups: Mapping[str, Sequence[str]],
    dialect: str,
    reading: list[object],
) -> str:
    """Digest of all that what was learned hangs on."""
    logs = (
        None
        if paths is None
        else [[str(path), path.stat().st_size if path.is_file() else 0] for path in paths]
    )
    said = [
        _policy_text(policy),
        database.fingerprint,
        logs,
        reading,
        {name: sorted(users) for name, users in sorted(groups.items())},
        dialect,
    ]
    return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


def _policy_text(policy: Policy) -> str:
    return policy.model_dump_json(indent=1)


def _reading(reading: Reading, statements: int) -> dict[str, object]:
    return {
        "files": dict(reading.formats),
        "entries": reading.entries or statements,
        "statements": reading.statements or statements,
        "passed_over": dict(reading.passed_over),
        "broken": dict(reading.broken),
        "unread_bytes": reading.unread_bytes,
        "lost": dict(reading.lost),
        "odd": dict(reading.odd),
        "examples": list(reading.examples),
        "first": None if reading.earliest is None else reading.earliest.isoformat(),
        "last": None if reading.latest is None else reading.latest.isoformat(),
    }
