"""The owner's side of an attack: two who answer, a gate and plain DuckDB, and a judge who has the data.

Promise: the owner's ledger is never written, and read only where attacks are to start from what it holds;
each attack meets a gate with a ledger of its own. A claim counts as achieved if it is true and leaves fewer
neighbouring values than the policy's limit needs; of the total of n records, which must be one person's, n
times as many. The data file is copied from and let go.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from scipy.stats import binom

from auditor.attacks.attack import Attack
from auditor.attacks.target import Answerer, Claim, OutOfPatience, Reply, Scene, Tally, Target
from auditor.data.sources import Given, Source, source_of, wanted_of
from auditor.errors import DatabaseError, PolicyError, QueryRefused, QueryUnsupported
from auditor.gate.gate import Gate
from auditor.ledger.copying import copy_ledger
from auditor.parties.celling import with_values
from auditor.policy.policy import Policy, Protect
from auditor.sql.schema import Column, Table, folded, quoted
from cae_sql.domain import Domain, exact
from cae_sql.risk import Risk, risk_of

CHANCE = 1e-3
"""Guesses count where so many right ones would be rarer than this by chance."""
DECISIONS = 300
"""That one attack may cause: about a minute's on a table of thousands. Known answers cost none."""
SETTLED = ("known", "public")
"""Codes of answers that no decision was made for."""


@dataclass(frozen=True)
class Side:
    """What one attack came to against one who answers."""

    tally: Tally
    claims: tuple[Claim, ...]
    achieved: tuple[Claim, ...]
    """Those that are true and narrower than the policy's limit allows."""
    seconds: float
    finished: bool
    """Whether it ended before it had caused as many decisions as it may."""
    surprises: int = 0
    """Values that it made a surprise."""
    remarks: tuple[str, ...] = ()

    @property
    def located(self) -> int:
        """Records that it located."""
        return len({claim.where for claim in self.achieved})


@dataclass(frozen=True)
class Report:
    """One attack against one policy and its data."""

    attack: Attack
    column: str
    """The protected column that it was after, with its table."""
    reason: str | None
    """Why it could not be tried; then there are no sides."""
    gate: Side | None = None
    without: Side | None = None
    """The same attack on plain DuckDB."""
    error: Exception | None = None
    """What stopped it, where it failed: then there are no sides either."""


