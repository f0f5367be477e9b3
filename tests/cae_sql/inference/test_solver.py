"""The one file that knows HiGHS."""

from __future__ import annotations

import subprocess
import sys

SOLVED = """
import numpy as np
from cae_sql.inference.solver import Program
one = np.ones(1)
program = Program(np.ones((1, 1), dtype=np.int64), one, one, 0 * one, 2 * one, np.ones(1, dtype=bool))
"""


def test_a_program_prints_nothing_of_its_own() -> None:
    """What a command prints may be read by another: a solver's banner would spoil it."""
    ran = subprocess.run([sys.executable, "-c", SOLVED], capture_output=True, check=True, text=True)
    assert ran.stdout == ""
    assert ran.stderr == ""
