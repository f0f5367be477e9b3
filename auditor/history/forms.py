"""Linear forms of protected values, as SQL that lists which records are in a sum, and with which weight.

In the public instance a protected column holds record numbers. A form is a sum of records with weights that
public columns decide; written out it is a list of {r, w}, so that DuckDB itself says which records any
arithmetic, join or grouping puts together. Offsets are left out: who knows the table's public columns knows
them. Pure: nothing here runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from auditor.sql.understood import NotUnderstood

LONGEST = 1 << 18
"""Characters of one form: DuckDB plans nested ones thrice as long for seconds, heeding no interrupt."""
EMPTY = "CAST([] AS STRUCT(r BIGINT, w DOUBLE)[])"
"""The form of a public number: no record at all."""


@dataclass(frozen=True)
class Item:
    """One summand."""

    text: str
    """SQL of a record number, or of a list of {r, w}."""
    record: bool
    """Which of the two."""
    factors: tuple[str, ...] = ()
    """SQL of public numbers that it is multiplied by."""

    @property
    def weight(self) -> str:
        """SQL of all factors' product."""
        return " * ".join(f"CAST({each} AS DOUBLE)" for each in self.factors) or "CAST(1 AS DOUBLE)"

    @property
    def listed(self) -> str:
        """SQL of the summand as a list of {r, w}; no NULL inside."""
        if self.record:
            return f"[{self.pair}]"
        if not self.factors:
            return self.text
        return f"list_transform({self.text}, lambda _e: {{'r': _e.r, 'w': _e.w * {self.weight}}})"

    @property
    def pair(self) -> str:
        """SQL of a record's {r, w}."""
        return f"{{'r': {self.text}, 'w': {self.weight}}}"


@dataclass(frozen=True)
class Form:
    """Σ items, NULL where a guard is NULL."""

    items: tuple[Item, ...]
    guards: tuple[str, ...] = ()
    """SQL of public values without which the form is NULL."""
    blur: float = 0.0
    """Width of what rounding leaves open, in units of the form's value; 0: shown as it is."""
    whole: bool = False
    """Whether its value is a whole number, whatever the records' values are."""

    @classmethod
    def of_record(cls, text: str, whole: bool = False) -> Form:
        """One record's value."""
        return cls((Item(text, True),), whole=whole)

    @classmethod
    def of_list(cls, text: str, whole: bool = False) -> Form:
        """A list of {r, w} that some SQL gives."""
        return cls((Item(text, False),), whole=whole)

    @property
    def present(self) -> str:
        """SQL of whether it is not NULL."""
        needed = dict.fromkeys([*(item.text for item in self.items), *self.guards])
        return " AND ".join(f"({each}) IS NOT NULL" for each in needed) or "TRUE"

    @property
    def text(self) -> str:
        """SQL of the list, NULL where the form is.

        Raises:
            NotUnderstood: code "too-large", before forms within forms fill the memory.
        """
        if len(self.items) == 1 and not self.items[0].record:
            # a list that is NULL stays so, and is written once: forms within forms would double each time
            needed = dict.fromkeys(each for each in self.guards if constant_text(each) is None)
            present = " AND ".join(f"({each}) IS NOT NULL" for each in needed)
            return _short(f"CASE WHEN {present} THEN {self._body} END" if present else self._body)
        return _short(f"CASE WHEN {self.present} THEN {self._body} END")

    @property
    def _body(self) -> str:
        lists = [item.listed for item in self.items]
        if len(lists) == 1:
            return lists[0]
        return f"flatten([{', '.join(lists)}])" if lists else EMPTY

    @property
    def plain(self) -> bool:
        """Whether it is one record's value, and nothing else."""
        return len(self.items) == 1 and self.items[0].record

    def scaled(self, factor: str, blur: float | None, whole: bool = False) -> Form:
        """Multiplied by a public number; its blur is as given, None where the factor is not known."""
        items = tuple(replace(item, factors=(*item.factors, factor)) for item in self.items)
        kept = float("inf") if blur is None and self.blur else (blur or 0.0)
        return Form(items, (*self.guards, factor), kept, whole and self.whole)

    def plus(self, other: Form) -> Form:
        """Added."""
        whole = self.whole and other.whole
        return Form(self.items + other.items, self.guards + other.guards, self.blur + other.blur, whole)

    def guarded(self, text: str) -> Form:
        """A public number added, which is left out."""
        return replace(self, guards=(*self.guards, text))

    def blurred(self, width: float) -> Form:
        """Rounded to something so wide."""
        return replace(self, blur=self.blur + width) if width else self

    def summed(self, condition: str = "", window: str = "") -> Form:
        """SUM over the rows of a group or a window."""
        where = f" FILTER (WHERE {self.present}{f' AND ({condition})' if condition else ''})"
        over = f" OVER {window}" if window else ""
        if self.plain:
            return Form.of_list(f"list({self.items[0].pair}){where}{over}", self.whole)
        return Form.of_list(f"flatten(list({self._body}){where}{over})", self.whole)


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise NotUnderstood("too-large")
    return text


def chosen(branches: Sequence[tuple[str, str]], default: str) -> Form:
    """CASE over forms, written out already."""
    cases = " ".join(f"WHEN {condition} THEN {text}" for condition, text in branches)
    return Form.of_list(f"CASE {cases} ELSE {default} END")


def constant_text(text: str) -> Fraction | None:
    """The value of a factor written as SQL, or None where it is no constant."""
    try:
        return Fraction(text)
    except ValueError:
        return None
