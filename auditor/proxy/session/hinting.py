"""Where a hint stands in an error: in the message, or in a field of its own. Once; nobody sees it twice.

Most programs show it only in the message (ODBC, node's), and libpq's put the field behind the message: there
whoever gets both sees it twice, and nothing in a startup message tells these two kinds apart. So it stands in
the message, unless the client says otherwise: by the name of a program that shows the field apart, or by a
setting.
"""

from __future__ import annotations

from dataclasses import replace

from auditor.proxy.protocol import ErrorFields
from auditor.proxy.session.settings import Settings

SHOW_THE_FIELD = frozenset({"psql", "pgcli"})
"""Names of programs that people read, and that write `HINT:` on a line of its own."""


def placed(fields: ErrorFields, settings: Settings) -> ErrorFields:
    """An error as this client should get it."""
    where = settings["cae_sql.hint"]
    if where == "auto":
        where = "field" if settings["application_name"] in SHOW_THE_FIELD else "message"
    if not fields.hint or where == "field":
        return fields
    return replace(fields, message=f"{fields.message.removesuffix('.')}. Hint: {fields.hint}", hint="")
