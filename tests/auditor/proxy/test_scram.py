"""SCRAM: the RFC's vector, independent clients, PostgreSQL's own verifiers, and every way to be refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.proxy.scram import (
    ITERATIONS,
    SCRAM,
    SCRAM_PLUS,
    Exchange,
    ScramError,
    Verifier,
    certificate_hash,
    prepared,
)
from tests.quick import share

from .postgres_server import running

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = Verifier.of_password("pencil", SALT)
BINDING = hashlib.sha256(b"certificate").digest()


def _client(exchange: Exchange, password: str, mechanism: str = SCRAM, binding: bytes | None = None) -> None:
    """A handshake by scramp, which checks the server's signature too."""
    scramp = pytest.importorskip("scramp", reason="scramp is the independent client of this test")
    bound = None if binding is None else ("tls-server-end-point", binding)
    client = scramp.ScramClient([mechanism], "ana", password, channel_binding=bound)
    client.set_server_first(exchange.begin(mechanism, client.get_client_first().encode()).decode())
    client.set_server_final(exchange.finish(client.get_client_final().encode()).decode())


def test_the_vector_of_rfc_7677() -> None:
    exchange = Exchange(PENCIL, nonce=lambda: b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = exchange.begin(SCRAM, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = exchange.finish(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_an_independent_client_gets_in_with_and_without_binding() -> None:
    _client(Exchange(PENCIL), "pencil")
    _client(Exchange(PENCIL, BINDING), "pencil")
    _client(Exchange(PENCIL, BINDING, binding_required=True), "pencil", SCRAM_PLUS, BINDING)


@settings(max_examples=share(4))
@given(st.text(min_size=1, max_size=20).filter(lambda text: text.isascii() or text.isalpha()))
def test_whoever_made_the_verifier_gets_in(password: str) -> None:
    _handshake(Verifier.of_password(password, iterations=1), password)


def test_a_wrong_password_an_unknown_user_and_another_certificate_fail_alike() -> None:
    other = hashlib.sha256(b"another certificate").digest()
    nobody = Verifier.of_nobody("ana", b"secret")
    cases = [
        (Exchange(PENCIL), "pencil2", SCRAM, None),
        (Exchange(nobody), "pencil", SCRAM, None),
        (Exchange(PENCIL, BINDING), "pencil", SCRAM_PLUS, other),
    ]
    said = set()
    for exchange, password, mechanism, binding in cases:
        with pytest.raises(ScramError) as error:
            _client(exchange, password, mechanism, binding)
        said.add((str(error.value), error.value.sqlstate))
    assert said == {("password authentication failed", "28P01")}


def _handshake(verifier: Verifier, password: str, first: bytes = b"n,,n=,r=abc", **more: Any) -> bytes:
    """A client of the test's own, that may lie."""
    exchange = Exchange(verifier, more.get("binding"))
    mechanism = more.get("mechanism", SCRAM)
    answer = exchange.begin(mechanism, first)
    found = re.fullmatch(rb"r=(.*),s=(.*),i=(\d+)", answer)
    assert found is not None
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password), base64.b64decode(found[2]), int(found[3]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    header = first[: first.index(b",,") + 2]
    channel = more.get("channel", header + (more.get("binding", b"") if header[:1] == b"p" else b""))
    without = b"c=" + base64.b64encode(channel) + b",r=" + more.get("nonce", found[1])
    signed = first[len(header) :] + b"," + answer + b"," + without
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True)))
    return exchange.finish(without + b",p=" + proof)


@pytest.mark.parametrize(
    "first",
    [
        b"n,,n=,r=rOprNGfwEbeRWgb",
        b"n,,n=*,r=;_$",
        b"n,,n=ana,r=x",
        b"n,,n=a=2Cb,r=x",
        b"y,,n=,r=x",
        b"n,,n=,r=x,k=extension",
    ],
)
def test_the_first_messages_that_clients_send_are_understood(first: bytes) -> None:
    assert _handshake(PENCIL, "pencil", first).startswith(b"v=")


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"n,,",
        b"n,,n=",
        b"n,,n=,r=",
        b"n,a=ana,n=,r=x",
        b"n,,m=x,n=,r=x",
        b"n,,r=x,n=",
        b"z,,n=,r=x",
        b"n,,n=,r=\x80",
        b"n,,n=,r=a b",
        b"n,,n=\0,r=x",
        b"n,,n=,r=" + b"x" * 2000,
        b"p=tls-unique,,n=,r=x",
        b"p=tls-server-end-point,,n=,r=x",
        b"n,,n=,r=x\0",
        b"n,,n=,r=x,",
        b"\xff\xfe",
    ],
)
def test_a_first_message_of_another_kind_is_refused(first: bytes) -> None:
    with pytest.raises(ScramError):
        Exchange(PENCIL).begin(SCRAM, first)


