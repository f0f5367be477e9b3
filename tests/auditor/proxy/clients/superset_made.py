"""Superset's application in this process: with a database of its own, and somebody who may do all."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

home = Path(tempfile.mkdtemp())
(home / "superset_config.py").write_text(
    f"SECRET_KEY = {'x' * 42!r}\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{home}/superset.db'\n"
    "WTF_CSRF_ENABLED = TALISMAN_ENABLED = RATELIMIT_ENABLED = False\n"
    "FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {'CACHE_TYPE': 'SimpleCache'}\n"
)
os.environ.update(SUPERSET_HOME=str(home), SUPERSET_CONFIG_PATH=str(home / "superset_config.py"))
logging.disable(logging.CRITICAL)
from superset.app import create_app  # noqa: E402

app = create_app()
with app.app_context():
    import superset
    from flask_migrate import upgrade
    from superset.extensions import appbuilder, security_manager

    upgrade(directory=str(Path(superset.__file__).parent / "migrations"))
    appbuilder.add_permissions(update_perms=True)
    security_manager.sync_role_definitions()
    role = security_manager.find_role("Admin")
    security_manager.add_user("admin", "a", "b", "a@example.org", role, password="admin")
