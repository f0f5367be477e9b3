"""Certificates of an audit: which answers locate a record, in words, as an equation and as SQL.

Promise: none of the answers named can be spared. By reals anybody adds up the equation; by integers a table
that agrees with the answers and has another value does not exist. The claim is about the time when the record
was first located in the way that the finding names, with the answers known then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from auditor.history.differences import Differences
from auditor.history.findings import Certificate, Term
from auditor.history.parties import PartyColumn, Source, query_of
from cae_sql.inference.facts.query import Answer, Query
from cae_sql.inference.intervals.irreducible import Claims, End, Proved
from cae_sql.inference.lookback.first_time import NEAR, nearest
from cae_sql.inference.lookback.located_so_far import EXACT, KEEPS, state_between

FEW = 400
"""Answers up to which a certificate is looked for among all that were known at the time."""


class Prover:
    """Makes the certificates of one party and column."""

    def __init__(self, part: PartyColumn, differences: Differences | None = None) -> None:
        """Take what is known now.

        Args:
            part: The party's column.
            differences: Of all that was told, settled already or not: two answers often do what many do.
        """
        self._part, self._standing = part, part.so_far
        self._differences = differences
        self._gone: NDArray[np.bool_] = np.zeros(len(part.so_far.truth), dtype=np.bool_)
        self._answers: Sequence[Answer] = part.so_far.answers
        self._used = set(range(len(self._answers)))
        self._claims = Claims(len(part.so_far.truth), part.so_far.top, self._answers)
        self._alike: dict[tuple[int, int, int, bool], Proved | None] = {}
        """By atom, state and time: what locates one record locates all that no answer tells from it."""

    def proved(self, record: int) -> tuple[Proved, Sequence[Source]] | None:
        """What locates a record, and where its answers come from; None where no proof was found."""
        so_far = self._standing
        state = int(so_far.by_integers[record])
        if state == KEEPS:
            return None
        reals = int(so_far.by_reals[record]) == state
        since = int((so_far.since_reals if reals else so_far.since_integers)[record])
        if state == EXACT and record in so_far.alone:
            number = so_far.alone[record]
            if number < since or since == 0:
                return self._named(self._of_one(record, number))
        pair = self._of_two(record) if state == EXACT else None
        if pair is not None:
            return pair
        found = self._added_up(record, since) if state == EXACT and reals else None
        found = found or self._alike_searched(record, state, since, reals)
        if found is None and since < len(so_far.answers) and state != EXACT:
            found = self._alike_searched(record, state, len(so_far.answers), reals)
        return None if found is None else self._named(found)

    def _added_up(self, record: int, since: int) -> Proved | None:
        """The equation that the answers known at a time have for the record: there is but one."""
        so_far = self._standing
        terms = so_far.equation_of(record)
        if not terms or terms[-1][0] >= since or self._digits([number for number, _ in terms]):
            return None
        self._without(so_far.fixed)
        return self._claims.by_equation(record, int(so_far.truth[record]), terms, so_far.truth)

    def _alike_searched(self, record: int, state: int, since: int, reals: bool) -> Proved | None:
        """As `_searched`, once for all records of an atom: answers say the same of each of them."""
        so_far = self._standing
        if so_far.fixed[record] or record in so_far.alone:
            return self._searched(record, state, since, reals)
        name = int(so_far.known.atoms.labels[record]), state, since, reals
        if name not in self._alike:
            self._alike[name] = self._searched(record, state, since, reals)
        found = self._alike[name]
        return None if found is None else replace(found, record=record)

    def _searched(self, record: int, state: int, since: int, reals: bool) -> Proved | None:
        """Among the answers known at a time, those about rows that were read put in for their values."""
        so_far = self._standing
        gone = so_far.fixed.copy()
        gone[[each for each, number in so_far.alone.items() if gone[each] and number >= since]] = False
        self._without(gone)
        if reals:
            found = self._by_few(record, state, since)
        else:
            # what came later may make it plainer
            near = (self._near(record, count, FEW) for count in (since, len(so_far.answers)))
            found = next(filter(None, (self._rounded(numbers, record, state) for numbers in near)), None)
        found = found or self._by_integers(self._near(record, since, FEW), record, state)
        return None if found is None else self._with_rows(found, gone)

    def _without(self, gone: NDArray[np.bool_]) -> None:
        """State the answers over the others; where nobody is left an answer is of no use."""
        if np.array_equal(gone, self._gone):
            return
        so_far = self._standing
        answers, self._used = [], set()
        for number, answer in enumerate(so_far.answers):
            left = ~gone[answer.members]
            if left.all() or answer.kind != "sum" or not left.any():
                answers.append(answer)
            else:
                weights = None if answer.coefficients is None else answer.coefficients[left]
                query = Query(kind="sum", members=answer.members[left], coefficients=weights)
                answers.append(query.answered(int(query.of(so_far.truth))))
            if left.any():
                self._used.add(number)
        self._answers, self._gone = answers, gone
        self._claims = Claims(len(so_far.truth), so_far.top, answers)

    def _with_rows(self, found: Proved, gone: NDArray[np.bool_]) -> Proved:
        """The proof with the rows that were put in, and of these no more than it needs."""
        so_far = self._standing
        if not gone.any():
            return found
        rows = set[int]()
        ends = []
        for end in (found.lower, found.upper):
            taken: dict[int, Fraction] = {}
            for number, weight in end.terms if end else ():
                answer = so_far.answers[number]
                weights = answer.coefficients
                for place in np.flatnonzero(gone[answer.members]).tolist():
                    row = so_far.alone[int(answer.members[place])]
                    own = 1 if weights is None else int(weights[place])
                    taken[row] = taken.get(row, Fraction(0)) - weight * own
            more = tuple((row, weight) for row, weight in taken.items() if weight)
            rows |= {row for row, _ in more}
            ends.append(None if end is None else End(tuple(sorted((*end.terms, *more))), end.bound))
        if found.lower is None:
            for number in found.numbers:
                members = so_far.answers[number].members
                if so_far.answers[number].kind == "sum":
                    rows |= {so_far.alone[record] for record in members[gone[members]].tolist()}
        made = replace(found, numbers=tuple(sorted({*found.numbers, *rows})), lower=ends[0], upper=ends[1])
        return self._without_spare(made) if rows else made

    def _without_spare(self, made: Proved) -> Proved:
        """Where bounds say as much as a row that was read, the row can be spared; of many it says so."""
        so_far, lower, upper = self._standing, made.lower, made.upper
        claims = Claims(len(so_far.truth), so_far.top, so_far.answers)
        fewer: Proved | None = None
        if lower is not None and upper is not None and lower == upper and made.kind == "reals":
            fewer = claims.by_equation(made.record, made.low, lower.terms, so_far.truth)
        if fewer is None and len(made.numbers) <= NEAR[-1]:
            if lower is None or upper is None:
                fewer = claims.by_integers(made.numbers, made.record, range(made.low, made.high + 1))
            elif made.kind == "reals":
                fewer = claims.by_reals(made.numbers, made.record, lower.bound, upper.bound)
            else:
                rounded = claims.by_reals(made.numbers, made.record, made.low, made.low, rounded=True)
                fewer = None if rounded is None else claims.without_spare(rounded)
        return replace(made, irreducible=False) if fewer is None else fewer

    def _by_few(self, record: int, state: int, since: int) -> Proved | None:
        """Among the smallest answers that bear on the record: what few prove may be less, and is enough."""
        told = [number for number in self._standing.support_of(record) if number in self._used]
        near = (self._near(record, since, most) for most in (*NEAR, FEW))
        tried: list[int] = []
        for numbers in chain([told] if told else [], near):
            if numbers == tried:
                continue  # there are no more of them
            tried = numbers
            found = self._by_reals(numbers, record, state)
            if found is not None:
                return found
        return None

    def _digits(self, numbers: Sequence[int]) -> bool:
        return any(self._part.sources[number].fact.digits for number in numbers)

    def _named(self, found: Proved) -> tuple[Proved, Sequence[Source]]:
        return found, [self._part.sources[number] for number in found.numbers]

    def _of_one(self, record: int, number: int) -> Proved:
        value = int(self._standing.truth[record])
        end = End(((number, Fraction(1)),), Fraction(value))
        kind = "integers" if self._part.sources[number].fact.digits else "reals"
        return Proved(record, value, value, (number,), kind, end, end)  # type: ignore[arg-type]

    def _of_two(self, record: int) -> tuple[Proved, Sequence[Source]] | None:
        """Two answers that differ by the record alone."""
        pair = None if self._differences is None else self._differences.of(np.array([record]))
        if pair is None:
            return None
        so_far, value = self._standing, int(self._standing.truth[record])
        answers = []
        for source in pair:
            query = query_of(source.fact)
            answers.append(query.answered(int(query.of(so_far.truth))))
        found = Claims(len(so_far.truth), so_far.top, answers).by_reals([0, 1], record, value, value)
        if found is None or len(found.numbers) < 2:
            return None
        return found, list(pair)

    def _near(self, record: int, since: int, most: int) -> list[int]:
        usable = (number for number in range(since) if number in self._used)
        return nearest(self._answers, usable, record, most, len(self._standing.truth))

    def _by_reals(self, numbers: Sequence[int], record: int, state: int) -> Proved | None:
        claims = self._claims
        if self._digits(numbers):
            return None
        ends = claims.interval(numbers, record)
        if state_between(*ends, self._standing.standard) < state:
            return None
        used = claims.support(numbers, record)
        return claims.by_reals(used, record, *ends) or claims.by_reals(numbers, record, *ends)

    def _rounded(self, numbers: Sequence[int], record: int, state: int) -> Proved | None:
        """Two sums with no other grid value between them: by integers, and anybody adds it up."""
        claims, value = self._claims, int(self._standing.truth[record])
        if state != EXACT or self._digits(numbers):
            return None
        least, most = claims.interval(numbers, record)
        if not ceil(least) == floor(most) == value:
            return None
        used = claims.support(numbers, record)
        tried = (claims.by_reals(some, record, value, value, rounded=True) for some in (used, numbers))
        found = next(filter(None, tried), None)
        return None if found is None else claims.without_spare(found)

    def _by_integers(self, numbers: Sequence[int], record: int, state: int) -> Proved | None:
        so_far = self._standing
        low, high = int(so_far.low[record]), int(so_far.high[record])
        allowed = [int(so_far.truth[record])] if state == EXACT else list(range(low, high + 1))
        return self._claims.by_integers(numbers, record, allowed)


def certificate(
    part: PartyColumn, found: Proved, sources: Sequence[Source], name: str, rows: int = 1
) -> Certificate:
    """A proof as an audit shows it.

    Args:
        part: The party's column.
        found: The proof.
        sources: Where its answers come from, in their order.
        name: What the record is called.
        rows: Of how many rows it is the total.
    """
    names = {number: f"A{place + 1}" for place, number in enumerate(found.numbers)}
    lower = dict(found.lower.terms) if found.lower else {}
    upper = dict(found.upper.terms) if found.upper else {}
    terms = []
    for number, source in zip(found.numbers, sources, strict=True):
        weight = lower.get(number, upper.get(number)) if found.kind == "reals" else None
        kind = source.fact.kind
        terms.append(
            Term(
                source.cited,
                names[number],
                kind,
                len(source.fact.records),
                value_of(part, source),
                weight,
                source.sql,
            )
        )
    equation, sql = _equation(part, found, sources, names, rows)
    return Certificate(found.kind, tuple(terms), _sentence(part, found, terms, name, rows), equation, sql)


def direct(part: PartyColumn, source: Source, name: str) -> Certificate:
    """The row itself was read."""
    value = value_of(part, source)
    term = Term(source.cited, "A1", "row", 1, value, Fraction(1), source.sql)
    column = part.column.protect.column
    sentence = f"Statement {source.cited.number} read the row of {name}: {column} = {written(value)}."
    return Certificate("direct", (term,), sentence, f"x = A1 = {written(value)}", source.sql)


def value_of(part: PartyColumn, source: Source) -> Fraction:
    """What a source says, in units of the column: Σ coefficient · value, or the extreme."""
    query = query_of(source.fact)
    protect, units = part.column.protect, int(query.of(part.so_far.truth))
    if query.kind != "sum":
        return protect.minimum + protect.grid * units
    weight = len(query.members) if query.coefficients is None else int(query.coefficients.sum())
    return protect.minimum * weight + protect.grid * units


def written(value: Fraction) -> str:
    """A number as people write it."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = format(float(value), ".12g")
    return decimal if Fraction(decimal) == value else f"{value.numerator}/{value.denominator}"