def test_what_is_bound_is_our_certificate() -> None:
    first = b"p=tls-server-end-point,,n=,r=x"
    assert _handshake(PENCIL, "pencil", first, binding=BINDING, mechanism=SCRAM_PLUS).startswith(b"v=")
    with pytest.raises(ScramError):
        _handshake(
            PENCIL,
            "pencil",
            first,
            binding=BINDING,
            mechanism=SCRAM_PLUS,
            channel=b"p=tls-server-end-point,," + b"\0" * 32,
        )
    with pytest.raises(ScramError):
        _handshake(PENCIL, "pencil", b"p=tls-unique,,n=,r=x", binding=BINDING, mechanism=SCRAM_PLUS)


def test_a_downgrade_is_refused() -> None:
    """The client can bind and believes that we cannot; we offered it: somebody in between lies."""
    with pytest.raises(ScramError):
        Exchange(PENCIL, BINDING).begin(SCRAM, b"y,,n=,r=x")
    with pytest.raises(ScramError):
        _handshake(PENCIL, "pencil", b"n,,n=,r=x", channel=b"y,,")


def test_flag_and_mechanism_must_agree() -> None:
    for mechanism, first in [
        (SCRAM_PLUS, b"n,,n=,r=x"),
        (SCRAM_PLUS, b"y,,n=,r=x"),
        (SCRAM, b"p=tls-server-end-point,,n=,r=x"),
        ("SCRAM-SHA-1", b"n,,n=,r=x"),
    ]:
        with pytest.raises(ScramError):
            Exchange(PENCIL, BINDING).begin(mechanism, first)


def test_without_binding_nobody_gets_in_where_it_is_required() -> None:
    exchange = Exchange(PENCIL, BINDING, binding_required=True)
    assert exchange.mechanisms == (SCRAM_PLUS,)
    with pytest.raises(ScramError):
        exchange.begin(SCRAM, b"n,,n=,r=x")
    nothing_to_bind = Exchange(PENCIL, None, binding_required=True)
    assert nothing_to_bind.mechanisms == ()


def test_plus_is_offered_first_and_only_with_a_binding() -> None:
    assert Exchange(PENCIL, BINDING).mechanisms == (SCRAM_PLUS, SCRAM)
    assert Exchange(PENCIL).mechanisms == (SCRAM,)
    with pytest.raises(ScramError):
        Exchange(PENCIL).begin(SCRAM_PLUS, b"p=tls-server-end-point,,n=,r=x")


def test_a_nonce_of_another_exchange_is_refused() -> None:
    with pytest.raises(ScramError):
        _handshake(PENCIL, "pencil", nonce=b"abcd")


def test_messages_come_in_turn_and_once() -> None:
    with pytest.raises(ScramError):
        Exchange(PENCIL).finish(b"c=biws,r=x,p=AAAA")
    exchange = Exchange(PENCIL)
    exchange.begin(SCRAM, b"n,,n=,r=x")
    with pytest.raises(ScramError):
        exchange.begin(SCRAM, b"n,,n=,r=x")
    for _ in range(2):
        with pytest.raises(ScramError):
            exchange.finish(b"c=biws,r=x,p=AAAA")


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_no_bytes_bring_anything_but_the_one_error(first: bytes, final: bytes) -> None:
    with pytest.raises(ScramError):
        Exchange(PENCIL).begin(SCRAM, b"n,," + first + b"\0")
    exchange = Exchange(PENCIL)
    exchange.begin(SCRAM, b"n,,n=,r=x")
    with pytest.raises(ScramError):
        exchange.finish(b"c=biws,r=" + final)


def test_an_unknown_user_has_the_same_salt_each_time_and_another_than_others() -> None:
    one, again, other = (Verifier.of_nobody(name, b"secret") for name in ("ana", "ana", "bo"))
    assert one == again
    assert one.salt != other.salt
    assert one.salt != Verifier.of_nobody("ana", b"another server").salt
    assert len(one.salt) == len(Verifier.of_password("x").salt)
    assert one.iterations == ITERATIONS


