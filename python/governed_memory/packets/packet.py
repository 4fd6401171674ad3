"""A packet as it is handed out: its text, and a manifest that says what it was made of and what was left out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from governed_memory.errors import InputError
from governed_memory.host.canonical import digest, parse

FORMAT = "governed_memory packet 1"


@dataclass(frozen=True, slots=True)
class Packet:
    """A context packet.

    Attributes:
        text: what an agent reads.
        manifest: what it was made of: inputs, caller, policies, generation, coverage, groups and what was left out; never a value, and of what is
            withheld only how much there is.
    """

    text: str
    manifest: Mapping[str, Any]

    @property
    def packet_id(self) -> str:
        """SHA-256 of the canonical manifest, which has that of the text."""
        return digest(_plain(self.manifest))

    def as_data(self) -> dict[str, Any]:
        """{packet_id, manifest, text}, as a file has it."""
        return {"packet_id": self.packet_id, "manifest": dict(self.manifest), "text": self.text}


def packet_of(text: str, manifest: Mapping[str, Any]) -> Packet:
    """A packet of a text and what else its manifest says."""
    return Packet(text, {"format": FORMAT, **manifest, "text_sha256": sha256_of(text)})


def read_packet(place: str, text: str) -> Packet:
    """A packet from the file that it was written to.

    Raises:
        InputError: it is none, or is not as it was made.
    """
    try:
        held = json.loads(text)
        packet, name = Packet(held["text"], held["manifest"]), held["packet_id"]
        is_whole = packet.packet_id == name and sha256_of(packet.text) == packet.manifest["text_sha256"] and packet.manifest["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{place}: is no packet; expected what `gmem packet build --json` printed") from None
    if not is_whole:
        raise InputError(f"{place}: is not as it was made: its id or the hash of its text does not match; build it again")
    return packet


def sha256_of(text: str) -> str:
    """A text's hash, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """With numbers as they are written, which is what is hashed."""
    return parse(json.dumps(value, ensure_ascii=False))
