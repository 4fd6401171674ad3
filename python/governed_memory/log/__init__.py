"""The append-only log: what was observed, in segment files that one writer each appends to, chained by hash, their heads signed apart."""

from governed_memory.log.archives import Archived
from governed_memory.log.events import canonical_event, expect_text, fragments, in_bytes, in_utc, joined, timestamp
from governed_memory.log.findings import Problem, Verification
from governed_memory.log.heads import Head, Pruned, StreamHead, read_heads
from governed_memory.log.reader import Positions, Row, positions, rows_at, rows_since
from governed_memory.log.retention import Policy, Retained, archive, prune, seal
from governed_memory.log.signing import sign_heads
from governed_memory.log.verification import verify
from governed_memory.log.witness import Read, Witness, utc_now, witness_at
from governed_memory.log.writer import LogWriter

__all__ = [
    "Archived",
    "Head",
    "LogWriter",
    "Policy",
    "Positions",
    "Problem",
    "Pruned",
    "Read",
    "Retained",
    "Row",
    "StreamHead",
    "Verification",
    "Witness",
    "archive",
    "canonical_event",
    "expect_text",
    "fragments",
    "in_bytes",
    "in_utc",
    "joined",
    "positions",
    "prune",
    "read_heads",
    "rows_at",
    "rows_since",
    "seal",
    "sign_heads",
    "timestamp",
    "utc_now",
    "verify",
    "witness_at",
]
