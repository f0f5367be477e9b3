"""A password that stands in the name of a ledger stands in no message."""

from __future__ import annotations

import traceback

import pytest

from auditor.errors import LedgerError, PolicyError
from auditor.ledger import Ledger
from auditor.policy.policy import Policy
from tests.auditor.ledger.test_ledger import BINDING

pytest.importorskip("psycopg", reason="what a ledger on a server is reached by")


@pytest.mark.parametrize(
    "where",
    [
        "postgresql://ann:geheim@localhost:1/x",
        "postgresql://ann:ge@heim@localhost:1/x",
        "postgresql://ann:ge/heim@localhost:1/x",
        "postgresql://ann:geheim",
        "postgresql://ann@localhost:geheim/x",
        "postgresql://ann:x@localhost:geheim@y/x",
        "postgresql://localhost:1/x?password=geheim",
        "postgresql://localhost:1/x?user=ann&sslpassword=geheim&password=geheim",
        "postgresql:/ann:geheim@localhost:1/x",
        "postgresql:ann:geheim@localhost/x",
        "postgres://ann:geheim@localhost:1/x",
        "mysql://ann:geheim@localhost:1/x?ssl_key=geheim",
        "mysql://ann:ge@heim@localhost:1/x",
        "sqlite://ann:geheim@localhost",
        "host=localhost port=1 user=ann password=geheim dbname=x",
        "user=ann password = 'geheim' host=localhost",
        "postgresql://ann:geheim@localhost:1/x?password=%zz&options=-cx",
    ],
)
def test_no_message_has_a_ledgers_password(where: str) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger.open(where, BINDING)
    assert "heim" not in str(error.value)
    assert "heim" not in "".join(traceback.format_exception(error.value)).replace(repr(where), "")


def test_a_path_is_still_a_path(tmp_path: object) -> None:
    for name in ("a=b.ledger", "password.ledger", "x@y:z.ledger"):
        with Ledger.open(f"{tmp_path}/{name}", BINDING) as ledger:
            assert ledger.length == 0


@pytest.mark.parametrize(
    "section",
    [
        '[ledger]\npath = ["postgresql://ann:geheim@h/x"]',
        '[ledger]\nurl = "postgresql://ann:geheim@h/x"',
        '[ledger]\nscope = "postgresql://ann:geheim@h/x"',
        '[ledger]\nanchor = {at = "postgresql://ann:geheim@h/x"}',
    ],
)
def test_no_message_about_a_policy_has_a_ledgers_password(section: str) -> None:
    text = "[protect]\ntable = 's'\ncolumn = 'x'\nminimum = 0\nmaximum = 9\nstep = 1\npublic = ['a']\n"
    with pytest.raises(PolicyError) as error:
        Policy.parse(f"{text}[limit]\nrisk = 0.5\n{section}\n")
    assert "heim" not in str(error.value)
