"""What an audit has found, for people and for programs: one HTML file, JSON, CSV.

Promise: the HTML is one file that asks no network for anything and runs no script but its own; JSON and CSV
say the same of every finding, by the schema in `schema.json`; nothing that came from a log can act in any
of them. What an owner is shown of a gate (`account.py`, `owner.py`) is a page of the same kind.
"""

from auditor.report.csv_form import as_csv
from auditor.report.json_form import as_json, schema
from auditor.report.page import html

__all__ = ["as_csv", "as_json", "html", "schema"]
