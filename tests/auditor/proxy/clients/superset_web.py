"""Superset as a web server, at a port of loopback, until it is ended."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from superset_made import app

app.run(host="127.0.0.1", port=int(sys.argv[1]), threaded=True, use_reloader=False)