def test_a_stand_in_fails_even_when_its_keys_are_known() -> None:
    lucky = Verifier(PENCIL.iterations, PENCIL.salt, PENCIL.stored_key, PENCIL.server_key, genuine=False)
    with pytest.raises(ScramError):
        _handshake(lucky, "pencil")


def test_keys_do_not_show_in_a_representation() -> None:
    assert "key" not in repr(PENCIL)


def test_a_verifier_reads_back_from_its_text() -> None:
    assert Verifier.parse(str(PENCIL)) == PENCIL


@pytest.mark.parametrize(
    "text",
    [
        "",
        "md5abc",
        "pencil",
        str(PENCIL) + "\n",
        str(PENCIL).replace("4096", "0"),
        str(PENCIL)[:-4],
        str(PENCIL).replace("4096", "99999999"),
        "SCRAM-SHA-256$4096:A$A:A",
        "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA",
    ],
)
def test_a_broken_verifier_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"not of|not base64|wrong"):
        Verifier.parse(text)


@pytest.mark.parametrize(
    ("password", "bytes_"),
    [
        ("pencil", b"pencil"),
        ("a\u00adb", b"ab"),
        ("\u00aa", b"a"),
        ("\u2168", b"IX"),
        ("\u00a0x", b" x"),
        ("a\u0007", b"a\x07"),
        ("é\u0007", "é\u0007".encode()),
        ("\u0627\u0031", "\u0627\u0031".encode()),
        ("\u0627a\u0627", "\u0627a\u0627".encode()),
        ("\u00ad", "\u00ad".encode()),
        ("\udcff", b"\xff"),
        ("", b""),
    ],
)
def test_passwords_are_prepared_as_rfc_4013_and_else_left_alone(password: str, bytes_: bytes) -> None:
    assert prepared(password) == bytes_


KEYS = {
    "rsa-sha256": (["-newkey", "rsa:2048", "-sha256"], "sha256"),
    "rsa-sha1": (["-newkey", "rsa:2048", "-sha1"], "sha256"),
    "rsa-sha512": (["-newkey", "rsa:2048", "-sha512"], "sha512"),
    "pss-sha384": (
        ["-newkey", "rsa:2048", "-sha384", "-sigopt", "rsa_padding_mode:pss"], "sha384"),
    "ec-sha384": (["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-sha384"], "sha384"),
    "ed25519": (["-newkey", "ed25519"], None),
}  # fmt: skip


@pytest.mark.parametrize("kind", KEYS)
def test_a_certificate_is_hashed_by_its_signature(kind: str, tmp_path: Path) -> None:
    options, expected = KEYS[kind]
    command = [
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-subj",
        "/CN=x",
        "-days",
        "2",
        "-outform",
        "DER",
        "-keyout",
        str(tmp_path / "key"),
        "-out",
        str(tmp_path / "certificate"),
        *options,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl does not make such a certificate here")
    certificate = (tmp_path / "certificate").read_bytes()
    digest = None if expected is None else hashlib.new(expected, certificate).digest()
    assert certificate_hash(certificate) == digest


@given(st.binary(max_size=60))
def test_bytes_that_are_no_certificate_have_no_hash(content: bytes) -> None:
    assert certificate_hash(content) is None
    assert certificate_hash(b"\x30\x82" + content) is None


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg asks PostgreSQL for its verifiers")
    with running() as address, psycopg.connect(**address, autocommit=True) as connection:
        yield connection


PASSWORDS = [
    "pencil",
    "pässwörd",
    "\u2168 and more",
    "a\u00adb",
    "\u0627\u0031",
    "\u00a0",
    "日本語のパスワード",
    "x\u200by",
    "\u1e9b\u0323",
    "\u0627\u0628",
    "\u2126",
    "\ufb01",
    "\u0221",
    "é\u0007",
    " ",
    "\u180e\u00e9",
]


@pytest.mark.parametrize("password", PASSWORDS)
def test_postgresql_makes_the_same_verifier(postgres: Any, password: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    sql = psycopg.sql.SQL("DROP ROLE IF EXISTS ana; CREATE ROLE ana PASSWORD {}")
    postgres.execute(sql.format(psycopg.sql.Literal(password)))
    (text,) = postgres.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'ana'").fetchone()
    theirs = Verifier.parse(text)
    assert Verifier.of_password(password, theirs.salt, theirs.iterations) == theirs
    assert str(theirs) == text
