"""Every module can be imported: also on the least versions of what the project depends on."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import auditor
import cae_sql
import udfs


def test_every_module_can_be_imported():
    found = [
        module.name
        for package in (cae_sql, udfs, auditor)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=_raised)
    ]
    for name in found:
        import_module(name)
    assert {"cae_sql.risk", "udfs.functions", "auditor.gate.gate"} <= set(found)


def _raised(name):
    raise ImportError(f"{name} cannot be imported")
