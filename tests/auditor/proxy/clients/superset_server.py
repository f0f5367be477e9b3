"""Superset's own server in this process, asked through its API: database, dataset, charts, SQL Lab.

Prints a line for each request: what it was for, the status, and what of the answer shows that it is right.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from superset_made import app

port, password = int(sys.argv[1]), os.environ["CAE_PASSWORD"]
page = app.test_client()
headers: dict[str, str] = {}


def ask(method: str, url: str, body: Any = None) -> tuple[int, Any]:
    """Status and content of one answer."""
    found = page.open(url, method=method, json=body, headers=headers)
    return found.status_code, found.get_json(silent=True)


def told(found: Any) -> str:
    """What a person sees of an error."""
    text = str(found.get("message") or found["errors"][0]["message"])
    return text.split("\n")[0][:160]


login = {"username": "admin", "password": "admin", "provider": "db", "refresh": True}
headers["Authorization"] = f"Bearer {ask('POST', '/api/v1/security/login', login)[1]['access_token']}"
uri = f"postgresql://ana:{password.replace(' ', '%20')}@127.0.0.1:{port}/staff"
status, made = ask(
    "POST", "/api/v1/database/", {"database_name": "p", "sqlalchemy_uri": uri, "expose_in_sqllab": True}
)
print("database", status)
database = made["id"]
status, found = ask("GET", f"/api/v1/database/{database}/schemas/")
print("schemas", status, sorted(found["result"]))
status, found = ask("GET", f"/api/v1/database/{database}/tables/?q=(force:!t,schema_name:public)")
print("tables", status, sorted(each["value"] for each in found["result"]))
status, found = ask("GET", f"/api/v1/database/{database}/table_metadata/?name=staff&schema=public")
print("columns", status, [each["name"] for each in found["columns"]])
sets = {}
for name in ("staff", "department"):
    status, found = ask(
        "POST", "/api/v1/dataset/", {"database": database, "schema": "public", "table_name": name}
    )
    print("dataset", status)
    sets[name] = found["id"]


def chart(name: str, **query: Any) -> None:
    wanted = {
        "datasource": {"id": sets[name], "type": "table"},
        "queries": [{"row_limit": 1000, "filters": [], **query}],
        "result_format": "json",
        "result_type": "full",
        "force": True,
    }
    status, found = ask("POST", "/api/v1/chart/data", wanted)
    print("chart", status, found["result"][0]["data"] if status == 200 else told(found))


mean = {"expressionType": "SIMPLE", "column": {"column_name": "salary"}, "aggregate": "AVG", "label": "mean"}
young = [{"col": "age", "op": ">", "val": 25}, {"col": "dept", "op": "IN", "val": ["a", "b"]}]
chart("staff", columns=["dept"], metrics=[mean], filters=young, orderby=[["dept", True]])
chart("staff", columns=[], metrics=[mean], filters=[{"col": "id", "op": "==", "val": 3}])
chart("department", columns=["title", "budget"], orderby=[["title", True]])


def over_time(column: str, grain: str, between: str, metric: Any) -> None:
    """A chart over time as the explorer asks for it: a date filter, and the column by day, month or year."""
    axis = {"timeGrain": grain, "columnType": "BASE_AXIS", "sqlExpression": column, "label": column,
            "expressionType": "SQL"}  # fmt: skip
    within = [{"col": column, "op": "TEMPORAL_RANGE", "val": between}]
    chart("staff", columns=[axis], metrics=[metric], filters=within, orderby=[[column, True]])


for grain in ("P1Y", "P3M"):
    over_time("hired", grain, "2020-01-01 : 2021-01-01", mean)
for grain in ("P1M", "P1W", "P1D"):
    over_time("hired", grain, "2020-01-01 : 2021-01-01", "count")
for grain in ("P1D", "PT1H", "PT30M", "PT5M", "PT30S", "PT1S"):
    over_time("seen", grain, "2024-05-01T06:00:00 : 2024-05-01T18:00:00", "count")


def lab(sql: str) -> None:
    wanted = {"database_id": database, "sql": sql, "schema": "public", "client_id": os.urandom(5).hex()}
    status, found = ask("POST", "/api/v1/sqllab/execute/", wanted)
    print("lab", status, found["data"] if status == 200 else told(found))


lab("SELECT dept, COUNT(*) AS n FROM staff GROUP BY dept ORDER BY dept")
lab("SELECT AVG(salary) FROM staff WHERE id = 3")
