"""Memory: cells of four systems, links and frames, kept as an append-only log and read as SQL views of it (rules M1 to M6)."""

from governed_memory.memory.proposals import Outcome
from governed_memory.memory.recall import Sight
from governed_memory.memory.store import MemoryStore

__all__ = ["MemoryStore", "Outcome", "Sight"]
