"""Texts that differ in numbers of a public condition alone: what one of them teaches is read off another.

Programs and attackers send one statement thousands of times with other constants. Where the words after WHERE
are public columns, comparisons and arithmetic, and the numbers have the same types, the same order and the
same ones among them equal, reading does the same with each: numbers pass through as they are written. That is
tried for every shape before it is relied on: each number is changed alone, and may change nothing but where
it stands. Whoever asks has the engine's word on each text, as for any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from auditor.history.budget import LOWERED, ORDINARY
from auditor.history.lesson import Lesson
from auditor.sql.schema import Schema, folded

_PLAIN = re.compile(r"[A-Za-z_][\w\s.,()*+\-/<>=!]*")
"""No text, no quoted name, no parameter, no cast, one statement."""
_COMMENT = re.compile(r"--|/\*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])(?:0|[1-9]\d{0,8})(?:\.\d{1,9})?(?![\w.])")
"""Of a whole number 32 bits are enough, so that all have one type; of others digits say which they have."""
_CONDITION = re.compile(r"\bwhere\b", re.IGNORECASE)
_OPERATORS = frozenset(["and", "or", "not", "between", "in", "is", "null"])
_FUNCTIONS = frozenset(["abs", "ceil", "ceiling", "exp", "floor", "ln", "mod", "pow", "power", "sqrt"])
"""What may stand in a condition besides columns: a number means its value there and nothing else."""
_SPECIAL = ("0", "1")
"""Numbers that rules of rewriting may look for; a fraction of noughts is one too. They stay as they are."""
OFTEN = 3
"""Texts of a shape that are read before it pays to look for what they have in common."""
MOST_SHAPES = 1_000
"""Shapes that are kept; later ones are read one by one."""
Read = Callable[[str], Lesson]
Texts = tuple[str, ...]


@dataclass(frozen=True)
class _Shape:
    """A text without its numbers."""

    pieces: Texts
    """What stands between the numbers."""
    numbers: Texts
    """Different numbers, ascending."""
    places: tuple[int, ...]
    """Which number stands in each gap."""
    classes: Texts
    """Of each number what its type hangs on."""

    @property
    def name(self) -> tuple[Texts, tuple[int, ...], Texts]:
        """What texts have in common that are read alike."""
        return self.pieces, self.places, self.classes

    def text(self, numbers: Texts) -> str:
        """The text with other numbers."""
        return _filled(self.pieces, [numbers[place] for place in self.places])


@dataclass(frozen=True)
class _Template:
    """A lesson with gaps: for each text of its works, pieces and which number stands between them."""

    lesson: Lesson
    texts: tuple[tuple[Texts, tuple[int, ...]], ...]

    def filled(self, numbers: Texts) -> Lesson:
        """The lesson for some numbers."""
        made = iter(_filled(pieces, [numbers[place] for place in places]) for pieces, places in self.texts)
        works = tuple(replace(work, sql=next(made), shown=next(made)) for work in self.lesson.works)
        return replace(self.lesson, works=works)


class Alike:
    """What was read, by shape."""

    def __init__(self, schema: Schema) -> None:
        """Take the names of public columns."""
        protected = {folded(each.column) for each in schema.protected}
        public = {folded(column.name) for table in schema.tables for column in table.columns}
        self._columns = public - protected
        self._views = {folded(view.path[1]) for view in schema.views}
        self._seen: dict[object, int] = {}
        self._templates: dict[object, _Template | None] = {}

    def lesson(self, sql: str, dialect: str, read: Read) -> Lesson | None:
        """What a text teaches, if texts of its shape were read before; None: it is to be read itself.

        Args:
            sql: The text.
            dialect: Whose words it is read by.
            read: Reads a text itself.
        """
        shape = self._shape(sql)
        if shape is None:
            return None
        name = dialect, shape.name
        if name not in self._templates:
            if len(self._seen) >= MOST_SHAPES and name not in self._seen:
                return None
            self._seen[name] = self._seen.get(name, 0) + 1
            others = [_other(shape, place) for place in range(len(shape.numbers))]
            if self._seen[name] < OFTEN or None in others:
                return None
            self._templates[name] = _template(shape, tuple(filter(None, others)), read)
        template = self._templates[name]
        return None if template is None else template.filled(shape.numbers)

    def _shape(self, sql: str) -> _Shape | None:
        """A text's shape; None where it is not of the kind that is read alike."""
        if len(sql) > ORDINARY or not _PLAIN.fullmatch(sql) or _COMMENT.search(sql):
            return None
        conditions = list(_CONDITION.finditer(sql))
        if len(conditions) != 1:
            return None
        start = conditions[0].end()
        condition = sql[start:]
        before, after = ({folded(word) for word in _WORD.findall(part)} for part in (sql[:start], condition))
        if not after <= self._columns | _OPERATORS | _FUNCTIONS:
            return None
        # in a view, or given by the text itself, a name of the condition may be that of protected values
        if before & (self._views | (after - _OPERATORS)):
            return None
        spans = [
            match.span()
            for match in _NUMBER.finditer(condition)
            if match.group() not in _SPECIAL and float(match.group())
        ]
        if not spans:
            return None
        found = [condition[low:high] for low, high in spans]
        numbers = tuple(sorted(set(found), key=float))
        if len({float(text) for text in numbers}) < len(numbers):
            return None
        edges = [0, *(start + end for span in spans for end in span), len(sql)]
        pieces = tuple(sql[low:high] for low, high in zip(edges[::2], edges[1::2], strict=True))
        places = tuple(numbers.index(text) for text in found)
        return _Shape(pieces, numbers, places, tuple(_class_of(text) for text in numbers))


