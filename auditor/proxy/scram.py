"""SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the server's side (RFC 5802, 5929, 7677), as PostgreSQL does it.

Promises:
1. Who finishes an exchange knows the password of the verifier's maker; nothing that is sent or stored gives
   the password away.
2. An unknown user's exchange goes as a known one's with a wrong password does: the same salt each time, the
   same steps, the same work, the same error.
3. Over TLS with channel binding, the client talks to the holder of our certificate and to nobody between. A
   client that could bind but was told that we cannot (flag `y` although PLUS was offered) is refused.
4. Whatever bytes a client sends, `ScramError` is all that comes out, with one text for every cause.

The name inside the messages is not used: the user is the one of the startup message. No I/O, no clock.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

SCRAM = "SCRAM-SHA-256"
"""The mechanism without channel binding."""
SCRAM_PLUS = "SCRAM-SHA-256-PLUS"
"""The mechanism with channel binding."""
ITERATIONS = 4096
"""Of a verifier that is made here: PostgreSQL's own number."""
MAX_ITERATIONS = 10_000_000
MAX_MESSAGE = 1024
"""Bytes of one message; PostgreSQL's own limit."""
_SALT_BYTES = 16
_KEY_BYTES = 32
_NONCE_BYTES = 18
_BINDING_TYPE = b"tls-server-end-point"

_FIRST = re.compile(
    rb"(?P<header>(?:n|y|p=(?P<binding>[A-Za-z0-9.-]+)),,)"
    rb"(?P<bare>n=[^,\x00]*,r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]=[^,\x00]+)*)"
)
_FINAL = re.compile(
    rb"(?P<without_proof>c=(?P<channel>[A-Za-z0-9+/=]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    rb"(?:,[A-Za-z]=[^,\x00]+)*),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_VERIFIER = re.compile(
    r"SCRAM-SHA-256\$(?P<iterations>[0-9]{1,8}):(?P<salt>[A-Za-z0-9+/=]+)"
    r"\$(?P<stored>[A-Za-z0-9+/=]+):(?P<server>[A-Za-z0-9+/=]+)"
)


class ScramError(Exception):
    """The exchange failed; the same for every cause, so that it tells nothing."""

    sqlstate = "28P01"

    def __init__(self) -> None:
        super().__init__("password authentication failed")


@dataclass(frozen=True)
class Verifier:
    """What a server stores instead of a password. `str()` is PostgreSQL's own text of it."""

    iterations: int
    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    genuine: bool = True
    """False for the stand-in of an unknown user, with which nobody gets in."""

    def __str__(self) -> str:
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"{SCRAM}${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def of_password(cls, password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
        """The verifier of a password, as PostgreSQL makes it.

        Args:
            password: The password; bytes that are no UTF-8 as `surrogateescape` has them.
            salt: By default a new one.
            iterations: Work of one guess.
        """
        salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
        salted = hashlib.pbkdf2_hmac("sha256", prepared(password), salt, iterations)
        stored = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
        return cls(iterations, salt, stored, _hmac(salted, b"Server Key"))

    @classmethod
    def parse(cls, text: str) -> Verifier:
        """Read PostgreSQL's text of a verifier, as in `pg_authid.rolpassword`.

        Raises:
            ValueError: if it is none; the message does not repeat it.
        """
        found = _VERIFIER.fullmatch(text)
        if found is None:
            raise ValueError("not of the form SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey")
        try:
            salt, stored, server = (
                base64.b64decode(found[name], validate=True) for name in ("salt", "stored", "server")
            )
        except binascii.Error:
            raise ValueError("salt or keys are not base64") from None
        iterations = int(found["iterations"])
        if not 1 <= iterations <= MAX_ITERATIONS or len(stored) != _KEY_BYTES or len(server) != _KEY_BYTES:
            raise ValueError("its number of iterations or the length of its keys is wrong")
        return cls(iterations, salt, stored, server)

    @classmethod
    def of_nobody(cls, name: str, secret: bytes, iterations: int = ITERATIONS) -> Verifier:
        """The stand-in for a user who does not exist: the same for a name each time, fits no password.

        Args:
            name: The name that was tried.
            secret: The server's own; without it the salt cannot be told from a stored one.
            iterations: Those of the verifiers that are stored.
        """
        who = name.encode("utf-8", "surrogateescape")
        salt = _hmac(secret, b"salt\0" + who)[:_SALT_BYTES]
        stored, server = _hmac(secret, b"stored\0" + who), _hmac(secret, b"server\0" + who)
        return cls(iterations, salt, stored, server, genuine=False)


