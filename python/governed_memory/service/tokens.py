"""Bearer tokens of callers, from where the host file says they are kept (rule G8). No message holds one."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from governed_memory.errors import InputError
from governed_memory.host.configuration import Caller, Host


class Tokens:
    """Which caller a bearer token stands for."""

    def __init__(self, host: Host) -> None:
        """Read every token that the host file names.

        Raises:
            InputError: there is none, one is missing, empty or no token, or two callers have the same.
        """
        if not host.tokens:
            raise InputError(f"{host.place}: no caller has a token, so nobody could be told apart over HTTP; give callers `token: {{env: NAME}}`")
        self._callers: list[tuple[bytes, Caller]] = []
        for name in host.tokens:
            digest = _digest(_token(host, name))
            known = self._caller(digest)
            if known is not None:
                raise InputError(f"{host.place}: callers {known.name!r} and {name!r} have the same token; each needs its own")
            self._callers.append((digest, host.callers[name]))

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; None where it is nobody's."""
        return self._caller(_digest(token))

    def _caller(self, digest: bytes) -> Caller | None:
        found = None
        # Every one is compared, and in constant time, so that how long this takes says nothing of any.
        for known, caller in self._callers:
            if hmac.compare_digest(known, digest):
                found = caller
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _token(host: Host, name: str) -> str:
    kind, place = host.tokens[name]
    where = f"{host.place}: the token of caller {name!r}"
    if kind == "env":
        token, source = os.environ.get(place), f"the environment variable {place!r}"
    else:
        path = Path(host.place).parent / place
        source = f"the file {place!r}"
        try:
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{where} cannot be read from {source}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from error
    if not token:
        raise InputError(f"{where} is {'missing; expected it in' if token is None else 'empty in'} {source}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{where}, from {source}, holds characters that no HTTP header can carry; use letters, digits and -._~+/=")
    return token
