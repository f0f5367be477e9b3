"""What an attacker sends: protected columns in wrong places, odd constructs, mutations and noise."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

from tests.fuzz import grammar
from tests.fuzz.words import joined, solid, words
from tests.fuzz.worlds import World, quoted

_TEXT = (Path(__file__).parent / "attacks.sql").read_text("utf-8")
_STATEMENTS, _EXPRESSIONS = (
    part.strip().split("\n") for part in re.split("-- statements|-- expressions", _TEXT)[1:]
)


def attacked(world: World, rng: random.Random, number: int) -> grammar.Statement:
    """A statement of an attacker."""
    kind = rng.choices(["forbidden", "template", "tokens", "injected", "bytes"], [4, 5, 5, 4, 1])[0]
    if kind == "forbidden":
        return grammar.valid(world, rng, number, forbidden=rng.choice([0.1, 0.3]))
    if kind == "template":
        return grammar.Statement(world.name, template(world, rng), None, "template", number)
    base = grammar.valid(world, rng, number)
    change = {"tokens": mutated, "injected": injected, "bytes": noisy}[kind]
    return replace(base, text=change(base.text, world, rng), origin=kind)


def mutated(text: str, world: World, rng: random.Random) -> str:
    """One to four changes to the words: deleted, doubled, swapped, inserted, replaced by another's."""
    listed = solid(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        if len(listed) < 2:
            break
        i, j = rng.randrange(len(listed)), rng.randrange(len(listed))
        change = rng.randrange(6)
        if change == 0:
            del listed[i]
        elif change == 1:
            listed.insert(j, listed[i])
        elif change == 2:
            listed[i], listed[j] = listed[j], listed[i]
        elif change == 3:
            listed.insert(i, rng.choice(_INSERTED + _names(world)))
        elif change == 4:
            listed[i] = rng.choice(_names(world) + _INSERTED)
        else:
            i, j = min(i, j), max(i, j)
            listed[i:j] = listed[i:j] * rng.choice([0, 2]) if j - i < 12 else listed[i:j]
    return joined(listed)


def injected(text: str, world: World, rng: random.Random) -> str:
    """One expression replaced by what an attacker would put there."""
    listed = words(text)
    places = [
        i
        for i, word in enumerate(listed)
        if word[0].isdigit() or word[0] == "'" or (word.isidentifier() and word.islower())
    ]
    if not places:
        return template(world, rng)
    listed[rng.choice(places)] = f"({_filled(rng.choice(_EXPRESSIONS), world, rng)})"
    return "".join(listed)


def noisy(text: str, world: World, rng: random.Random) -> str:
    """Letters changed, dropped and put in."""
    letters = list(text)
    for _ in range(rng.choice([1, 2, 5, 20])):
        i = rng.randrange(len(letters) + 1)
        if rng.random() < 0.3 and i < len(letters):
            del letters[i]
        elif rng.random() < 0.5 or i == len(letters):
            letters.insert(i, rng.choice(_NOISE))
        else:
            letters[i] = rng.choice(_NOISE)
    return "".join(letters)


def template(world: World, rng: random.Random) -> str:
    """A whole statement of an attacker."""
    return _filled(rng.choice(_STATEMENTS), world, rng)


def _names(world: World) -> list[str]:
    names = [quoted(table.name) for table in world.tables]
    return names + [quoted(column.name) for table in world.protected for column in table.columns]


def _filled(text: str, world: World, rng: random.Random) -> str:
    table = rng.choice(world.protected)
    public = [column for column in table.columns if column.public]
    names = ", ".join(f"c{i}" for i in range(len(table.columns)))
    made = {
        "T": quoted(table.name),
        "S": quoted(rng.choice(table.secrets).name),
        "P": quoted(rng.choice(public).name),
        "Q": quoted(rng.choice(public).name),
        "L": quoted(rng.choice(world.lookups).name),
        "NAMES": names,
        "E": "(" + rng.choice(_EXPRESSIONS) + ")",
    }
    for _ in range(2):
        for name, value in made.items():
            text = text.replace("{" + name + "}", value)
    return text


_INSERTED = r"""
    SELECT FROM WHERE ( ) , * NULL NOT DISTINCT OVER AS 1 0 '' UNION ALL GROUP BY ORDER LIMIT FILTER
    CASE END = - :: [ ] { } ; -- /* ? $1 $$ t rowid EXCLUDE QUALIFY HAVING JOIN ON USING LATERAL WITH
    RECURSIVE VALUES PIVOT IN INTERVAL -> COLUMNS TRUE ' " 0xff 1e999 x'00' e'\x' GROUPING ROLLUP WITHIN
    ESCAPE COLLATE AT
""".split()  # noqa: SIM905
_NOISE = ["\0", "\x01", "\u200b", "\ufeff", "\ud800", "\U0001f600", "'", '"', "\\", ";", "(", ")", "$", "$$",
          "é", "İ", "\u00a0", "\u2028", "%", "`", "#", "@", "\n", "-", "/", "*", "9", "ﬀ", "ſ",
          "K", "０"]  # fmt: skip
