"""How much exact aggregates give away about single records, and how bad that is.

The measure is Confidential Attribute Equivocation (Alfalayleh & Brankovic): `cae_entropy`, `cae_area`,
`cae_curve`. `AnsweredSystem` holds answered aggregates and what an intruder can infer from them;
`candidates` turns that into the distributions that the measure scores. No SQL, no database, no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# at once, and not late as the others: importing the module of this name first would hide the function
from cae_sql.candidates import candidates
from cae_sql.domain import Domain
from cae_sql.errors import CaeSqlError, InconsistentAnswers, InvalidInput, OutOfTime

if TYPE_CHECKING:
    from cae_sql.inference.intervals.bounds import Bounds
    from cae_sql.inference.intervals.certificates import Certificate
    from cae_sql.inference.posterior.marginals import Marginals, ModelRisks, marginals, model_risks
    from cae_sql.inference.system import AnsweredSystem
    from cae_sql.measure import EntropyCurve, cae_area, cae_curve, cae_entropy

__all__ = [
    "AnsweredSystem",
    "Bounds",
    "CaeSqlError",
    "Certificate",
    "Domain",
    "EntropyCurve",
    "InconsistentAnswers",
    "InvalidInput",
    "Marginals",
    "ModelRisks",
    "OutOfTime",
    "cae_area",
    "cae_curve",
    "cae_entropy",
    "candidates",
    "marginals",
    "model_risks",
]

_HOMES = {
    "AnsweredSystem": "cae_sql.inference.system",
    "Bounds": "cae_sql.inference.intervals.bounds",
    "Certificate": "cae_sql.inference.intervals.certificates",
    "EntropyCurve": "cae_sql.measure",
    "Marginals": "cae_sql.inference.posterior.marginals",
    "ModelRisks": "cae_sql.inference.posterior.marginals",
    "cae_area": "cae_sql.measure",
    "cae_curve": "cae_sql.measure",
    "cae_entropy": "cae_sql.measure",
    "marginals": "cae_sql.inference.posterior.marginals",
    "model_risks": "cae_sql.inference.posterior.marginals",
}


def __getattr__(name: str) -> Any:
    """Import late: compiled kernels and solvers cost half a second that a command's `--help` need not pay."""
    from importlib import import_module

    if name == "releases":  # a package of its own, there without a second import
        return import_module("cae_sql.releases")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