class Exchange:
    """One authentication: `begin`, then `finish`. Good for one attempt.

    Raises `ScramError` where a message is not understood, comes out of turn, or proves nothing.
    """

    def __init__(
        self,
        verifier: Verifier,
        binding: bytes | None = None,
        binding_required: bool = False,
        nonce: Callable[[], bytes] | None = None,
    ) -> None:
        """Prepare to ask for proof.

        Args:
            verifier: The user's, or `Verifier.of_nobody`'s.
            binding: `certificate_hash` of our certificate; None: no TLS, or a certificate that has none.
            binding_required: Whether a client must bind.
            nonce: Where printable nonces without comma come from.
        """
        self._verifier, self._binding, self._required = verifier, binding, binding_required
        self._nonce = nonce or _random_nonce
        self._signed: tuple[bytes, bytes, bytes] | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What AuthenticationSASL offers."""
        plus = (SCRAM_PLUS,) if self._binding is not None else ()
        return plus if self._required else (*plus, SCRAM)

    def begin(self, mechanism: str, message: bytes) -> bytes:
        """Read the client-first-message, give the server-first-message.

        Args:
            mechanism: As SASLInitialResponse names it.
            message: Its data.

        Raises:
            ScramError: see the class.
        """
        found = _FIRST.fullmatch(message) if len(message) <= MAX_MESSAGE else None
        if found is None or self._signed is not None or mechanism not in self.mechanisms:
            raise ScramError
        flag = message[:1]
        if (flag == b"p") != (mechanism == SCRAM_PLUS):
            raise ScramError
        if flag == b"p" and found["binding"] != _BINDING_TYPE:
            raise ScramError
        if flag == b"y" and self._binding is not None:
            # Somebody between us took PLUS off the list.
            raise ScramError
        nonce = found["nonce"] + self._nonce()
        salt = _base64(self._verifier.salt)
        answer = b"r=%s,s=%s,i=%d" % (nonce, salt.encode(), self._verifier.iterations)
        channel = found["header"] + ((self._binding or b"") if flag == b"p" else b"")
        self._signed = (channel, nonce, found["bare"] + b"," + answer)
        return answer

    def finish(self, message: bytes) -> bytes:
        """Read the client-final-message; give the server-final-message if the client knows the password.

        Raises:
            ScramError: see the class.
        """
        signed, self._signed = self._signed, (b"", b"", b"")
        found = _FINAL.fullmatch(message) if len(message) <= MAX_MESSAGE else None
        if signed is None or not signed[1] or found is None:
            raise ScramError
        channel, nonce, first = signed
        try:
            bound = base64.b64decode(found["channel"], validate=True)
            proof = base64.b64decode(found["proof"], validate=True)
        except binascii.Error:
            raise ScramError from None
        if len(proof) != _KEY_BYTES:
            raise ScramError
        verifier = self._verifier
        said = first + b"," + found["without_proof"]
        signature = _hmac(verifier.stored_key, said)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        # No `and` between these: each is computed for everybody.
        proven = hmac.compare_digest(hashlib.sha256(client_key).digest(), verifier.stored_key)
        same_channel = hmac.compare_digest(bound, channel)
        same_nonce = hmac.compare_digest(found["nonce"], nonce)
        server_signature = _hmac(verifier.server_key, said)
        if not all((proven, same_channel, same_nonce, verifier.genuine)):
            raise ScramError
        return b"v=" + _base64(server_signature).encode()


def prepared(password: str) -> bytes:
    """A password as it is hashed: SASLprep (RFC 4013) where it applies, else the bytes as they are.

    PostgreSQL's reading of it: pure ASCII is left alone, and what is prohibited is looked for before the
    normalisation.
    """
    raw = password.encode("utf-8", "surrogateescape")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw
    if text.isascii():
        return raw
    mapped = "".join(
        " " if stringprep.in_table_c12(letter) else letter
        for letter in text
        if not stringprep.in_table_b1(letter) or stringprep.in_table_c12(letter)
    )
    if not mapped or any(map(_prohibited, mapped)) or not _one_direction(mapped):
        return raw
    return unicodedata.normalize("NFKC", mapped).encode()


def _prohibited(letter: str) -> bool:
    tables = (
        stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4,
        stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8,
        stringprep.in_table_c9, stringprep.in_table_a1,
    )  # fmt: skip
    return any(table(letter) for table in tables)


def _one_direction(text: str) -> bool:
    """RFC 3454, section 6: letters that run right to left keep to themselves, and stand at both ends."""
    if not any(map(stringprep.in_table_d1, text)):
        return True
    ends = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return ends and not any(map(stringprep.in_table_d2, text))


def certificate_hash(certificate: bytes) -> bytes | None:
    """The channel binding `tls-server-end-point` of a certificate (RFC 5929, section 4.1).

    Args:
        certificate: The server's certificate in DER.

    Returns:
        Its hash by the function of its signature, SHA-256 in place of MD5 and SHA-1; None where the
        signature names none (Ed25519) or one that we do not know: then there is no binding to offer.
    """
    try:
        algorithm = _elements(_elements(certificate)[0][1])[1][1]
        parts = _elements(algorithm)
        name = _HASHES.get(parts[0][1])
        if parts[0][1] == _PSS:
            name = _pss_hash(parts[1][1]) if len(parts) > 1 else "sha256"
    except (IndexError, ValueError):
        return None
    return None if name is None else hashlib.new(name, certificate).digest()


_RSA = bytes.fromhex("2a864886f70d0101")
_ECDSA = bytes.fromhex("2a8648ce3d04")
_DIGEST = bytes.fromhex("6086480165030402")
_PSS = _RSA + b"\x0a"
_HASHES = {
    _RSA + b"\x04": "sha256", _RSA + b"\x05": "sha256", _RSA + b"\x0e": "sha224", _RSA + b"\x0b": "sha256",
    _RSA + b"\x0c": "sha384", _RSA + b"\x0d": "sha512",
    _ECDSA + b"\x01": "sha256", _ECDSA + b"\x03\x01": "sha224", _ECDSA + b"\x03\x02": "sha256",
    _ECDSA + b"\x03\x03": "sha384", _ECDSA + b"\x03\x04": "sha512",
}  # fmt: skip
"""Object identifiers of signatures, in DER, and what a certificate under them is hashed by."""
_DIGESTS = {
    _DIGEST + b"\x01": "sha256", _DIGEST + b"\x02": "sha384", _DIGEST + b"\x03": "sha512",
    _DIGEST + b"\x04": "sha224", bytes.fromhex("2b0e03021a"): "sha256",
}  # fmt: skip


def _pss_hash(parameters: bytes) -> str | None:
    """RSASSA-PSS names its hash among its parameters ([0], by default SHA-1)."""
    for tag, content in _elements(parameters):
        if tag == 0xA0:
            return _DIGESTS.get(_elements(_elements(content)[0][1])[0][1])
    return "sha256"


def _elements(content: bytes) -> list[tuple[int, bytes]]:
    """Tags and contents of the DER values that follow each other.

    Raises:
        ValueError: if it is no DER.
    """
    found, place = [], 0
    while place < len(content):
        if place + 2 > len(content):
            raise ValueError("cut off")
        tag, size = content[place], content[place + 1]
        place += 2
        if size & 0x80:
            width = size & 0x7F
            if not 1 <= width <= 4:
                raise ValueError("no definite length")
            size = int.from_bytes(content[place : place + width], "big")
            place += width
        if place + size > len(content):
            raise ValueError("cut off")
        found.append((tag, content[place : place + size]))
        place += size
    return found


def _random_nonce() -> bytes:
    return base64.b64encode(secrets.token_bytes(_NONCE_BYTES))


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