def _class_of(number: str) -> str:
    """What the type of a number hangs on."""
    whole, point, rest = number.partition(".")
    return f"{len(whole)}.{len(rest)}" if point else "whole"


def _filled(pieces: Texts, numbers: Iterable[str]) -> str:
    return "".join(part for pair in zip(pieces, (*numbers, ""), strict=True) for part in pair)


def _other(shape: _Shape, place: int) -> str | None:
    """A number that may stand for another: of its type, and between the same numbers; None: there is none."""
    number = shape.numbers[place]
    digits = len(number.partition(".")[2])
    near = [float(each) for each in shape.numbers if each != number]
    step = 10.0**-digits
    for away in (1, -1, 2, -2, 3, -3):
        value = float(number) + away * step
        text = f"{value:.{digits}f}"
        between = all((value > each) == (float(number) > each) and value != each for each in near)
        if between and value > 0 and text not in _SPECIAL and _class_of(text) == shape.classes[place]:
            return text
    return None


def _template(shape: _Shape, others: Texts, read: Read) -> _Template | None:
    """What texts of a shape teach, where each number is changed alone and changes where it stands alone."""
    lesson = read(shape.text(shape.numbers))
    written = _texts(lesson)
    if not written or sum(map(len, written)) > LOWERED // 2:
        return None
    spans = [[match.span() for match in _NUMBER.finditer(text)] for text in written]
    owners: list[dict[int, int]] = [{} for _ in written]
    for place, (number, other) in enumerate(zip(shape.numbers, others, strict=True)):
        changed = read(shape.text((*shape.numbers[:place], other, *shape.numbers[place + 1 :])))
        if replace(changed, works=()) != replace(lesson, works=()):
            return None
        if [replace(each, sql="", shown="") for each in changed.works] != [
            replace(each, sql="", shown="") for each in lesson.works
        ]:
            return None
        for text, new, gaps, own in zip(written, _texts(changed), spans, owners, strict=True):
            there = [(text[low:high]) for low, high in gaps]
            now = _NUMBER.findall(new)
            if len(now) != len(there) or _NUMBER.split(new) != _NUMBER.split(text):
                return None
            for gap, (before, after) in enumerate(zip(there, now, strict=True)):
                if before != after:
                    if (before, after) != (number, other) or gap in own:
                        return None
                    own[gap] = place
    return _Template(lesson, tuple(_gapped(*each) for each in zip(written, spans, owners, strict=True)))


def _gapped(text: str, spans: list[tuple[int, int]], own: dict[int, int]) -> tuple[Texts, tuple[int, ...]]:
    kept = sorted(own)
    edges = [0, *(end for gap in kept for end in spans[gap]), len(text)]
    pieces = tuple(text[low:high] for low, high in zip(edges[::2], edges[1::2], strict=True))
    return pieces, tuple(own[gap] for gap in kept)


def _texts(lesson: Lesson) -> Texts:
    return tuple(text for work in lesson.works for text in (work.sql, work.shown))
