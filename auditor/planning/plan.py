"""The façade: a list of statements and a policy become runs, and what follows from them.

    1. as written, under the policy's own limit and under each other one, with 0 and 1 insiders
    2. in other orders, and as written without one statement at a time, under the policy's own limit
    3. in the best order so far, with the statements moved to its end that take more than they give

Promise: the first run says how many statements the others are about. What time did not suffice for is said:
statements, runs, and those of which it is not known what they cost. Statements that taught nothing, or after
which all is told exactly, cost nothing, and are not left out.
"""

from __future__ import annotations

import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path

from auditor.data.sources import Given, source_of
from auditor.errors import AuditorError, OwnerWarning, PolicyError
from auditor.gate.gate import Gate
from auditor.planning.orders import ORDERS, Numbers, costly_last
from auditor.planning.players import Played, Players, Run
from auditor.planning.playing import Outcome
from auditor.planning.statements import Listed, Statement, listed
from auditor.policy.policy import Dialect, Policy
from cae_sql.warming import warm

RISKS = (0.4, 0.5, 0.6, 0.7, 0.8)
INSIDERS = (0, 1)
SECONDS = 900.0
ROUNDS = 3
"""For how many further runs of each process the runs as written leave time."""


@dataclass(frozen=True)
class Setting:
    """Under which limit, and in which order."""

    risk: float | None
    """None: the limits that the policy states, which are several."""
    insiders: int
    order: str = "written"
    """One of `ORDERS`, or "costly last"."""
    own: bool = False
    """Whether the limit and the insiders are the policy's."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a run came to."""

    setting: Setting
    numbers: Numbers
    """Of the statements, as they were asked."""
    outcomes: Mapping[int, Outcome]
    """By number."""
    seconds: float
    error: str = ""

    @property
    def cut(self) -> int | None:
        """After how many statements its time was over; None where it was not."""
        return len(self.outcomes) if len(self.outcomes) < len(self.numbers) else None

    @cached_property
    def exact(self) -> int:
        """Groups told exactly."""
        return sum(each.exact for each in self.outcomes.values())

    @cached_property
    def ends(self) -> int:
        """Groups told as ends."""
        return sum(each.ends for each in self.outcomes.values())

    @cached_property
    def withheld(self) -> int:
        """Groups that are not told."""
        return sum(each.withheld for each in self.outcomes.values())

    @property
    def refused(self) -> int:
        """Statements of which nothing is told."""
        return sum(not each.told for each in self.outcomes.values())

    @property
    def late(self) -> int:
        """Statements that the policy's clock decided: what became of them hangs on the machine."""
        return sum(each.code == "time" for each in self.outcomes.values())

    def worth(self, statements: Sequence[Statement]) -> float:
        """What is told exactly, each statement by its worth and the share of its groups."""
        told = ((each, self.outcomes.get(each.number)) for each in statements)
        return sum(each.worth * one.exact / one.groups for each, one in told if one is not None)


@dataclass(frozen=True)
class Effect:
    """What another statement would be told more, or less, without one; ends count in `told`."""

    number: int
    """Of the other one."""
    exact: int
    told: int


@dataclass
class Plan:
    """What was found."""

    policy: Policy
    source: str
    listed: Listed
    statements: list[Statement]
    """Those that the runs are about."""
    left_out: int = 0
    """Statements that are not, for want of time."""
    results: list[Result] = field(default_factory=list)
    """As written, by limit and insiders; the policy's own among them."""
    orders: list[Result] = field(default_factory=list)
    """Under the policy's own limit, as written first."""
    effects: dict[int, list[Effect]] = field(default_factory=dict)
    """By number of the statement that is left out, of those of which it is known."""
    unknown: list[int] = field(default_factory=list)
    """Statements that may cost others, and were not left out."""
    not_run: list[tuple[Setting, str]] = field(default_factory=list)
    """Runs that there are not, with the reason."""
    workers: int = 2
    seconds: float = 0.0
    partial: str = ""
    """Why it ended before, if it did."""

    @property
    def own(self) -> Result:
        """As written, under the policy's own limit."""
        return self.orders[0]

    @property
    def best(self) -> Result:
        """The order in which most is told: by worth where statements differ in it, else by groups."""
        whole = [each for each in self.orders if each.cut is None] or self.orders[:1]
        return max(whole, key=self._score)

    def _score(self, result: Result) -> tuple[float, int, int]:
        first = round(result.worth(self.statements), 9) if self.listed.weighed else float(result.exact)
        return first, result.exact, result.exact + result.ends

    def net(self, number: int) -> float:
        """What others would be told exactly more without a statement, in groups or by worth."""
        by_number = {each.number: each for each in self.statements}
        found = self.effects.get(number, ())
        if not self.listed.weighed:
            return float(sum(each.exact for each in found))
        return sum(by_number[each.number].worth * each.exact / by_number[each.number].asks for each in found)