def _weight(source: Source) -> int:
    fact = source.fact
    return len(fact.records) if fact.coefficients is None else int(fact.coefficients.sum())


def _side(
    part: PartyColumn, end: End, sources: dict[int, Source], names: dict[int, str], rows: int
) -> tuple[str, str]:
    """One end of a claim as text and as SQL: Σ λ A + constant."""
    protect = part.column.protect
    rest = end.bound - sum(
        (weight * _units(part, sources[number]) for number, weight in end.terms), start=Fraction(0)
    )
    shift = sum((weight * _weight(sources[number]) for number, weight in end.terms), start=Fraction(0))
    constant = protect.minimum * (rows - shift) + protect.grid * rest
    parts = [(weight, names[number], _recomputed(sources[number])) for number, weight in end.terms]
    text = _added(
        [(weight, written(abs(weight)) + " ", named) for weight, named, _ in parts], constant, written
    )
    if not all(asked for _, _, asked in parts):
        return text, ""
    factors = [(weight, f"{_sql_number(abs(weight))} * ", f"({asked})") for weight, _, asked in parts]
    return text, _added(factors, constant, _sql_number)


def _added(
    parts: Sequence[tuple[Fraction, str, str]], constant: Fraction, number: Callable[[Fraction], str]
) -> str:
    """Weights times names, and a constant, as a sum."""
    text = ""
    for weight, size, name in parts:
        sign = ("- " if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += sign + ("" if abs(weight) == 1 else size) + name
    if text and not constant:
        return text
    if not text:
        return number(constant) if constant >= 0 else f"-{number(-constant)}"
    return f"{text} {'-' if constant < 0 else '+'} {number(abs(constant))}"


def _units(part: PartyColumn, source: Source) -> int:
    return int(query_of(source.fact).of(part.so_far.truth))


def _recomputed(source: Source) -> str:
    """SQL of Σ coefficient · value, in units of the column."""
    if source.fact.factor is None or not source.sql:
        return ""
    if source.fact.factor == 1:
        return source.sql
    return f"{_sql_number(source.fact.factor)} * ({source.sql})"


def _sql_number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"({value.numerator}.0 / {value.denominator})"


def _equation(
    part: PartyColumn, found: Proved, sources: Sequence[Source], names: dict[int, str], rows: int
) -> tuple[str, str]:
    by_number = dict(zip(found.numbers, sources, strict=True))
    minimum, unit = part.column.protect.minimum * rows, part.column.protect.grid
    if found.lower is None or found.upper is None:
        values = [f"{names[n]} = {written(value_of(part, s))}" for n, s in by_number.items()]
        low, high = (minimum + unit * end for end in (found.low, found.high))
        claim = f"x = {written(low)}" if low == high else f"{written(low)} <= x <= {written(high)}"
        return f"{', '.join(values)}: {claim} in every table on the grid", ""
    lower, sql = _side(part, found.lower, by_number, names, rows)
    if found.lower.terms == found.upper.terms and found.lower.bound == found.upper.bound:
        bound = written(minimum + unit * found.lower.bound)
        return f"x = {lower} = {bound}", f"SELECT {sql} AS value" if sql else ""
    upper, other = _side(part, found.upper, by_number, names, rows)
    ends = [written(minimum + unit * end.bound) for end in (found.lower, found.upper)]
    left = lower if not found.lower.terms else f"{ends[0]} = {lower}"
    right = upper if not found.upper.terms else f"{upper} = {ends[1]}"
    equation = f"{left} <= x <= {right}"
    if found.kind == "integers":
        equation += f", so x = {written(minimum + unit * found.low)} on the grid"
    return equation, f"SELECT {sql} AS lower, {other} AS upper" if sql and other else ""


def _sentence(part: PartyColumn, found: Proved, terms: Sequence[Term], name: str, rows: int) -> str:
    protect = part.column.protect
    low, high = (written(protect.minimum * rows + protect.grid * end) for end in (found.low, found.high))
    what = f"is {low}" if low == high else f"lies between {low} and {high}"
    statements = sorted({term.statement.number for term in terms})
    numbers = ", ".join(map(str, statements[:8])) + (" …" if len(statements) > 8 else "")
    asked = f"statement {numbers}" if len(statements) == 1 else f"statements {numbers}"
    answers = f"{len(terms)} answers together" if len(terms) > 1 else "one answer"
    leave = "leave" if len(terms) > 1 else "leaves"
    grid = f"{written(protect.minimum)} to {written(protect.maximum)} in steps of {written(protect.grid)}"
    if found.kind == "reals":
        how = "they add up to it" if len(terms) > 1 else "it says so"
    elif found.lower is not None:
        how = f"of the values from {grid} no other lies between the bounds that they add up to"
    else:
        how = f"no other table of values from {grid} agrees with them"
    needed = " None of them can be left out." if len(terms) > 1 and found.irreducible else ""
    subject = f"{protect.column} of {name}" if rows == 1 else name
    return f"{subject} {what}: {answers} ({asked}) {leave} nothing else; {how}.{needed}"
