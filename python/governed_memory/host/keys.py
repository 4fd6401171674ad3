"""The keys that a host signs and verifies with (rule G9): where the host file says they are, never what they are.

    keys:
        active: k2
        k1: {algorithm: hmac-sha-256, env: GMEM_KEY_K1}
        k2: {algorithm: ed25519, file: k2.pem, public_file: k2.pub.pem}

`active` names the key that signs; every other one still verifies what it has signed. A key is read when it is first needed, so who only
verifies needs no more than public files. Paths are relative to the host file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from governed_memory.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

HMAC, ED25519 = "hmac-sha-256", "ed25519"
# Where a key may be, by algorithm.
PLACES = {HMAC: ("env", "file"), ED25519: ("env", "file", "public_file")}
LEAST_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Key:
    """One key, not read yet.

    Attributes:
        key_id: the name under which signatures mention it.
        algorithm: 'hmac-sha-256' or 'ed25519'.
        places: {'env', 'file' or 'public_file': variable or path}; the first two hold what signs.
        host: the host file, for messages.
    """

    key_id: str
    algorithm: str
    places: Mapping[str, str]
    host: str

    def content(self, places: tuple[str, ...]) -> bytes:
        """What the first of these places holds, without line ends behind it.

        Raises:
            InputError: none of them is given, or it cannot be read; what it holds is never in the message.
        """
        place = next((name for name in places if name in self.places), None)
        if place is None:
            raise InputError(f"{self}: gives no {' or '.join(places)}, without which it can only verify")
        name = self.places[place]
        if place == "env":
            if not os.environ.get(name):
                raise InputError(f"{self}: the environment variable {name!r} is not set")
            return os.environ[name].encode().rstrip(b"\r\n")
        try:
            return (Path(self.host).parent / name).read_bytes().rstrip(b"\r\n")
        except OSError as error:
            raise InputError(f"{self}: {name!r} cannot be read: {error.strerror}") from error

    def __str__(self) -> str:
        """How messages name it."""
        return f"{self.host}: key {self.key_id!r}"


@dataclass
class Keys:
    """The keys of a host, and those of them that were read.

    Attributes:
        keys: {key id: key}.
        active: the one that signs; None where this host only verifies.
        host: the host file, for messages.
    """

    keys: Mapping[str, Key]
    active: str | None
    host: str
    _secrets: dict[str, bytes] = field(default_factory=dict, repr=False)
    _public: dict[str, Ed25519PublicKey] = field(default_factory=dict, repr=False)

    def sign(self, message: bytes) -> tuple[str, str]:
        """The active key's id and its signature in hexadecimal.

        Raises:
            InputError: no key is active, or it cannot be read.
        """
        if self.active is None:
            raise InputError(f"{self.host}: keys names no active key to sign with")
        key = self.keys[self.active]
        if key.algorithm == HMAC:
            return key.key_id, hmac.digest(self._secret(key), message, hashlib.sha256).hex()
        return key.key_id, _private(key).sign(message).hex()

    def verify(self, key_id: str, signature: str, message: bytes) -> bool:
        """Whether the key of that id signed this. A key that the host no longer names has signed nothing.

        Raises:
            InputError: the key cannot be read.
        """
        key = self.keys.get(key_id)
        try:
            given = bytes.fromhex(signature)
        except ValueError:
            return False
        if key is None:
            return False
        if key.algorithm == HMAC:
            return hmac.compare_digest(hmac.digest(self._secret(key), message, hashlib.sha256), given)
        return _is_signed(self._public_key(key), given, message)

    def _secret(self, key: Key) -> bytes:
        if key.key_id not in self._secrets:
            secret = key.content(("env", "file"))
            if len(secret) < LEAST_SECRET_BYTES:
                raise InputError(f"{key}: has {len(secret)} bytes; an HMAC key has at least {LEAST_SECRET_BYTES}")
            self._secrets[key.key_id] = secret
        return self._secrets[key.key_id]

    def _public_key(self, key: Key) -> Ed25519PublicKey:
        if key.key_id not in self._public:
            self._public[key.key_id] = _public_of(key) if "public_file" in key.places else _private(key).public_key()
        return self._public[key.key_id]


def public_keys(host: str, files: Mapping[str, str]) -> Keys:
    """Keys that only verify: {key id: its public file}, relative to the host file."""
    return Keys({name: Key(name, ED25519, {"public_file": file}, host) for name, file in files.items()}, None, host)


def private_key(name: str, file: str) -> Keys:
    """The one key in a file of its owner's, to sign with."""
    return Keys({name: Key(name, ED25519, {"file": os.path.abspath(file)}, "--key")}, name, "--key")


def read_keys(host: str, section: Mapping[Any, Any]) -> Keys:
    """The keys that a host file's section names.

    Raises:
        InputError: an entry is not understood; a value that may be a secret is not repeated.
    """
    entries = {name: entry for name, entry in section.items() if name != "active"}
    keys = {str(name): _key(host, str(name), entry) for name, entry in entries.items()}
    active = section.get("active")
    if active is not None and active not in keys:
        hint = did_you_mean(str(active), keys) or f"it has {', '.join(sorted(keys)) or 'none'}"
        raise InputError(f"{host}: keys: active names no key of this file: {active!r}; {hint}")
    if active is not None and set(keys[active].places) == {"public_file"}:
        raise InputError(f"{host}: key {active!r} is active, but only its public_file is given, which cannot sign")
    return Keys(keys, active, host)


def _key(host: str, name: str, entry: Any) -> Key:
    where = f"{host}: key {name!r}"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: is given as {{algorithm: ..., file: PATH}} or {{algorithm: ..., env: NAME}}, never in this file itself")
    algorithm = entry.get("algorithm")
    if algorithm not in PLACES:
        raise InputError(f"{where}: algorithm is {' or '.join(PLACES)}, got {algorithm!r}")
    known = {"algorithm", *PLACES[algorithm]}
    for word in entry:
        if word not in known:
            raise InputError(f"{where}: {word!r} is not understood; {did_you_mean(str(word), known) or 'expected ' + ', '.join(sorted(known))}")
    places = {word: value for word, value in entry.items() if word != "algorithm"}
    if not places or ("env" in places and "file" in places):
        raise InputError(f"{where}: say where it is with one of env and file{', or public_file to verify only' if algorithm == ED25519 else ''}")
    for word, value in places.items():
        if not isinstance(value, str) or not value:
            raise InputError(f"{where}: {word} is the name of {'an environment variable' if word == 'env' else 'a file'}")
    return Key(name, algorithm, places, host)


def _private(key: Key) -> Ed25519PrivateKey:
    content = key.content(("env", "file"))
    ed25519, serialization = _cryptography(key)
    try:
        found = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        # A cause may quote what it could not read.
        raise InputError(f"{key}: is no unencrypted private key in PEM form ({type(error).__name__})") from None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise InputError(f"{key}: is no Ed25519 key")
    private: Ed25519PrivateKey = found
    return private


def _public_of(key: Key) -> Ed25519PublicKey:
    content = key.content(("public_file",))
    ed25519, serialization = _cryptography(key)
    try:
        found = serialization.load_pem_public_key(content)
    except ValueError as error:
        raise InputError(f"{key}: is no public key in PEM form ({type(error).__name__})") from None
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise InputError(f"{key}: is no Ed25519 key")
    public: Ed25519PublicKey = found
    return public


def _is_signed(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _cryptography(key: Key) -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise InputError(f"{key}: Ed25519 needs the package cryptography; run `pip install 'governed-memory[attest]'`") from error
    return ed25519, serialization
