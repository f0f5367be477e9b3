"""Ask a confidential column exact questions; be refused what would locate a person.

Promise: importing `auditor` is cheap. Each name below is imported from its module when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.decision import Decision
    from auditor.errors import (
        AuditorError,
        DatabaseError,
        DataChanged,
        LedgerError,
        NewerEdition,
        PolicyError,
        QueryRefused,
        QueryUnsupported,
    )
    from auditor.gate.gate import Answer, Gate
    from auditor.history.audit import audit
    from auditor.policy.policy import Policy

__version__ = "0.1.0"
"""Of the whole distribution; the build reads it here."""

__all__ = [
    "Answer",
    "AuditorError",
    "DataChanged",
    "DatabaseError",
    "Decision",
    "Gate",
    "LedgerError",
    "NewerEdition",
    "Policy",
    "PolicyError",
    "QueryRefused",
    "QueryUnsupported",
    "audit",
]

_HOMES = {
    "Answer": "auditor.gate.gate",
    "AuditorError": "auditor.errors",
    "DataChanged": "auditor.errors",
    "DatabaseError": "auditor.errors",
    "Decision": "auditor.decision",
    "Gate": "auditor.gate.gate",
    "LedgerError": "auditor.errors",
    "NewerEdition": "auditor.errors",
    "Policy": "auditor.policy.policy",
    "PolicyError": "auditor.errors",
    "QueryRefused": "auditor.errors",
    "QueryUnsupported": "auditor.errors",
    "audit": "auditor.history.audit",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'auditor' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
