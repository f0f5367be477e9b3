"""The compose file's gate does what its page says: its command, over a server of the tests' own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auditor import Policy
from tests.auditor.proxy import postgres_server
from tests.auditor.proxy.serving import certificate

COMPOSE = Path(__file__).resolve().parents[1] / "examples" / "compose"
PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """What the file says, read by a parser of YAML."""
    yaml = pytest.importorskip("yaml")
    return dict(yaml.safe_load((COMPOSE / "compose.yaml").read_text(encoding="utf-8")))


def test_whatever_is_named_is_there(services: dict[str, Any]) -> None:
    for service in services["services"].values():
        assert set(service["networks"]) <= services["networks"].keys()
        assert set(service["secrets"]) <= services["secrets"].keys()
        for volume in service["volumes"]:
            place = volume.partition(":")[0]
            assert place in services["volumes"] or (COMPOSE / place).exists() or place == "./tls.crt"
    assert services["networks"]["inside"] == {"internal": True}
    assert [name for name, each in services["services"].items() if "outside" in each["networks"]] == ["gate"]
    policy = Policy.load(COMPOSE / "policy.toml")
    assert policy.ledger.editions


@pytest.mark.slow
def test_its_gate_answers_over_its_servers(services: dict[str, Any], tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with postgres_server.running() as place:
        made(place, tmp_path)
        local = Local(place["host"], tmp_path)
        subprocess.run(
            local.command(["users", "add", "ana", "--users=/var/lib/cae-sql/users", "--password-stdin"]),
            input=PASSWORD, text=True, check=True, capture_output=True,
        )  # fmt: skip
        with serving(local, services["services"]["gate"]["command"]) as port:
            client = {
                "host": "localhost", "hostaddr": "127.0.0.1", "port": port, "user": "ana", "dbname": "staff",
                "password": PASSWORD, "sslmode": "verify-full", "sslrootcert": str(local.certificate),
            }  # fmt: skip
            total = "SELECT sum(salary) FROM staff WHERE dept = 'Sales'"
            with psycopg.connect(**client) as connection:
                [[told]] = connection.execute(total).fetchall()
            with psycopg.connect(**place | {"dbname": "staff"}) as owner:
                assert [[told]] == [list(row) for row in owner.execute(total)]
                owner.execute("DELETE FROM staff WHERE id = 3")
        # a later state, as the page has it: renewed by the same image, then served again
        renewed = ["renew", "postgresql://reader@data/staff", "--policy=/etc/cae-sql/policy.toml"]
        said = subprocess.run(local.command(renewed), text=True, check=True, capture_output=True)
        assert said.stdout == "staff.salary: 299 unchanged, 0 new, 0 changed, 1 left\nedition 2 is open\n"
        with (
            serving(local, services["services"]["gate"]["command"]) as port,
            psycopg.connect(**client | {"port": port}) as connection,
            pytest.raises(psycopg.Error, match="could tell too much"),
        ):
            connection.execute(total)


def made(place: dict[str, Any], folder: Path) -> None:
    """The two databases: in the file they are servers of their own."""
    import psycopg

    with psycopg.connect(**place, autocommit=True) as owner:
        owner.execute("CREATE ROLE gate LOGIN")
        owner.execute("CREATE DATABASE ledger OWNER gate")
        owner.execute("CREATE DATABASE staff")
    script = (COMPOSE / "data.sql").read_text(encoding="utf-8").replace("/run/secrets", str(folder))
    (folder / "reader_password").write_text("secret\n")
    subprocess.run(
        ["psql", "-h", place["host"], "-U", "postgres", "-d", "staff", "-v", "ON_ERROR_STOP=1", "-q"],
        input=script, text=True, check=True, capture_output=True,
    )  # fmt: skip


class Local:
    """The paths and hosts of the file, as they are here."""

    def __init__(self, host: str, folder: Path) -> None:
        self.host, self.folder = host, folder
        self.certificate, key = certificate(folder)
        policy = self.here((COMPOSE / "policy.toml").read_text(encoding="utf-8"))
        (folder / "policy.toml").write_text(policy)
        (folder / "tls_key").write_bytes(key.read_bytes())
        (folder / "tls.crt").write_bytes(self.certificate.read_bytes())

    def here(self, text: str) -> str:
        """A text of the file, with what stands for its machines and mounts."""
        for there, here in {
            "reader@data/staff": f"reader@/staff?host={self.host}",
            "gate@ledger/ledger": f"gate@/ledger?host={self.host}",
            "/etc/cae-sql": str(self.folder),
            "/var/lib/cae-sql": str(self.folder),
            "/run/secrets": str(self.folder),
        }.items():
            text = text.replace(there, here)
        return text

    def command(self, arguments: Sequence[str]) -> list[str]:
        """What the image's entry point runs."""
        run = "import sys; from auditor.cli import main; main(sys.argv[1:])"
        return [sys.executable, "-c", run, *map(self.here, arguments)]


@contextmanager
def serving(local: Local, arguments: Sequence[str]) -> Iterator[int]:
    """The gate's own command; its port."""
    port, metrics = 20_000 + os.getpid() % 10_000, 31_000 + os.getpid() % 10_000
    command = [
        each.replace("0.0.0.0:5432", f"127.0.0.1:{port}").replace(":9187", f":{metrics}")
        for each in arguments
    ]
    with (local.folder / "log").open("w") as log:
        running = subprocess.Popen(local.command(command), stderr=log)
    try:
        for _ in range(600):
            if "listening" in (local.folder / "log").read_text():
                break
            assert running.poll() is None, (local.folder / "log").read_text()
            time.sleep(0.1)
        yield port
    finally:
        running.terminate()
        running.wait(60)
