"""pgAdmin's own server in this process, asked as its page asks: connect, tree, statistics, query tool, rows.

Prints a line for each request: what it was for, the status, and what of the answer shows that it is right.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from pgadmin_made import app

port, password = int(sys.argv[1]), os.environ["CAE_PASSWORD"]
page = app.test_client()


def ask(method: str, url: str, body: Any = None) -> tuple[int, Any]:
    """Status and content of one answer."""
    found = page.open(
        url, method=method, data=None if body is None else json.dumps(body),
        content_type="application/json", follow_redirects=True,
    )  # fmt: skip
    try:
        return found.status_code, json.loads(found.data)
    except ValueError:
        return found.status_code, None


def labels(url: str) -> tuple[int, dict[str, Any]]:
    """Nodes of the tree by what they are called."""
    status, found = ask("GET", url)
    nodes = (found or {}).get("data") or (found or {}).get("result") or []
    return status, {
        node["label"]: node["_id"] for node in nodes if isinstance(node, dict) and "label" in node
    }


def result(trans: int) -> tuple[int, Any]:
    """What the query tool shows."""
    for _ in range(100):
        status, found = ask("GET", f"/sqleditor/poll/{trans}")
        if (found.get("data") or {}).get("status") != "Busy":
            return status, (found["data"] or {}).get("result") or found["errormsg"].splitlines()[0]
        time.sleep(0.1)
    return 0, None


ask("GET", "/browser/")
server = {
    "name": "proxy", "host": "127.0.0.1", "port": port, "db": "staff", "username": "ana", "gid": 1,
    "connection_params": [{"name": "sslmode", "value": "prefer"}], "connect_now": False, "shared": False,
    "save_password": False, "use_ssh_tunnel": 0, "kerberos_conn": False,
}  # fmt: skip
_, made = ask("POST", "/browser/server/obj/1/", server)
at = f"1/{made['node']['_id']}"
print("connect", ask("POST", f"/browser/server/connect/{at}", {"password": password})[0])
status, databases = labels(f"/browser/database/nodes/{at}/")
print("databases", status, sorted(databases))
database = f"{at}/{databases['staff']}"
print(
    "database",
    ask("POST", f"/browser/database/connect/{database}", {})[0],
    ask("GET", f"/browser/database/obj/{database}")[0],
)
for kind in ("role", "tablespace"):
    print(kind, labels(f"/browser/{kind}/nodes/{at}/")[0])
for kind in (
    "cast",
    "catalog",
    "event_trigger",
    "extension",
    "foreign_data_wrapper",
    "language",
    "publication",
    "subscription",
):
    print(kind, labels(f"/browser/{kind}/nodes/{database}/")[0])
status, schemas = labels(f"/browser/schema/nodes/{database}/")
print("schemas", status, sorted(schemas))
schema = f"{database}/{schemas['public']}"
for kind in (
    "aggregate",
    "collation",
    "domain",
    "foreign_table",
    "function",
    "mview",
    "operator",
    "procedure",
    "sequence",
    "trigger_function",
    "type",
    "view",
):
    print(kind, labels(f"/browser/{kind}/nodes/{schema}/")[0])
status, tables = labels(f"/browser/table/nodes/{schema}/")
print("tables", status, sorted(tables))
table = f"{schema}/{tables['staff']}"
for what in ("obj", "sql", "children", "stats", "dependency", "dependent"):
    print(f"table {what}", ask("GET", f"/browser/table/{what}/{table}")[0])
for kind in ("index", "foreign_key", "rule", "trigger", "row_security_policy"):
    print(kind, labels(f"/browser/{kind}/nodes/{table}/")[0])
status, columns = labels(f"/browser/column/nodes/{table}/")
print("columns", status, sorted(columns))
_, column = ask("GET", f"/browser/column/obj/{table}/{columns['salary']}")
print("comment", column["description"].split(":")[0])
of = f"{at.split('/')[1]}/{databases['staff']}"
for what in ("activity", "locks", "prepared"):
    print(f"dashboard {what}", ask("GET", f"/dashboard/{what}/{of}")[0])
print(
    "dashboard stats", ask("GET", f"/dashboard/dashboard_stats/{of}?chart_names=session_stats,tps_stats")[0]
)
for trans, sql in enumerate(
    [
        "SELECT dept, COUNT(*), AVG(salary) FROM staff WHERE age > 25 GROUP BY dept ORDER BY dept",
        "SELECT AVG(salary) FROM staff WHERE id = 3",
    ],
    1,
):
    wanted = {"user": "ana", "password": password, "role": "", "dbname": "staff"}
    ask("POST", f"/sqleditor/initialize/sqleditor/{trans}/{database}", wanted)
    ask("POST", f"/sqleditor/query_tool/start/{trans}", {"sql": sql, "explain_plan": None})
    print("query", *result(trans))
for trans, name in ((11, "department"), (12, "staff")):
    wanted = {"sql_filter": "", "dbname": "staff"}
    ask("POST", f"/sqleditor/initialize/viewdata/{trans}/3/table/{database}/{tables[name]}", wanted)
    ask("GET", f"/sqleditor/view_data/start/{trans}")
    status, rows = result(trans)
    print(f"rows of {name}", status, len(rows) if isinstance(rows, list) else rows)
os._exit(0)  # its threads wait for more
