"""pgAdmin's application in this process, as on a desktop: with a folder of its own, and nobody to log in."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

home = Path(tempfile.mkdtemp())
(home / "config_local.py").write_text(
    "SERVER_MODE = False\nMASTER_PASSWORD_REQUIRED = False\nUSE_OS_SECRET_STORAGE = False\n"
    "WTF_CSRF_ENABLED = False\nUPGRADE_CHECK_ENABLED = False\nCONSOLE_LOG_LEVEL = 50\n"
    f"DATA_DIR = {str(home)!r}\nLOG_FILE = {str(home / 'log')!r}\nSQLITE_PATH = {str(home / 'db')!r}\n"
    f"SESSION_DB_PATH = {str(home / 'sessions')!r}\nSTORAGE_DIR = {str(home / 'storage')!r}\n"
    f"AZURE_CREDENTIAL_CACHE_DIR = {str(home / 'azure')!r}\n"
)
os.environ.update(PGADMIN_SETUP_EMAIL="a@example.org", PGADMIN_SETUP_PASSWORD="secret1")
import pgadmin4  # noqa: E402

sys.path[:0] = [str(home), next(iter(pgadmin4.__path__))]
import builtins  # noqa: E402

builtins.SERVER_MODE = False  # type: ignore[attr-defined]
import config  # noqa: E402, F401 -- first, or pgAdmin imports itself in a circle
from pgadmin import create_app  # noqa: E402

app = create_app()
app.config.update(WTF_CSRF_ENABLED=False, PGADMIN_RUNTIME=True)
app.PGADMIN_INT_KEY, app.PGADMIN_RUNTIME = "", True
with app.test_request_context():
    app.run_before_app_start()