@dataclass(frozen=True)
class Progress:
    """How far a plan is."""

    doing: str
    done: int
    in_all: int


@dataclass(frozen=True)
class Wanted:
    """Which runs there are to be."""

    risks: Sequence[float] = RISKS
    insiders: Sequence[int] = INSIDERS
    orders: Sequence[str] = tuple(ORDERS)
    leave_one_out: int | None = None
    """At most so many statements are left out one by one; None: as many as there is time for."""
    seconds: float = SECONDS
    """For all of it; no statement is begun later."""
    workers: int = 2


def plan(
    source: Given,
    policy: Policy,
    paths: Sequence[Path],
    wanted: Wanted = Wanted(),
    *,
    form: str = "auto",
    columns: Mapping[str, str] | None = None,
    dialect: Dialect | None = None,
    timezone: str = "UTC",
    progress: Callable[[Progress], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Plan:
    """Find out what each limit and each order buys.

    Args:
        source: The data; see `Gate.open`.
        policy: The policy; its ledger is not touched.
        paths: Scripts and logs, in order.
        wanted: Which runs there are, and how long they may take.
        form: The files' format; see `auditor.history.readers`.
        columns: Of tables, which column holds what.
        dialect: Whose SQL it is where a file does not say.
        timezone: In which sessions reckon where a log does not say.
        progress: Called now and then, by several threads.
        stop: Asked now and then; once it says yes, what is there is returned, marked `partial`.

    Raises:
        PolicyError, DatabaseError: as `Gate.open`.
        LogError: a file that cannot be read.
        AuditorError: it was stopped, or broke, before the first run had told anything.
    """
    began = time.monotonic()
    given = source_of(source)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", OwnerWarning)
        with Gate.open(given, policy.on_scratch, Path(folder) / "scratch.ledger") as gate:
            progress(Progress("reading", 0, 0))
            asked = listed(paths, gate, form, columns, dialect, timezone)
    # once for an installation, and not in each process
    warm(lambda done, of: progress(Progress("compiling", done, of)))
    found = Plan(policy, given.name, asked, list(asked.statements), workers=wanted.workers)
    if asked.statements:
        with Players(given, asked.statements, wanted.workers) as players:
            _Planning(found, players, wanted, began, progress, stop).run()
    found.seconds = time.monotonic() - began
    return found


class _Planning:
    """One plan at work."""

    def __init__(
        self,
        found: Plan,
        players: Players,
        wanted: Wanted,
        began: float,
        progress: Callable[[Progress], None],
        stop: Callable[[], bool],
    ) -> None:
        self._found, self._players, self._wanted = found, players, wanted
        self._progress, self._stop = progress, stop
        self._end = began + wanted.seconds

    def run(self) -> None:
        """The three steps."""
        self._as_written()
        self._orders_and_effects()
        self._costly_last()

    def _as_written(self) -> None:
        found, order = self._found, ORDERS["written"](self._found.statements)
        settings = list[Setting]()
        policies = list[Policy]()
        for setting in self._settings():
            try:
                policies.append(_under(found.policy, setting))
                settings.append(setting)
            except PolicyError as error:
                found.not_run.append((setting, str(error)))
        rounds = ceil(len(settings) / self._wanted.workers) + ROUNDS
        share = (self._end - time.monotonic()) / rounds
        runs = [Run(each, order, max(share, 1.0)) for each in policies]
        played = self._play("as written, by limit", runs, self._end)
        if played[0] is None or not played[0].outcomes:
            why = played[0].error if played[0] is not None else ""
            raise AuditorError(f"nothing was found out: {why or 'it was stopped before anything was told'}")
        order = order[: len(played[0].outcomes)]
        found.left_out = len(found.statements) - len(order)
        found.statements = found.statements[: len(order)]
        for setting, one in zip(settings, played, strict=True):
            self._keep(found.results, setting, order, one)
        found.orders = [each for each in found.results if each.setting.own]
        key = [(each.setting.risk or 0.0, each.setting.insiders) for each in found.results]
        found.results = [found.results[place] for place in sorted(range(len(key)), key=key.__getitem__)]

    def _settings(self) -> list[Setting]:
        """Limits and insiders, the policy's own ones first: there is no plan without."""
        policy = self._found.policy
        stated = {policy.limits_of(each).risk for each in policy.protects}
        risk = next(iter(stated)) if len(stated) == 1 else None
        own = Setting(risk, policy.intruder.insiders, own=True)
        others = [Setting(each, count) for each in self._wanted.risks for count in self._wanted.insiders]
        others = [each for each in others if (each.risk, each.insiders) != (own.risk, own.insiders)]
        return [own, *others]

    def _orders_and_effects(self) -> None:
        found, own = self._found, self._found.own
        orders = dict[Setting, Numbers]()
        for name in self._wanted.orders:
            numbers = ORDERS[name](found.statements)
            if numbers not in (own.numbers, *orders.values()):
                orders[replace(own.setting, order=name)] = numbers
        candidates = self._candidates()
        most = self._wanted.leave_one_out
        tried = candidates if most is None else candidates[:most]
        without = [tuple(other for other in own.numbers if other != number) for number in tried]
        seconds = max(self._end - time.monotonic(), own.seconds)
        runs = [Run(found.policy, numbers, seconds) for numbers in (*orders.values(), *without)]
        # the last ones are begun so that they end in time, and leave time for one more
        played = self._play("other orders, and without one", runs, self._end - 2 * own.seconds)
        for (setting, numbers), one in zip(orders.items(), played, strict=False):
            self._keep(found.orders, setting, numbers, one)
        for number, one in zip(tried, played[len(orders) :], strict=True):
            if one is not None and len(one.outcomes) == len(own.numbers) - 1:
                found.effects[number] = _effects(own, one)
        found.unknown = sorted(set(candidates) - set(found.effects))

    def _candidates(self) -> list[int]:
        """Statements that may cost others something, those of most groups first."""
        outcomes = [self._found.own.outcomes[number] for number in self._found.own.numbers]
        lacking = [place for place, each in enumerate(outcomes) if each.exact < each.groups]
        last = max(lacking, default=-1)
        found = [each for each in outcomes[: max(last, 0)] if each.taught]
        return [each.number for each in sorted(found, key=lambda each: -each.groups)]

    def _costly_last(self) -> None:
        found = self._found
        net = {number: found.net(number) for number in found.effects}
        known = {each.numbers for each in found.orders}
        orders = dict[Setting, Numbers]()
        for base in dict.fromkeys((found.best, found.own)):
            name = "costly last" if base is found.own else f"{base.setting.order}, costly last"
            numbers = costly_last(base.numbers, net)
            if numbers not in (*known, *orders.values()):
                orders[replace(base.setting, order=name)] = numbers
        seconds = max(self._end - time.monotonic(), found.own.seconds)
        runs = [Run(found.policy, numbers, seconds) for numbers in orders.values()]
        played = self._play("costly ones last", runs, self._end - found.own.seconds)
        for (setting, numbers), one in zip(orders.items(), played, strict=True):
            self._keep(found.orders, setting, numbers, one)

    def _keep(self, results: list[Result], setting: Setting, numbers: Numbers, one: Played | None) -> None:
        """A run that told something as a result; of others why there is none."""
        if one is None or not one.outcomes:
            why = one.error if one is not None and one.error else "there was no time for it"
            self._found.not_run.append((setting, why))
            return
        kept = {number: one.outcomes[number] for number in numbers if number in one.outcomes}
        results.append(Result(setting, numbers, kept, one.seconds, one.error))

    def _play(self, doing: str, runs: Sequence[Run], until: float) -> list[Played | None]:
        """Play runs and tell how far they are; None for those that were not begun."""
        counts, lock = [0] * len(runs), threading.Lock()
        in_all = sum(len(run.numbers) for run in runs)

        def heard(place: int) -> None:
            with lock:
                if place < 0:
                    counts[-1 - place] = len(runs[-1 - place].numbers)
                else:
                    counts[place] += 1
                self._progress(Progress(f"{doing}: {len(runs)} runs", sum(counts), in_all))

        if not runs or self._stop():
            return [None] * len(runs)
        found = self._players.play(runs, until, self._stop, heard)
        if self._stop():
            self._found.partial = (
                "it was stopped: what follows holds for the runs that were played until then"
            )
        return [found.get(place) for place in range(len(runs))]


def _under(policy: Policy, setting: Setting) -> Policy:
    if setting.own or setting.risk is None:
        return policy
    return policy.varied(setting.risk, setting.insiders)


def _effects(own: Result, without: Played) -> list[Effect]:
    """What others are told more without one, the greatest difference first."""
    found = list[Effect]()
    for number, other in without.outcomes.items():
        before = own.outcomes[number]
        each = Effect(number, other.exact - before.exact, other.told - before.told)
        if each.exact or each.told:
            found.append(each)
    return sorted(found, key=lambda each: (-abs(each.exact), -abs(each.told), each.number))
