"""The append-only log: what was observed, in segment files that one writer each appends to, chained by hash, their heads signed apart."""

from governed_memory.log.events import canonical_event
from governed_memory.log.heads import Head, Pruned, StreamHead, read_heads
from governed_memory.log.reader import Positions, Row, positions, rows_at, rows_since
from governed_memory.log.writer import LogWriter

__all__ = ["Head", "LogWriter", "Positions", "Pruned", "Row", "StreamHead", "canonical_event", "positions", "read_heads", "rows_at", "rows_since"]
