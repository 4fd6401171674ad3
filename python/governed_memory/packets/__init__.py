"""Context packets: what is chosen for an agent out of records and cells, in groups that enter whole or not at all (rule M9)."""

from governed_memory.packets.assembly import build_packet
from governed_memory.packets.packet import Packet
from governed_memory.packets.request import DoesNotFitError, PacketRequest

__all__ = ["DoesNotFitError", "Packet", "PacketRequest", "build_packet"]
