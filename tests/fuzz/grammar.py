"""Random statements over a world's schema: weighted productions, most of them valid for DuckDB.

`generate(seed, number)` makes the same statement whenever it is called. Scalars are `expressions`',
aggregates `aggregates`', what an attacker would add is `attacks`'.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.expressions import KINDS, Col, Rel, View
from tests.fuzz.sources import Query, Sources
from tests.fuzz.words import decorated, with_parameters
from tests.fuzz.worlds import WORLDS, World

Parameters = list[object] | dict[str, object] | None


@dataclass(frozen=True)
class Statement:
    """A statement, and where it came from."""

    world: str
    text: str
    parameters: Parameters = None
    origin: str = "valid"
    """"valid": meant to be valid for DuckDB; else the attack that it is."""
    number: int = 0


def generate(seed: int, number: int) -> Statement:
    """The statement of a number in a run."""
    from tests.fuzz.attacks import attacked  # attacks are made of valid statements

    rng = random.Random(f"{seed}:{number}")
    world = WORLDS[rng.choices(["staff", "crowd", "several", "small"], [8, 5, 5, 3])[0]]
    if rng.random() < 0.3:
        return attacked(world, rng, number)
    return valid(world, rng, number)


def valid(world: World, rng: random.Random, number: int = 0, forbidden: float = 0.0) -> Statement:
    """A statement that is meant to be valid; `forbidden` puts protected columns in wrong places."""
    style = rng.choices([None, "?", "$1", "$name"], [16, 2, 1, 1])[0]
    grammar = Grammar(world, rng, style, forbidden)
    sql = grammar.statement()
    text, parameters = with_parameters(sql, grammar.literals.values, style)
    return Statement(
        world.name, decorated(text, rng), parameters, "forbidden" if forbidden else "valid", number
    )


class Grammar(Sources):
    """Makes queries."""

    def __init__(
        self, world: World, rng: random.Random, style: str | None = None, forbidden: float = 0.0
    ) -> None:
        super().__init__(world, rng, style, forbidden)
        self.e.subquery = self._subquery

    def statement(self) -> str:
        """A statement: WITH queries, if any, then a query."""
        rng, parts = self.rng, []
        if self.e.chance(0.25):
            for _ in range(rng.randint(1, 3)):
                made = self.query(1) if self.e.chance(0.6) else self.rows(1)
                name = self.fresh("w")
                kept = rng.choice(["", "", "", " MATERIALIZED", " NOT MATERIALIZED"])
                parts.append(f"{self.e.name(name)} AS{kept} ({made.sql})")
                self.ctes.append(Rel(name, made.cols))
        query = self.query(2, top=True).sql
        text = f"WITH {', '.join(parts)} {query}" if parts else query
        return text + (";" if self.e.chance(0.05) else "")

    # --- queries

    def query(self, depth: int, kinds: Sequence[str] | None = None, top: bool = False) -> Query:
        """Any query that is not one of rows of the protected table."""
        form = self.e.pick((10, "aggregated"), (3, "public"), (3 * (depth > 0), "over"),
                           (1.6 * (depth > 0), "set"), (0.4, "parens"))  # fmt: skip
        if form == "aggregated":
            return self.aggregated(depth, kinds, top)
        if form == "public":
            return self.public(depth, kinds, top)
        if form == "over":
            return self.over(depth, kinds, top)
        if form == "set":
            return self.combined(depth - 1, kinds)
        inner = self.query(depth, kinds, top)
        return Query(f"({inner.sql})", inner.cols)

    def combined(self, depth: int, kinds: Sequence[str] | None = None) -> Query:
        """A set operation."""
        left = self.query(depth, kinds)
        wanted = [col.kind for col in left.cols]
        text = self._operand(left.sql)
        for _ in range(self.rng.choice([1, 1, 1, 1, 2])):
            operator = self.rng.choice(_OPERATORS)
            text = f"{text} {operator} {self._operand(self.query(depth, wanted).sql)}"
        if self.e.chance(0.5):
            text += " ORDER BY " + self.rng.choice(
                ["ALL", "1", ", ".join(str(i + 1) for i in range(len(wanted)))]
            )
            text += f" LIMIT {self.rng.randint(1, 5)}" if self.e.chance(0.3) else ""
        return Query(text, left.cols)

    def _operand(self, sql: str) -> str:
        bare = not any(
            word in sql for word in (" ORDER BY ", " LIMIT ", " UNION", "INTERSECT", "EXCEPT", "FROM-first")
        )
        return sql if bare and sql.startswith("SELECT") and self.e.chance(0.8) else f"({sql})"

    def aggregated(self, depth: int, kinds: Sequence[str] | None = None, top: bool = False) -> Query:
        """Aggregates of the protected column, grouped or not."""
        source, view = self.sources(depth, "secret")
        where = f" WHERE {self.e.condition(view)}" if self.e.chance(0.5) else ""
        return self._grouped(source, view, where, kinds, top)

    def over(self, depth: int, kinds: Sequence[str] | None = None, top: bool = False) -> Query:
        """A query over the result of one that aggregates."""
        source, view = self.sources(depth, "released")
        where = f" WHERE {self.e.condition(view)}" if self.e.chance(0.4) else ""
        if self.e.chance(0.45):
            return self._grouped(source, view, where, kinds, top)
        return self._plain(source, view, where, kinds, top)

    def public(self, depth: int, kinds: Sequence[str] | None = None, top: bool = False) -> Query:
        """A query that reads public columns alone, or aggregates inside subqueries."""
        source, view = self.sources(depth, "any")
        where = f" WHERE {self.e.condition(view)}" if self.e.chance(0.5) else ""
        if self.e.chance(0.4):
            hidden = View(
                tuple(Rel(rel.alias, tuple(c for c in rel.cols if not c.secret)) for rel in view.rels)
            )
            return self._grouped(source, hidden, where, kinds, top)
        return self._plain(source, view, where, kinds, top)

    def _grouped(self, source: str, view: View, where: str, kinds: Sequence[str] | None, top: bool) -> Query:
        keys = [
            (self.e.scalar(view, kind, self.rng.choice([0, 0, 0, 1])), kind)
            for kind in self._key_kinds(kinds)
        ]
        keys = [
            (key, kind) for key, kind in keys if not key.strip("()'").lstrip("-").isdigit() and "§" not in key
        ]
        mode = (
            self.e.pick((5, "keys"), (3, "all"), (2, "positions"), (1, "aliases"), (2.2, "sets"))
            if keys
            else ""
        )
        wanted = list(kinds) if kinds else [self.rng.choice(["num"] * 4 + ["int", *KINDS])
                                            for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3]))]  # fmt: skip
        items: list[tuple[str, str]] = []
        shown = [] if kinds and mode not in ("all", "positions", "aliases") else keys
        if kinds and mode:
            mode, shown = self.rng.choice(["keys", "sets"]), []
        items += shown
        self.a.named = None
        items += [(self._item(view, keys, kind, mode), kind) for kind in wanted]
        window, self.a.named = self.a.named or "", ""
        names = [self.fresh("c") for _ in items]
        group = self._group(mode, keys, names)
        having = f" HAVING {self.a.having(view, keys)}" if self.e.chance(0.25) else ""
        qualify = window
        if self.e.chance(0.05):
            qualify += (
                f" QUALIFY row_number() OVER (ORDER BY {', '.join(k for k, _ in keys) or 'COUNT(*)'}) <= 3"
            )
        listed = ", ".join(self.aliased(text, name) for (text, _), name in zip(items, names, strict=True))
        distinct = "DISTINCT " if self.e.chance(0.04) else ""
        tail = self._tail([text for text, _ in items], names, keys, top)
        body = f"FROM {source}{where}{group}{having}{qualify}"
        cols = tuple(Col(name, kind) for (_, kind), name in zip(items, names, strict=True))
        if self.e.chance(0.06):
            return Query(
                f"FROM {source} SELECT {distinct}{listed}{where}{group}{having}{qualify}{tail}", cols
            )
        return Query(f"SELECT {distinct}{listed} {body}{tail}", cols)

    def _key_kinds(self, kinds: Sequence[str] | None) -> list[str]:
        count = self.e.pick((3, "0"), (4, "1"), (2, "2"), (0.7, "3"))
        return [self.e.pick((4, "text"), (3, "int"), (1, "bool"), (1, "date")) for _ in range(int(count))]

    def _item(self, view: View, keys: Sequence[tuple[str, str]], kind: str, mode: str) -> str:
        usable = [] if mode == "all" else list(keys)
        if mode == "sets" and kind == "int" and self.e.chance(0.4):
            chosen = self.rng.sample([key for key, _ in keys], self.rng.randint(1, len(keys)))
            return f"{self.rng.choice(['GROUPING', 'GROUPING_ID'])}({', '.join(chosen)})"
        if self.e.chance(0.07):
            number = self.a.over(view, [], "num", 0)
            order = [key for key, _ in usable] or [self.a.over(view, [], "int", 0)]
            made = self.a.window(number, [key for key, _ in usable], order)
            return (
                made if kind in ("num", "int") else f"CAST({made} AS VARCHAR)" if kind == "text" else "NULL"
            )
        return self.a.over(view, usable, kind)

    def _group(self, mode: str, keys: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
        texts = [key for key, _ in keys]
        if mode == "all":
            return " GROUP BY ALL"
        if mode == "positions":
            return " GROUP BY " + ", ".join(str(i + 1) for i in range(len(texts)))
        if mode == "aliases":
            return " GROUP BY " + ", ".join(self.identifier(name) for name in names[: len(texts)])
        if mode == "keys":
            return f" GROUP BY {', '.join(texts)}"
        if mode != "sets":
            return ""
        joined = ", ".join(texts)
        sets = [f"({', '.join(self.rng.sample(texts, self.rng.randint(0, len(texts))))})" for _ in range(2)]
        return " GROUP BY " + self.rng.choice(
            [f"ROLLUP ({joined})", f"CUBE ({joined})", f"GROUPING SETS ({', '.join(sets)}, ({joined}))",
             f"{texts[0]}, ROLLUP ({joined})", f"GROUPING SETS (({joined}), ())"]
        )  # fmt: skip

    def _plain(self, source: str, view: View, where: str, kinds: Sequence[str] | None, top: bool) -> Query:
        wanted = (
            list(kinds) if kinds else [self.rng.choice(KINDS) for _ in range(self.rng.choice([1, 1, 2, 3]))]
        )
        items = [(self.e.scalar(view, kind, 2), kind) for kind in wanted]
        if not kinds and self.e.chance(0.12):
            args = [self.e.scalar(view, kind, 0) for kind in ("int", "text", "date")]
            items.append((self.a.window(args[0], args[1:], args), "num"))
        names = [self.fresh("c") for _ in items]
        listed = ", ".join(self.aliased(text, name) for (text, _), name in zip(items, names, strict=True))
        distinct = "DISTINCT " if self.e.chance(0.2) else ""
        tail = self._tail([text for text, _ in items], names, [], top)
        cols = tuple(Col(name, kind) for (_, kind), name in zip(items, names, strict=True))
        return Query(f"SELECT {distinct}{listed} FROM {source}{where}{tail}", cols)

    def _tail(
        self, items: Sequence[str], names: Sequence[str], keys: Sequence[tuple[str, str]], top: bool
    ) -> str:
        if not self.e.chance(0.45 if top else 0.15):
            return ""
        form = self.e.pick((3, "all"), (3, "positions"), (2, "names"), (1, "texts"))
        listed = {
            "all": ["ALL"],
            "positions": [str(i + 1) for i in range(len(items))],
            "names": [self.identifier(name) for name in names],
            "texts": [key for key, _ in keys] or ["1"],
        }[form]
        if len(listed) > 1 and self.e.chance(0.3):
            listed = [self.rng.choice(listed)]
        order = " ORDER BY " + ", ".join(each + self.a.direction() for each in listed)
        if not self.e.chance(0.35):
            return order
        limit = f" LIMIT {self.rng.choice([0, 1, 2, 3, 5])}"
        if self.e.chance(0.1):
            return f"{order} FETCH FIRST {self.rng.choice([1, 3])} ROWS ONLY"
        return order + limit + (f" OFFSET {self.rng.randint(0, 2)}" if self.e.chance(0.3) else "")

    def _subquery(self, view: View, want: str) -> str:
        """A query inside a condition: one column of a kind, one number, or anything for EXISTS."""
        source, inner = self.sources(0, self.e.pick((3, "lookup"), (2, "any")))
        if self.e.chance(0.4):
            inner = View(inner.rels, View(view.rels))
        text = self.e.subquery
        self.e.subquery = None
        try:
            where = f" WHERE {self.e.condition(inner, 1)}" if self.e.chance(0.7) else ""
            if want == "exists":
                return f"SELECT {self.rng.choice(['1', '*'])} FROM {source}{where}"
            if want == "scalar":
                shown = self.a.over(inner, [], self.rng.choice(["int", "int", "num"]), 0)
                return f"SELECT {shown} FROM {source}{where}"
            return f"SELECT {self.e.scalar(inner, want, 1)} FROM {source}{where}"
        finally:
            self.e.subquery = text


_OPERATORS = ("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL",
              "UNION ALL BY NAME")  # fmt: skip
