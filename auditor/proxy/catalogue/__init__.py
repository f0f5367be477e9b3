"""pg_catalog and information_schema, for clients that connect, list and describe tables.

    text --reading--> whose statement it is --columns, translating--> DuckDB's SQL
      --catalogue--> run in a database of its own (building, objects, rows/, functions.sql, views.sql)
      --showing--> names, type OIDs and rows

Promises never to touch data: the database that answers holds nothing that this user may not be told.
"""

from __future__ import annotations

from auditor.proxy.catalogue.catalogue import LIMITS, Catalogue, Description, Listing
from auditor.proxy.catalogue.errors import CatalogueError
from auditor.proxy.catalogue.objects import Attribute, Described, postgres_type
from auditor.proxy.catalogue.session import Change, Context

__all__ = [
    "LIMITS", "Attribute", "Catalogue", "CatalogueError", "Change", "Context", "Described", "Description",
    "Listing", "postgres_type",
]  # fmt: skip
