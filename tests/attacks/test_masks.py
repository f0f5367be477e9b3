"""Masks (DataSHIELD's vector with a single 1; Huth et al. 2023, linearly independent vectors).

Asked: the column times a vector of zeros and a single one; the column times vectors of plus and minus one
over eight persons, as many of them as there are persons.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .arena import attacked, locates_nobody, people


@pytest.mark.slow
def test_a_vector_with_a_single_one_locates_nobody(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "zero-one-mask", people(24, 5)), answered=False)


@pytest.mark.slow
def test_independent_vectors_locate_nobody(tmp_path: Path) -> None:
    locates_nobody(attacked(tmp_path, "independent-vectors", people(24, 5)))
