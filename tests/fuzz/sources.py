"""Random FROM clauses: tables, views, derived tables, WITH queries, rows passed on, and joins of them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.aggregates import Aggregates
from tests.fuzz.expressions import KINDS, Col, Expressions, Literals, Rel, View
from tests.fuzz.worlds import Column, World


@dataclass(frozen=True)
class Query:
    """A query and its columns."""

    sql: str
    cols: tuple[Col, ...]


class Sources(ABC):
    """Makes FROM clauses."""

    def __init__(
        self, world: World, rng: random.Random, style: str | None = None, forbidden: float = 0.0
    ) -> None:
        self.world = world
        self.rng = rng
        self.literals = Literals(rng, style)
        self.e = Expressions(rng, self.literals, forbidden)
        self.a = Aggregates(self.e)
        self.ctes: list[Rel] = []
        self._names = 0

    @abstractmethod
    def query(self, depth: int, kinds: Sequence[str] | None = None, top: bool = False) -> Query:
        """Any query that is not one of rows of the protected table."""

    def fresh(self, prefix: str) -> str:
        self._names += 1
        if self.e.chance(0.04):
            return self.rng.choice(["Ä x", "select", 'q"t', "größe", "t t"]) + str(self._names)
        return f"{prefix}{self._names}"

    def identifier(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def aliased(self, text: str, name: str) -> str:
        return f"{text} AS {self.identifier(name)}"

    def sources(self, depth: int, want: str) -> tuple[str, View]:
        """FROM's text and what it shows; `want` is "secret", "released" or "any"."""
        text, rel = self.source(depth, want)
        rels = [rel]
        while len(rels) < 3 and self.e.chance(0.16):
            other_text, other = self.source(
                depth - 1, self.e.pick((4, "lookup"), (1, "any"), (1, "released"))
            )
            text, rels = self._joined(text, rels, other_text, other)
        return text, View(tuple(rels))

    def _joined(self, text: str, rels: list[Rel], other_text: str, other: Rel) -> tuple[str, list[Rel]]:
        left = View(tuple(rels))
        kind = self.e.pick((5, "JOIN"), (4, "LEFT JOIN"), (1, "RIGHT JOIN"), (1, "FULL JOIN"),
                           (1, "CROSS JOIN"), (1, ","), (1, "SEMI JOIN"), (1, "ANTI JOIN"),
                           (0.4, "NATURAL JOIN"))  # fmt: skip
        shared = [a.name for rel in rels for a in rel.cols for b in other.cols
                  if a.name == b.name and not a.secret and not b.secret]  # fmt: skip
        both = [*rels, other]
        if kind in ("CROSS JOIN", ","):
            return f"{text}{', ' if kind == ',' else ' CROSS JOIN '}{other_text}", both
        if kind == "NATURAL JOIN":
            return (f"{text} NATURAL JOIN {other_text}", both) if shared else (f"{text}, {other_text}", both)
        shown = rels if kind in ("SEMI JOIN", "ANTI JOIN") else both
        if len(shared) == 1 and len(rels) == 1 and self.e.chance(0.3):
            return f"{text} {kind} {other_text} USING ({self.e.name(shared[0])})", shown
        return f"{text} {kind} {other_text} ON {self._on(left, other, shared)}", shown

    def _on(self, left: View, other: Rel, shared: list[str]) -> str:
        pairs = [(rel, a, b) for rel in left.rels for a in rel.cols for b in other.cols
                 if not a.secret and not b.secret and a.kind == b.kind]  # fmt: skip
        same = [(rel, a, b) for rel, a, b in pairs if a.name == b.name]
        if not pairs:
            return "TRUE"
        rel, a, b = self.rng.choice(same if same and self.e.chance(0.8) else pairs)
        name = self.e.name
        operator = self.e.pick((12, "="), (1, "<"), (1, "IS NOT DISTINCT FROM"))
        on = f"{name(rel.alias)}.{name(a.name)} {operator} {name(other.alias)}.{name(b.name)}"
        if self.e.chance(0.15):
            on += f" AND {self.e.condition(View((*left.rels, other)), 0)}"
        return on

    def source(self, depth: int, want: str) -> tuple[str, Rel]:
        """One relation of FROM: its text and what it shows."""
        fitting = [cte for cte in self.ctes if want != "secret" or any(col.secret for col in cte.cols)]
        if fitting and self.e.chance(0.5):
            cte = self.rng.choice(fitting)
            return self._named(self.e.name(cte.alias), cte.cols, cte.alias)
        if want == "released" and depth > 0:
            made = self.query(depth - 1)
        elif depth > 0 and want in ("secret", "any") and self.e.chance(0.2):
            made = self.rows(depth - 1)
        elif depth > 0 and want == "any" and self.e.chance(0.2):
            made = self.query(depth - 1)
        else:
            return self._table(want)
        alias = self.fresh("q")
        return f"({made.sql}) {self.rng.choice(['', 'AS '])}{self.identifier(alias)}", Rel(alias, made.cols)

    def _table(self, want: str) -> tuple[str, Rel]:
        tables = self.world.protected if want == "secret" or self.e.chance(0.3) else self.world.tables
        tables = self.world.lookups if want == "lookup" and self.e.chance(0.8) else tables
        table = self.rng.choices(tables, [3 if t.secrets else 1 for t in tables])[0]
        cols = tuple(_col(column) for column in table.columns if not column.hidden)
        views = [name for name, (of, _) in self.world.views.items() if of == table.name]
        if views and self.e.chance(0.08):
            return self._named(self.e.name(views[0]), cols, views[0])
        text = ".".join(self.e.name(part) for part in table.name.split("."))
        if "." not in table.name and self.e.chance(0.04):
            text = f"main.{text}"
        return self._named(text, cols, table.name.split(".")[-1])

    def _named(self, text: str, cols: tuple[Col, ...], own: str) -> tuple[str, Rel]:
        taken = self._names
        if self.e.chance(0.35) and taken == 0:
            self._names += 1
            return text, Rel(own, cols)
        alias = self.fresh("t")
        return f"{text} {self.rng.choice(['', 'AS '])}{self.identifier(alias)}", Rel(alias, cols)

    def rows(self, depth: int) -> Query:
        """Rows of the protected table for a query around it, the protected column passed on."""
        text, rel = self.source(depth, "secret")
        view = View((rel,))
        where = f" WHERE {self.e.condition(view)}" if self.e.chance(0.6) else ""
        public = [col for col in rel.cols if not col.secret]
        form = self.e.pick((3, "star"), (5, "list"), (1, "exclude"), (1, "replace"), (1, "from"),
                           (0.7, "qualify"), (0.5, "columns"), (0.4, "union"))  # fmt: skip
        if form in ("exclude", "replace") and public:
            col = self.rng.choice(public)
            if form == "exclude":
                kept = tuple(each for each in rel.cols if each is not col)
                return Query(f"SELECT * EXCLUDE ({self.identifier(col.name)}) FROM {text}{where}", kept)
            replaced = f"{self.e.scalar(view, col.kind, 1)} AS {self.identifier(col.name)}"
            return Query(f"SELECT * REPLACE ({replaced}) FROM {text}{where}", rel.cols)
        if form == "from":
            return Query(f"FROM {text}{where}", rel.cols)
        if form == "columns":
            return Query(f"SELECT COLUMNS('.*') FROM {text}{where}", rel.cols)
        if form == "star" or not public:
            return Query(f"SELECT * FROM {text}{where}", rel.cols)
        if form == "qualify":
            order = ", ".join(self.e.ref(view, rel, col) for col in public)
            return Query(
                f"SELECT * FROM {text}{where} QUALIFY row_number() OVER (ORDER BY {order}) <= 9", rel.cols
            )
        return self._listed(text, view, rel, where, form == "union")

    def _listed(self, text: str, view: View, rel: Rel, where: str, twice: bool) -> Query:
        items, cols = [], []
        for col in rel.cols:
            if col.secret or self.e.chance(0.6):
                name = col.name if self.e.chance(0.6) else self.fresh("r")
                items.append(self.aliased(self.e.ref(view, rel, col), name))
                cols.append(Col(name, col.kind, col.secret))
        if self.e.chance(0.4):
            kind, name = self.rng.choice(KINDS), self.fresh("e")
            items.append(self.aliased(self.e.scalar(view, kind, 1), name))
            cols.append(Col(name, kind))
        sql = f"SELECT {', '.join(items)} FROM {text}{where}"
        return Query(f"{sql} UNION ALL {sql}" if twice else sql, tuple(cols))


def _col(column: Column) -> Col:
    return Col(column.name, column.kind, column.secret)
