"""The facts of a packet, one slot each, out of the text that an agent would read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from governed_memory.errors import InputError
from governed_memory.host.canonical import digest
from governed_memory.overlay.compact import expand
from governed_memory.packets import Packet

SPAN = re.compile("`([^`]*)`")


@dataclass(frozen=True, slots=True)
class Fact:
    """A record or cell as the model gets it.

    Attributes:
        member_id: its identifier.
        store: of a record.
        concept: of a record.
        value: what it says.
    """

    member_id: str
    store: str | None
    concept: str | None
    value: str

    @property
    def text(self) -> str:
        """What is encoded: the concept and the value, and no identifier, so that a slot says what it says and not what it is called."""
        return f"{self.concept}: {self.value}" if self.concept is not None else self.value

    @property
    def fingerprint(self) -> str:
        """SHA-256 of who says what."""
        return digest([self.store, self.concept, self.member_id, self.value])


def facts_of(place: str, packet: Packet) -> tuple[Fact, ...]:
    """The facts of a packet in its order.

    Args:
        place: what the packet is called in an error.
        packet: as it was read.

    Raises:
        InputError: there are none, or its text does not tell those that its manifest names.
    """
    members = [member for group in packet.manifest["groups"] for member in group["members"]]
    if not members:
        raise InputError(f"{place}: holds no fact, so there is nothing to hand to a model; build it with another --query, --concept or --caller")
    form = packet.manifest["inputs"].get("form", "compact")
    told = list(VALUES[form](packet.text.split("\n")))
    if [name for name, _ in told] != [member["id"] for member in members]:
        raise InputError(f"{place}: its text does not tell the records that its manifest names, in that order; build it again")
    return tuple(Fact(member["id"], member["store"], member["concept"], value or "") for member, (_, value) in zip(members, told, strict=True))


Told = tuple[str, str | None]


def _compact(lines: Sequence[str]) -> Iterator[Told]:
    for record in expand(line for line in lines if line):
        yield record["record_id"], record.get("value")


def _json_lines(lines: Sequence[str]) -> Iterator[Told]:
    for line in filter(None, lines):
        record = json.loads(line)
        yield record["record_id"], record.get("value")


def _markdown(lines: Sequence[str]) -> Iterator[Told]:
    for line in lines:
        if line.startswith("- "):
            # The concept comes before the identifier, the value is last: each in a span of code of its own.
            spans = SPAN.findall(line)
            yield json.loads(spans[1 if line.startswith("- concept ") else 0]), json.loads(spans[-1])


VALUES: dict[str, Callable[[Sequence[str]], Iterator[Told]]] = {"compact": _compact, "jsonl": _json_lines, "markdown": _markdown}