class Judge:
    """Has the data, in a private instance; answers whatever it is asked, and checks claims."""

    def __init__(self, database: Source, policy: Policy, protect: Protect, unit: str | None = None) -> None:
        """Copy the tables that the policy names.

        Args:
            database: The source.
            policy: The policy.
            protect: The section that attacks are after.
            unit: The column that names whose rows they are; None: the policy's.

        Raises:
            DatabaseError: they cannot be read.
        """
        self._policy, self._protect = policy, protect
        self._unit = protect.unit if unit is None else unit
        self._plain = duckdb.connect(":memory:", config={"temp_directory": ""})
        try:
            _copied(self._plain, database, policy)
        except DatabaseError:
            self._plain.close()
            raise
        except duckdb.Error as error:
            self._plain.close()
            text = str(error).splitlines()[0]
            raise DatabaseError(f"database {database.name}: cannot be read: {text}") from None
        self.table = _as_sql(protect.table)
        self._limit = policy.limits_of(protect).limit
        least = self._limit.least_run(protect.domain)
        if least is None:
            raise PolicyError("limit: even before any answer it is broken")
        self.least_run = least

    def close(self) -> None:
        """Let go of the copy."""
        self._plain.close()

    def scene(self) -> Scene:
        """What anybody may know."""
        protect = self._protect
        described = self._plain.execute(f"DESCRIBE {self.table}").fetchall()
        table = protect.name[0]
        hidden = {each.name[1] for each in self._policy.protects if each.name[0] == table}
        named = None if protect.public == "all" else {folded(name) for name in protect.public}
        public = tuple(
            Column(str(row[0]), str(row[1]))
            for row in described
            if folded(str(row[0])) not in hidden and (named is None or folded(str(row[0])) in named)
        )
        return Scene(
            table=self.table,
            column=next(str(row[0]) for row in described if folded(str(row[0])) == protect.name[1]),
            public=public,
            minimum=protect.minimum,
            maximum=protect.maximum,
            step=protect.step,
            resolution=protect.grid,
            least_run=self.least_run,
            unit=next((each.name for each in public if folded(each.name) == folded(self._unit or "")), None),
        )

    def answers(self, sql: str, user: str) -> Reply:
        """Everything: there is no gate."""
        del user
        try:
            return Reply("answered", self._plain.execute(sql).fetchall())
        except duckdb.Error as error:
            return Reply("unsupported", None, str(error))

    def achieved(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """Those that are true, and narrower than the limit allows; guesses only where they beat chance."""
        true = [claim for claim in claims if self._true_and_narrow(claim)]
        guesses = [claim for claim in claims if claim.guess]
        hits = sum(claim.guess for claim in true)
        # by chance the guesses would be right as often as they are for anybody
        chance = float(np.mean([self._share(claim) for claim in guesses])) if guesses else 0.0
        if hits and binom.sf(hits - 1, len(guesses), chance) > CHANCE:
            true = [claim for claim in true if not claim.guess]
        return tuple(true)

    def _breaks(self, claim: Claim) -> bool:
        """Whether values that are so likely break the limit, against others of these sums if that counts."""
        assert claim.likely is not None
        if claim.whole:
            return self._breaks_of_total(claim)
        mine = self._figures(claim.likely)
        if self._policy.intruder.baseline == "members" and claim.of_another is not None:
            base = self._figures(claim.of_another).area
            mine = replace(mine, risk=1 - mine.area / base if base else 1.0)
        return not self._limit.allows(mine)

    def _breaks_of_total(self, claim: Claim) -> bool:
        """The same of a total, always against others: that of many records is never uniform."""
        if self._records_of(claim) is None or claim.likely is None or claim.of_another is None:
            return False
        whole, every = Domain(0, len(claim.likely) - 1, 1), np.arange(len(claim.likely))
        mine, base = (risk_of(every, np.asarray(each), whole) for each in (claim.likely, claim.of_another))
        return not self._limit.allows(replace(mine, risk=1 - mine.area / base.area if base.area else 1.0))

    def _records_of(self, claim: Claim) -> tuple[int, Fraction] | None:
        """How many records a claim is about and their total; None where these are not one person's."""
        if self._unit is None:
            return None
        column, unit = quoted(self._protect.column), quoted(self._unit)
        counts = f"COUNT(*), SUM({column}), COUNT(DISTINCT {unit}), COUNT({unit})"
        sql = f"SELECT {counts} FROM {self.table} WHERE ({claim.where}) AND {column} IS NOT NULL"
        ((count, total, persons, named),) = self._plain.execute(sql).fetchall()
        return (count, exact(total)) if persons == 1 and named == count else None

    def _figures(self, likely: Sequence[float]) -> Risk:
        domain = self._protect.domain
        each = int(domain.step / self._protect.grid)
        rows = np.add.reduceat(np.asarray(likely), np.arange(0, len(likely), each))[: domain.count]
        values = [float(domain.minimum + place * domain.step) for place in range(domain.count)]
        return risk_of(values, rows, domain, self._limit.epsilon)

    def _share(self, claim: Claim) -> float:
        """How many of all records have a value in a claim's interval."""
        column = quoted(self._protect.column)
        inside = f"{column} BETWEEN {_decimal(claim.lower)} AND {_decimal(claim.upper)}"
        sql = f"SELECT AVG(({inside})::INTEGER) FROM {self.table} WHERE {column} IS NOT NULL"
        return float(self._plain.execute(sql).fetchall()[0][0])

    def _true_and_narrow(self, claim: Claim) -> bool:
        if claim.likely is not None:
            return self._breaks(claim)
        if claim.whole:
            found = self._records_of(claim)
            if found is None:
                return False
            count, total = found
            narrow = claim.upper - claim.lower < count * (self.least_run - 1) * self._protect.step
            return narrow and claim.lower <= total <= claim.upper
        column = quoted(self._protect.column)
        sql = f"SELECT {column} FROM {self.table} WHERE ({claim.where}) AND {column} IS NOT NULL"
        rows = self._plain.execute(sql).fetchall()
        if len(rows) != 1 or claim.upper < claim.lower:
            return False
        narrow = claim.upper - claim.lower < (self.least_run - 1) * self._protect.step
        return narrow and claim.lower <= exact(rows[0][0]) <= claim.upper


def run_attacks(
    database: Given,
    policy: Policy,
    attacks: Sequence[Attack],
    *,
    after_history: bool = False,
    decisions: int = DECISIONS,
    unit: str | None = None,
    progress: Callable[[Attack], None] = lambda _: None,
    came: Callable[[Report], None] = lambda _: None,
) -> list[Report]:
    """Run attacks against the gate and against plain DuckDB. One that fails is a report; the rest goes on.

    Args:
        database: The source; see `Gate.open`.
        policy: The policy; its ledger is left alone.
        attacks: Which, in this order.
        after_history: Start each from a copy of the owner's ledger, with its answers known to the intruder.
        decisions: That each attack may cause.
        unit: The column that names whose rows they are, where the policy does not say: what attacks by person
            achieve is then counted as if it did, though the gate protects rows.
        progress: Called as each begins.
        came: Called with what each came to, as it ends.

    Raises:
        AuditorError: as for `Gate.open`.
    """
    found, source = [], source_of(database)
    with_values(policy, policy.protects, source, "an attack's judge")
    for protect in policy.protects:
        judge = Judge(source, policy, protect, unit)
        try:
            with tempfile.TemporaryDirectory() as folder:
                arena = _Arena(source, policy, protect, judge, Path(folder), decisions, after_history)
                for attack in attacks:
                    progress(attack)
                    found.append(arena.report(attack))
                    came(found[-1])
        finally:
            judge.close()
    return found


class _Arena:
    """Where attacks meet the gate, each with a ledger of its own."""

    def __init__(
        self,
        database: Source,
        policy: Policy,
        protect: Protect,
        judge: Judge,
        folder: Path,
        decisions: int,
        history: bool,
    ) -> None:
        self._name, self._column = protect.name, f"{protect.table}.{protect.column}"
        self._database, self._judge, self._decisions = database, judge, decisions
        self._folder, self._count = folder, 0
        self._policy = policy.on_scratch
        self._history = folder / "history.ledger"
        if not (history and copy_ledger(policy.ledger_location(database.beside), self._history)):
            self._history = None  # type: ignore[assignment]
        self._scene = judge.scene()

    def report(self, attack: Attack) -> Report:
        """Both sides of one attack, or why there are none."""
        with self._gate() as gate:
            try:
                return self._both_sides(attack, gate)
            except Exception as error:  # noqa: BLE001 -- a mistake in one attack must not cost the others
                return Report(attack, self._column, None, error=error)

    def _both_sides(self, attack: Attack, gate: Gate) -> Report:
        target = Target(self._scene, *_asking(gate, self._policy))
        self._remembered(gate, target)
        reason = attack.applicable(target)
        if reason is not None:
            return Report(attack, self._column, reason)
        before = int(gate.history()["surprise"].sum())
        side = self._side(attack, target)
        side = replace(side, surprises=int(gate.history()["surprise"].sum()) - before)
        without = self._side(attack, Target(self._scene, self._judge.answers))
        return Report(attack, self._column, None, side, without)

    def _side(self, attack: Attack, target: Target) -> Side:
        start, finished = time.monotonic(), True
        target.patience = self._decisions
        try:
            claims = attack.run(target)
        except OutOfPatience:
            claims, finished = target.claims(), False
        achieved = self._judge.achieved(claims)
        return Side(
            target.tally,
            tuple(claims),
            achieved,
            time.monotonic() - start,
            finished,
            remarks=tuple(dict.fromkeys(target.remarks)),
        )

    @contextmanager
    def _gate(self) -> Iterator[Gate]:
        self._count += 1
        ledger = self._folder / f"{self._count}.ledger"
        if self._history is not None:
            copy_ledger(self._history, ledger)
        with Gate.open(self._database, self._policy, ledger) as gate:
            yield gate

    def _remembered(self, gate: Gate, target: Target) -> None:
        """Past answers are known to the intruder too; records are numbered alike, by their public columns."""
        for entry in gate._ledger.entries() if self._history is not None else ():
            for answer in entry.answers:
                if (
                    answer.asked not in ("sum", "max", "min")
                    or not answer.ends.exact
                    or answer.name != self._name
                ):
                    continue  # of ends no attack makes anything
                weights = np.zeros(target.size, dtype=np.int64)
                weights[answer.records] = 1 if answer.signs is None else answer.signs
                target.note(answer.asked, weights, Fraction(answer.value))


def _asking(gate: Gate, policy: Policy) -> tuple[Answerer, Answerer | None]:
    """The gate as an intruder sees it."""

    def answers(sql: str, user: str) -> Reply:
        try:
            answer = gate.execute(sql, user=user, dialect="duckdb")
            decided = answer.decision.code not in SETTLED
            rows = answer.fetchall()
            groups = len(rows) - len(answer.remainder)  # withheld ones together are none
            rows, rest = rows[:groups], rows[groups:]
            return Reply("answered", rows, answer.decision.message, answer.ranges, rest, decided=decided)
        except (QueryRefused, QueryUnsupported) as error:
            said = error.decision
            verdict = "refused" if said.verdict == "refused" else "unsupported"
            decided = verdict == "refused"
            return Reply(verdict, None, f"{said.code}: {said.message} {said.hint}", decided=decided)  # type: ignore[arg-type]

    def checks(sql: str, user: str) -> Reply:
        said = gate.check(sql, user=user, dialect="duckdb")
        decided = said.verdict != "unsupported" and said.code not in SETTLED
        words = f"{said.code}: {said.message} {said.hint}"
        return Reply(said.verdict, None, words, fates=said.fates, decided=decided)

    return answers, checks if policy.decision.mode == "simulatable" else None


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _as_sql(name: str) -> str:
    schema, table = Table(name, ()).path
    return quoted(table) if "." not in name else f"{quoted(schema)}.{quoted(table)}"


def _copied(connection: duckdb.DuckDBPyConnection, source: Source, policy: Policy) -> None:
    wanted = wanted_of(policy.protects, policy.tables.public, policy.tables.views)
    source.attach(connection, "source", wanted)
    for each in wanted.tables:
        schema, table = Table(each.table, ()).path
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        full = f"{quoted(schema)}.{quoted(table)}"
        connection.execute(f"CREATE TABLE {full} AS FROM source.{full}")
    connection.execute("DETACH source")
    connection.execute("SET enable_external_access = false")
