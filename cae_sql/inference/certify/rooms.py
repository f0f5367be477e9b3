"""Slack of a table: how far each part can fall and rise, and how far its records get.

All rooms are divided in two, one part for a record, one for an insider, and counted as if both had nothing to
give themselves. What pays for two different records' moves may be the same part, since each keeps to its own
share of every room.

Where units have several records, what is said of a record is said of all that a unit has in a part: these
go n times as far, n by the unit with most of them there. A unit's parts share rooms (`sharing`). A basis has
of parts with units that are elsewhere, too, what the records of two of them leave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cae_sql.inference import sizes
from cae_sql.inference.facts.extremes import Pins, bounds_of
from cae_sql.inference.facts.knowledge import Knowledge
from cae_sql.inference.facts.query import Ints
from cae_sql.inference.facts.units import NONE
from cae_sql.inference.tables.exchange import Tables
from cae_sql.inference.tables.kernel_moves import UnitsByPart

ENOUGH = 2**60
"""Width that is more than anybody needs."""
FINE = 10**6
"""Also where a record and an insider have more steps to go: floats do not tell such fractions apart."""


class Wanted(NamedTuple):
    """Parts (p',) for which evidence is wanted."""

    own: NDArray[np.bool_]
    """That their records take a run that is long enough."""
    free: NDArray[np.bool_]
    """That their records, as insiders, may have any value meanwhile."""


class Judged(NamedTuple):
    """What one judgement asks."""

    boxes: Knowledge
    """The parts with the boxes of this judgement."""
    pins: Pins
    """The held records."""
    need: int
    """Width that everybody should keep: greatest minus least value, in units."""
    insiders: int
    """0 or 1 individuals who know their own value."""
    wanted: Wanted | None = None
    """For which parts; by default for all that have protected records."""


class Rooms:
    """The rooms of one judgement, measured. Shapes: p' parts."""

    def __init__(self, judged: Judged, tables: Tables, drawing: NDArray[np.bool_] | None = None) -> None:
        """What is shown is shown for all of the tables; `drawing` (p',) are parts in a sum (None: all)."""
        boxes, pins, need, insiders, wanted = judged
        bounds = bounds_of(boxes, pins)
        self.insiders = insiders
        self.loose = boxes.sizes - pins.count
        self.whole = (self.loose > 0) & (self.loose == boxes.sizes)
        """(p',) parts of which nobody is held."""
        self.down, self.up = tables.least - bounds.least, bounds.most - tables.most
        self._set_units(boxes, np.ones(boxes.count, dtype=np.bool_) if drawing is None else drawing)
        self._set_ends(boxes, pins)
        self.widest = boxes.widest
        """Widest box of somebody: further nobody needs to go."""
        whole = need + (self.widest if insiders else 0)
        self.share = need / max(whole, 1)
        """Part of every room that is for the record itself; the rest is for the insider. The same for all: an
        insider and a record whose boxes differ draw on the same rooms."""
        theirs = boxes.protected
        self.asked = (
            Wanted(theirs, theirs) if wanted is None else Wanted(theirs & wanted.own, theirs & wanted.free)
        )
        """For which parts evidence is wanted."""
        self.single = boxes.count > sizes.SINGLE or whole > FINE
        """Whether single floats are enough: rooms then count a little less than they are."""
        self.slack = 0.0 if self.single else 1e-9

    def _set_units(self, boxes: Knowledge, drawing: NDArray[np.bool_]) -> None:
        """Whose records are where, and what parts give without some of them."""
        self.occupied, self.drawing, both = boxes.atoms.occupied, drawing, (self.down, self.up)
        self.heaviest = np.maximum(self.occupied.heaviest, 1)
        """(p',) records of the unit that has most in a part: all of them move together."""
        self.several = self.occupied.shared(drawing)
        """(p',) parts with a unit that is in others, too."""
        self.divisions = np.ones(boxes.count, dtype=np.int64)
        """(p',) one part in so many of every room is for each (`sharing`)."""
        whose = self.occupied.by_part if self.several.any() else (NONE,) * 4
        self.units = UnitsByPart(*whose, self.insiders)
        self.inside: Ints = np.zeros(boxes.count, dtype=np.int64)
        """(p',) what of its rooms a part keeps for records that stay inside."""
        two = self.occupied.heaviest + self.insiders * self.occupied.second
        self.own = tuple(without(room, self.loose, two) for room in both)
        """What a record's fellows give it, down and up: without itself, and without the insider."""
        alone = (without(room, self.loose, self.heaviest) for room in both)
        self.kept = tuple(
            np.where(boxes.protected, each, room) for each, room in zip(alone, both, strict=True)
        )
        """What a part gives where one unit gives nothing; spare records give all they have."""
        # of a basis, whose parts are not chosen, the judged unit and the insider may be in any
        self.giving = tuple(
            np.where(self.several, own, room) for own, room in zip(self.own, both, strict=True)
        )
        self.left = tuple(
            np.where(self.several, own, each) for own, each in zip(self.own, self.kept, strict=True)
        )
        """What basic parts give, all of them and where one unit gives nothing."""

    def _set_ends(self, boxes: Knowledge, pins: Pins) -> None:
        """Between which values records are, and between which they may be."""
        least, most = boxes.own
        span, within = most - least, boxes.low - least
        loose = np.maximum(self.loose, 1)
        # where in its own box a record may be: least + (first ... last)
        first = np.where(self.loose > 0, within + self.down // loose, span)
        last = np.where(self.loose > 0, boxes.high - least - self.up // loose, 0)
        last = np.where(self.loose > 0, np.maximum(last, first), 0)
        self.first = np.where(pins.bottom > 0, 0, first)
        self.last = np.where(pins.top > 0, span, last)
        self.span, self.box = span, boxes.high - boxes.low
        """(p',) widths of the boxes: a record's own, and the one that tables keep it in."""

    @property
    def count(self) -> int:
        """Parts."""
        return len(self.span)

    @property
    def kind(self) -> type[np.floating]:
        """Of the floats that are taken."""
        return np.float32 if self.single else np.float64

    def ends(self, parts: Ints) -> tuple[Ints, Ints, Ints]:
        """(3, a) of some parts `span`, `first` and `last`, of all records of the heaviest unit together."""
        times = self.heaviest[parts]
        return self.span[parts] * times, self.first[parts] * times, self.last[parts] * times

    def nearer(self, parts: Ints) -> Ints:
        """(a,) how far some parts can go to their nearer side, one of their records left out."""
        left = np.minimum(self.kept[0][parts], self.kept[1][parts])
        return np.where(self.loose[parts] > 1, left, np.minimum(self.down[parts], self.up[parts]))

    def rich(self, need: int) -> NDArray[np.bool_]:
        """(p',) parts whose records all keep a run of width `need` inside of their own part, without a move.

        Of m records with values in [l, u] and total s, one takes every value of [max(l, s − (m−1) u),
        min(u, s − (m−1) l)]: of width min(T, s − ml) + min(T, mu − s) − T, with T = u − l. Where a second
        one has the value v, it is so of m − 1 records with the total s − v. Both rooms, s − ml and mu − s,
        shrink by at most T then. So with m ≥ 3 and both rooms at least T + need, the second one may have
        any value, and whatever it has the first one keeps `need`.

        Payers for other records take no more than the other's share of a room (`share`): `need` of T + need
        is left to a record, and T to an insider of the part. So it holds beside whatever else is shown of the
        same table.

        Of units with up to n records in the part the room is n (T + need), and what those besides two units
        have is enough for n · need.

        Source: the count of all tables of small atoms, in the tests.
        """
        whole = self.heaviest * (need + (self.box if self.insiders else 0))
        enough = (self.down >= whole) & (self.up >= whole) & (self.loose >= self.insiders + 2)
        both = self.occupied.heaviest + self.insiders * self.occupied.second
        enough &= (self.loose > both) & ((self.loose - both) * self.box >= self.heaviest * need)
        found: NDArray[np.bool_] = enough & (self.box == self.span)
        return found

    def keep_inside(self, closed: NDArray[np.bool_], need: int) -> None:
        """Keep what records of some parts, (p',), need to stay inside, from units that are in others too.

        A basis gives that to nobody.
        """
        self.inside = self.heaviest * (need + (self.box if self.insiders else 0)) * (closed & self.several)
        self.giving = tuple(np.maximum(each - self.inside, 0) for each in self.giving)
        self.left = tuple(np.maximum(each - self.inside, 0) for each in self.left)

    def scarce(self, parts: Ints) -> NDArray[np.floating]:
        """(4, a) 1 / room of some parts: down and up, then both without one record."""
        rooms = np.array([each[parts] for each in (*self.giving, *self.left)], dtype=np.float64)
        return (1.0 / np.maximum(rooms, 1e-25)).astype(self.kind)


class Far:
    """How far the records of each part go, by what was shown so far."""

    def __init__(self, rooms: Rooms) -> None:
        """Nothing is shown yet."""
        self.rooms = rooms
        self.widths: Ints = np.where(rooms.asked.own, -1, ENOUGH)
        """(p',) width shown; parts for which no evidence is wanted count as shown."""
        self.free: NDArray[np.bool_] = ~rooms.asked.free
        """(p',) whether, as an insider, each may have any value meanwhile."""

    def show(self, parts: Ints, width: int) -> None:
        """Take note that records of some parts keep this width, and may have any value as insiders."""
        self.widths[parts] = np.maximum(self.widths[parts], width)
        self.free[parts] = True

    def lacking(self, need: int) -> NDArray[np.bool_]:
        """(p',) parts that have too little."""
        return (self.widths < need) | ~self.free

    def left(self, need: int) -> Ints:
        """Parts that have too little."""
        return np.flatnonzero(self.lacking(need))

    def add(self, parts: Ints, ends: NDArray[np.floating], basic: Ints) -> None:
        """Take note of what the exchange inside of some parts (a,) and the basis show.

        `ends` (4, a) are those of `loads`. Basic parts get nothing from it: their columns are the exchange
        inside of them, counted already.
        """
        rooms = self.rooms
        ends[:, np.isin(parts, basic)] = 0
        own = np.array([room[parts] for room in rooms.own])
        reach = ends[2:] if rooms.insiders else ends[:2]
        span, first, last = rooms.ends(parts)
        heaviest, divisions = rooms.heaviest[parts], rooms.divisions[parts]

        def far(share: float) -> Ints:
            """(2, a) how far up and down out of a share of every room; an insider gives nothing."""
            inside, outside = (
                np.minimum(np.float64(share) / divisions * each + rooms.slack, span).astype(np.int64)
                for each in (own, reach)
            )
            found: Ints = inside + outside
            return found

        rise, fall = far(rooms.share)
        widths = np.minimum(
            np.minimum(span - first, rise) + np.minimum(first, fall),
            np.minimum(span - last, rise) + np.minimum(last, fall),
        )
        rise, fall = far(1.0 - rooms.share)
        free = (rise >= span - first) & (fall >= last) | (not rooms.insiders)
        self.widths[parts] = np.maximum(self.widths[parts], widths // heaviest)
        self.free[parts] |= free


def without(room: Ints, loose: Ints, apart: Ints) -> Ints:
    """What is left of a room when so many records of an atom have none to give, spread evenly as it is."""
    fair = -(-room // np.maximum(loose, 1))
    left: Ints = np.maximum(room - apart * fair - (apart - 1), 0)
    kept: Ints = np.where(loose > apart, left, 0)
    return kept
