"""Statements as they are understood, within what the policy allows.

Promise: what a statement means hangs on its text, the schema and the policy; of data only the values of a
public column are read, where PIVOT without a list asks for them. Nothing is recorded.
"""

from __future__ import annotations

from auditor.data.database import Database
from auditor.data.pivoting import with_list
from auditor.gate import two_questions, verdict
from auditor.gate.request import Ask
from auditor.policy.policy import Policy
from auditor.sql import Plan, Schema, Unsupported
from auditor.sql.sandbox import understand


class Reading:
    """Understands the statements of one gate."""

    def __init__(self, policy: Policy, schema: Schema, database: Database) -> None:
        """Of what statements may name.

        Args:
            policy: The rules.
            schema: What may be named.
            database: The public instance.
        """
        self._policy, self._schema, self._database = policy, schema, database

    def read(self, ask: Ask) -> Plan | Unsupported:
        """The statement as it is understood, within what the policy allows."""
        found = self.read_as(ask, ask.sql)
        if isinstance(found, Unsupported) and found.code == "pivot" and ask.dialect == "duckdb":
            listed = with_list(ask.sql, ask.zone, self._schema, self._database)
            found = found if listed is None else self.read_as(ask, listed)
        if isinstance(found, Unsupported) and found.code in two_questions.CODES and not ask.public:
            found = two_questions.untold(ask, self.read_as, self._schema) or found
        never = self._policy.decision.ranges == "never"
        if never and isinstance(found, Plan) and found.asks_ranges:
            said = verdict.NO_RANGES
            return Unsupported(said.code, said.message, said.hint)
        return found

    def read_as(self, ask: Ask, sql: str) -> Plan | Unsupported:
        """The same of another text, asked as this one is."""
        previews = self._policy.decision.preview == "null"
        return understand(
            sql,
            ask.parameters,
            self._schema,
            dialect=ask.dialect,
            previews=previews,
            arrived=ask.arrived,
            zone=ask.zone,
        )
