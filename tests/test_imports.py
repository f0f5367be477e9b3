"""Every module can be imported by itself: also on the least versions of what the project depends on."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

import auditor
import cae_sql
import udfs


@pytest.mark.parametrize(
    "package", [pytest.param(each, id=each.__name__) for each in (cae_sql, udfs, auditor)]
)
def test_every_module_is_imported(package):
    found = [
        module.name
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=_raised)
    ]
    for name in found:
        import_module(name)
    assert len(found) > 3


def _raised(name):
    raise ImportError(f"{name} cannot be imported")
