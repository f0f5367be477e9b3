"""A statement that would become too large is refused, before anything takes long over it.

Promise: the tree as it is. What counts as large is `auditor.sql.sizes`'s.
"""

from __future__ import annotations

from sqlglot import exp

from auditor.sql.context import Context
from auditor.sql.sizes import bound


def limit_size(tree: exp.Query, context: Context) -> exp.Query:
    """Check the size of a statement that is written out.

    Raises:
        NotUnderstood: code "too-large".
    """
    bound(tree, context.schema)
    return tree
