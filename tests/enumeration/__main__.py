"""`python -m tests.enumeration --systems 2000 --seed 1`: small tables, all of them; status 1 on a finding."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

from auditor import Policy, PolicyError

from .asking import Asking, Heard, asking_at_random, smallest
from .certifying import SCALES, system_at_random, untrue
from .deciding import Play, Tally
from .scenarios import KINDS, MODES, VALUES, Rules, Scenario, Settings, minimised, scenario_at_random

LEVELS = ("decide", "certified", "gate")
PER_GATE = 10
"""With all levels: systems below the gate for each gate that is opened."""
Checked = tuple[Tally, list[str]]
"""What was seen, and every finding as text."""


def main() -> int:
    """Run, print figures and findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.enumeration", description=__doc__)
    parser.add_argument("--systems", type=int, default=1_000, help="how many, at each level")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--insiders", type=int, choices=(0, 1), default=0)
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--values", choices=(*VALUES, "both"), default="both")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of sum,max,min")
    parser.add_argument("--level", choices=(*LEVELS, "all"), default="all",
                        help=f"all: one gate for each {PER_GATE} systems")  # fmt: skip
    parser.add_argument("--others", type=int, default=1, help="tables each verdict is compared on; 0: none")
    parser.add_argument("--largest", type=int, default=7, help="most records")
    parser.add_argument("--baseline", choices=("members", "prior"), default="members",
                        help="prior: what is likely is counted too, all tables alike")  # fmt: skip
    parser.add_argument("--ranges", action="store_true", help="ranges are asked of single sums")
    parser.add_argument("--only", type=int, help="the number of a single system")
    parser.add_argument("--seconds", type=float, help="for each level, mode and kind of values, at most")
    parser.add_argument("--as-found", action="store_true", help="do not look for smaller examples")
    given = parser.parse_args()
    kinds = tuple(given.kinds.split(","))
    if not set(kinds) <= set(KINDS):
        parser.error(f"--kinds: some of {','.join(KINDS)}, not {given.kinds}")
    try:
        Policy.parse(Rules(insiders=given.insiders).policy(1))
    except PolicyError as error:
        parser.error(str(error))

    def settings(mode: str, values: str) -> Settings:
        return Settings(
            given.insiders, mode, values, kinds, given.largest, baseline=given.baseline, ranges=given.ranges
        )

    found = 0
    for level in LEVELS if given.level == "all" else (given.level,):
        for values in VALUES if given.values == "both" else (given.values,):
            modes = ("",) if level == "certified" else MODES if given.mode == "both" else (given.mode,)
            for mode in modes:
                found += run(level, settings(mode, values), given)
    print("findings:", found)
    return 1 if found else 0


def run(level: str, settings: Settings, given: argparse.Namespace) -> int:
    """One level, printed; how many findings."""
    check: dict[str, Callable[..., Checked]] = {"decide": below, "certified": certified, "gate": gate}
    count = -(-given.systems // PER_GATE) if level == "gate" and given.level == "all" else given.systems
    started, tally, found = time.monotonic(), Tally(), 0
    for number in range(count) if given.only is None else (given.only,):
        if given.seconds is not None and time.monotonic() - started > given.seconds:
            break
        seen, texts = check[level](settings, given.seed, number, given.others, not given.as_found)
        tally.add(seen)
        found += len(texts)
        for text in texts:
            print(f"FOUND in {level}, {settings}, --seed {given.seed} --only {number}\n{text}", flush=True)
    for line in figures(tally):
        print(f"{level} {settings.mode} {settings.values} insiders={settings.insiders}: {line}")
    print(f"    {found} findings, {time.monotonic() - started:.0f} s", flush=True)
    return found


def figures(tally: Tally) -> Iterator[str]:
    """What was seen, in lines."""
    by_sets = f"; by sets {tally.by_sets}" if tally.by_sets else ""
    yield f"{tally.systems} systems; verdicts {_counts(tally.verdicts) or 'none'}{by_sets}"
    if tally.compared or tally.transcripts:
        compared = f"{tally.compared} verdicts and {tally.transcripts} whole transcripts"
        yield f"compared on other tables: {compared}; surprises without need: {tally.needless}"
    for meaning, could in sorted(tally.harmless.items()):
        share = tally.answered[meaning] / could
        yield f"harmless {meaning}: {could}, answered {tally.answered[meaning]} ({share:.0%})"


def below(settings: Settings, seed: int, number: int, others: int, shrink: bool) -> Checked:
    """One scenario below the gate."""
    scenario = scenario_at_random(settings, seed, number)
    play = Play(scenario, others)
    found = [*play.findings()]
    texts = []
    for what in dict.fromkeys(finding.what for finding in found):

        def shows(less: Scenario, what: str = what) -> bool:
            return any(each.what == what for each in Play(less, max(others, 1), False).findings())

        least = minimised(scenario, shows) if shrink else scenario
        details = [each for each in Play(least, max(others, 1), False).findings() if each.what == what]
        texts.append(f"{details or found}\n{least}")
    return play.tally, texts


def certified(settings: Settings, seed: int, number: int, others: int, shrink: bool) -> Checked:
    """One answered system."""
    size, top, told = system_at_random(settings, seed, number)
    scale = number % len(SCALES)
    texts = [*untrue(size, top, told, scale)]
    while texts and shrink:
        for place in range(len(told)):
            less = told[:place] + told[place + 1 :]
            if list(untrue(size, top, less, scale)):
                told = less
                break
        else:
            shrink = False
    least = f"size {size}, top {top}, scale {scale}, told {told}"
    return Tally(systems=1), [f"{text}\n{least}" for text in texts]


def gate(settings: Settings, seed: int, number: int, others: int, shrink: bool) -> Checked:
    """One gate, asked in SQL."""
    asking = asking_at_random(settings, seed, number)
    heard = Heard(asking, others)
    found = [*heard.findings()]
    texts = []
    for what in dict.fromkeys(finding.what for finding in found):

        def shows(less: Asking, what: str = what) -> bool:
            return any(each.what == what for each in Heard(less, max(others, 1)).findings())

        least = smallest(asking, shows) if shrink else asking
        details = [each for each in Heard(least, max(others, 1)).findings() if each.what == what]
        texts.append(f"{details or found}\n{least}")
    return heard.tally, texts


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


if __name__ == "__main__":
    sys.exit(main())
