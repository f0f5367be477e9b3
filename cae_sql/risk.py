"""How much of the domain's uncertainty is left: the risk of a candidate distribution, of classes, and limits
on both.

Risk = 1 − A / A_prior, A_prior the area of the uniform distribution on the domain. 0: nothing excluded; 1:
exact disclosure. It is reported as it comes out: a distribution that favours both ends of the domain can have
slightly more area than the uniform one, and so a risk slightly below 0. On a domain of a single value
everything is known before any answer: the risk is 1.

Rounding. Limits are compared with a tolerance of 10⁻¹², in favour of the distribution: a risk of exactly ½
keeps the limit ½, whatever the last digits. An entropy of 10⁻¹² bits or less counts as none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cae_sql.candidates import check_inside, mixture, spans
from cae_sql.domain import Domain, exact
from cae_sql.errors import InvalidInput
from cae_sql.measure import uniform_area, uniform_entropy
from cae_sql.measure.curve import curve_of, entropy_of
from cae_sql.measure.distribution import Distribution, distribution, is_number, non_negative
from cae_sql.measure.uniform import checked_count, entropies_of_windows

TOLERANCE = 1e-12
"""Within this, figures that went through different roundings are taken to be equal."""

_CHUNK = 1 << 20

Epsilon = int | float | Fraction


@dataclass(frozen=True)
class Risk:
    """The figures of one candidate distribution."""

    initial_entropy: float
    """H0 in bits."""
    entropy_at_epsilon: float | None
    """H(ε) in bits at the ε that was asked for; None without one."""
    area: float
    """A in bits × units of the column."""
    risk: float
    """1 − A / A_prior; 1 on a domain of a single value."""


@dataclass(frozen=True)
class Limit:
    """What must stay uncertain: a bound on the risk, on the entropy at an approximate compromise range, or
    both.

    Raises:
        InvalidInput: neither risk nor epsilon; a min_entropy without epsilon; a figure out of range.
    """

    risk: float | None = None
    """Risk must stay <= this, 0 … 1."""
    epsilon: float | None = None
    """Approximate compromise range, in units of the column, >= 0."""
    min_entropy: float | None = None
    """H(epsilon) must stay >= this many bits, > 0; None: anything above 0."""

    def __post_init__(self) -> None:
        if self.risk is None and self.epsilon is None:
            raise InvalidInput("a limit needs risk, epsilon, or both")
        if self.risk is not None and not (is_number(self.risk) and 0 <= self.risk <= 1):
            raise InvalidInput(f"risk must lie between 0 and 1, not {self.risk!r}")
        if self.epsilon is not None:
            non_negative(self.epsilon, "epsilon")
        if self.min_entropy is not None:
            if self.epsilon is None:
                raise InvalidInput("min_entropy needs an epsilon at which it is to hold")
            if non_negative(self.min_entropy, "min_entropy") == 0:
                raise InvalidInput("min_entropy must be greater than 0; leave it out for anything above 0")

    def keeps(self, values: ArrayLike, probabilities: ArrayLike | None, domain: Domain) -> bool:
        """Whether this candidate distribution is uncertain enough.

        Args:
            values: (n,) candidate values inside the domain.
            probabilities: (n,) weights; None: equally likely.
            domain: What was possible before any answer.

        Raises:
            InvalidInput: bad values or weights; `.position` where one element is at fault.
        """
        return self.allows(risk_of(values, probabilities, domain, self.epsilon))

    def allows(self, figures: Risk) -> bool:
        """Whether figures that were computed at this limit's epsilon keep it.

        Raises:
            InvalidInput: the limit has an epsilon and the figures do not.
        """
        if self.epsilon is not None:
            if figures.entropy_at_epsilon is None:
                raise InvalidInput("the figures were computed without the limit's epsilon")
            if not bool(self._enough(np.asarray(figures.entropy_at_epsilon))):
                return False
        return self.risk is None or figures.risk <= self.risk + TOLERANCE

    def least_run(self, domain: Domain) -> int | None:
        """The least m such that m, m + 1, …, domain.count equally likely neighbouring values all keep the
        limit.

        Returns:
            m, or None where even the whole domain breaks the limit: nothing could ever be answered under it.
        """
        if not self.allows(risk_of_run(domain.count, domain, self.epsilon)):
            return None
        return max(self._least_by_area(domain), self._least_by_entropy(domain))

    def least_span(self, domain: Domain) -> int:
        """The least m such that m neighbouring values might keep the limit, however likely each is.

        Below it nothing does. Of whatever distribution over them, windows of k + 1 neighbouring values make
        ⌈m / (k + 1)⌉ blocks, so H(k · step) <= log2 ⌈m / (k + 1)⌉, and A is at most the sum over k of that.
        """
        low, high = 1, domain.count
        while low < high:
            middle = (low + high) // 2
            if self._might_keep(middle, domain):
                high = middle
            else:
                low = middle + 1
        return low

    def _might_keep(self, count: int, domain: Domain) -> bool:
        if self.epsilon is not None:
            window = min(int(exact(self.epsilon) // exact(domain.step)) + 1, count)
            if not bool(self._enough(np.log2(np.asarray(float(-(-count // window))) + TOLERANCE))):
                return False
        if self.risk is None:
            return True
        blocks = -(-count // np.arange(1, min(count, _CHUNK) + 1))
        area = float(np.log2(blocks).sum() * float(exact(domain.step)))
        return count > _CHUNK or _risk(area * (1 + TOLERANCE), domain) <= self.risk + TOLERANCE

    def _enough(self, entropy: NDArray[np.float64]) -> NDArray[np.bool_]:
        least = TOLERANCE if self.min_entropy is None else max(float(self.min_entropy) - TOLERANCE, TOLERANCE)
        return entropy > least if self.min_entropy is None else entropy >= least

    def _least_by_area(self, domain: Domain) -> int:
        if self.risk is None:
            return 1
        low, high = 1, domain.count  # the area of a run rises with its length, so halving finds the turn
        while low < high:
            middle = (low + high) // 2
            area = uniform_area(middle, exact(domain.step))
            if _risk(area, domain) <= self.risk + TOLERANCE:
                high = middle
            else:
                low = middle + 1
        return low

    def _least_by_entropy(self, domain: Domain) -> int:
        if self.epsilon is None:
            return 1
        window = min(int(exact(self.epsilon) // exact(domain.step)) + 1, domain.count)
        for last in range(domain.count, 0, -_CHUNK):  # from the longest run down
            runs = np.arange(max(last - _CHUNK, 0) + 1, last + 1)
            short = np.flatnonzero(~self._enough(entropies_of_windows(runs, window)))
            if short.size:
                return int(runs[short[-1]]) + 1
        return 1


def risk_of(
    values: ArrayLike, probabilities: ArrayLike | None, domain: Domain, epsilon: Epsilon | None = None
) -> Risk:
    """The figures of a candidate distribution (paper 000, Section 3; risk: 1 − A / A_prior).

    Args:
        values: (n,) candidate values inside the domain.
        probabilities: (n,) weights; None: equally likely.
        domain: What was possible before any answer.
        epsilon: Approximate compromise range at which H is wanted too, in units of the column.

    Raises:
        InvalidInput: bad values, weights or ε, or a value outside of the domain.
    """
    candidate = distribution(values, probabilities)
    check_inside(np.asarray(values, dtype=np.float64), domain, "values")
    return _figures(candidate, domain, epsilon)


def risk_of_run(count: int, domain: Domain, epsilon: Epsilon | None = None) -> Risk:
    """The figures of `count` equally likely neighbouring values of the domain, in closed form.

    Raises:
        InvalidInput: a count that is not 1 … domain.count, or a bad ε.
    """
    m = checked_count(count)
    if m > domain.count:
        raise InvalidInput(f"a run of {m} values does not fit into a domain of {domain.count}")
    step = exact(domain.step)
    area = domain.area if m == domain.count else uniform_area(m, step)
    return Risk(
        initial_entropy=uniform_entropy(m, step, 0),
        entropy_at_epsilon=None if epsilon is None else uniform_entropy(m, step, epsilon),
        area=area,
        risk=_risk(area, domain),
    )


@dataclass(frozen=True, eq=False)
class ClassRisks:
    """Figures per class, in ascending order of the label; all arrays (k,)."""

    label: NDArray[np.int64]
    """The classes that occur."""
    records: NDArray[np.int64]
    """How many records each has."""
    lower: NDArray[np.float64]
    """Least lower bound among them."""
    upper: NDArray[np.float64]
    """Greatest upper bound among them."""
    initial_entropy: NDArray[np.float64]
    entropy_at_epsilon: NDArray[np.float64] | None
    """None where no ε was asked for."""
    area: NDArray[np.float64]
    risk: NDArray[np.float64]


def class_risks(
    labels: ArrayLike, lower: ArrayLike, upper: ArrayLike, domain: Domain, epsilon: Epsilon | None = None,
    times: ArrayLike | None = None,
) -> ClassRisks:  # fmt: skip
    """The figures of every class: records that share a label are averaged by Algorithm 2 and measured.

    The figures depend on the shape of a distribution, not on its place; each shape is measured once, and a
    class whose records all have one interval is measured in closed form.

    Args:
        labels: (n,) class of each record, whole numbers.
        lower: (n,) bounds of each record, in units of the column.
        upper: (n,) as `lower`.
        domain: What was possible before any answer.
        epsilon: Approximate compromise range at which H is wanted too.
        times: (n,) how many records with these bounds each stands for; None: one.

    Raises:
        InvalidInput: bad bounds (see `candidates`) or labels; `.position` is the record.
    """
    found = spans(lower, upper, domain)
    code = _labels(labels, found.first.size)
    each = np.ones(code.size, dtype=np.int64) if times is None else _labels(times, code.size)
    order = np.lexsort((found.count, found.first, code))
    each = each[order]
    code, first, count = code[order], found.first[order], found.count[order]
    # Equal intervals within a class become one run with a weight; `begins` are the classes among the runs.
    new_class = np.concatenate([[True], code[1:] != code[:-1]])
    new_run = new_class.copy()
    new_run[1:] |= (first[1:] != first[:-1]) | (count[1:] != count[:-1])
    run = np.flatnonzero(new_run)
    weight = np.add.reduceat(each, run)
    begins = np.flatnonzero(new_class[run])
    measure = _measured_once(domain, epsilon)
    ends = np.append(begins[1:], run.size)
    figures = [
        measure(first[run[a:b]] - first[run[a]], count[run[a:b]], weight[a:b])
        for a, b in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    starts = np.flatnonzero(new_class)
    at = [f.entropy_at_epsilon for f in figures]
    return ClassRisks(
        label=code[starts],
        records=np.add.reduceat(each, starts),
        lower=np.minimum.reduceat(np.asarray(lower, dtype=np.float64)[order], starts),
        upper=np.maximum.reduceat(np.asarray(upper, dtype=np.float64)[order], starts),
        initial_entropy=np.array([f.initial_entropy for f in figures]),
        entropy_at_epsilon=None if epsilon is None else np.array(at, dtype=np.float64),
        area=np.array([f.area for f in figures]),
        risk=np.array([f.risk for f in figures]),
    )


_Measure = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], Risk]


def _measured_once(domain: Domain, epsilon: Epsilon | None) -> _Measure:
    """The figures of a mixture of runs, remembered by its shape."""
    known: dict[tuple[bytes, bytes, bytes], Risk] = {}

    def measure(first: NDArray[np.int64], count: NDArray[np.int64], weight: NDArray[np.int64]) -> Risk:
        weight = weight // np.gcd.reduce(weight)
        shape = (first.tobytes(), count.tobytes(), weight.tobytes())
        if shape not in known:
            if count.size == 1:
                known[shape] = risk_of_run(int(count[0]), domain, epsilon)
            else:
                positions, p = mixture(first, count, weight)
                known[shape] = _figures(Distribution(positions, p, exact(domain.step)), domain, epsilon)
        return known[shape]

    return measure


def _figures(candidate: Distribution, domain: Domain, epsilon: Epsilon | None) -> Risk:
    curve = curve_of(candidate)
    return Risk(
        initial_entropy=curve.initial_entropy,
        entropy_at_epsilon=None if epsilon is None else entropy_of(candidate, candidate.steps(epsilon)),
        area=curve.area,
        risk=_risk(curve.area, domain),
    )


def _risk(area: float, domain: Domain) -> float:
    if domain.area == 0:
        return 1.0
    risk = 1.0 - area / domain.area
    return 0.0 if abs(risk) <= TOLERANCE else risk


def _labels(labels: ArrayLike, size: int) -> NDArray[np.int64]:
    code = np.asarray(labels)
    if code.ndim != 1 or code.dtype.kind not in "iu":
        raise InvalidInput("labels must be one-dimensional and whole numbers")
    if code.size != size:
        position = min(code.size, size)
        raise InvalidInput(
            f"labels and bounds must have the same length, not {code.size} and {size}", position
        )
    return code.astype(np.int64)
