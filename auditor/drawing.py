"""Matplotlib for the command line, without the settings of the working directory.

Promise: no `matplotlibrc` that lies where the command was started is read: it could name programs to run. For
commands alone, which have one thread when they begin to draw: the process is in an empty folder meanwhile.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile

from auditor.errors import StatementError


def require_matplotlib(missing: str) -> None:
    """Import Matplotlib, or say at once that there is none.

    Args:
        missing: What to say if there is none.

    Raises:
        StatementError: Matplotlib is missing.
    """
    if sys.modules.get("matplotlib") is not None:
        return
    try:
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            import matplotlib  # noqa: F401 -- its settings are read now, and only now
    except ImportError as error:
        raise StatementError(missing) from error
