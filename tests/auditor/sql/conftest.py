"""Makes `gate_double` importable: test modules are imported by path, which finds no module beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
