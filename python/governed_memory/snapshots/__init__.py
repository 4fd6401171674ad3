"""Snapshots: what this project alone holds, sealed as generations, and restored whole or not at all (rule M11)."""

from governed_memory.snapshots.opening import KIND, opened_newest, verified_snapshot
from governed_memory.snapshots.restoring import Restored, restore
from governed_memory.snapshots.taking import Sources, take

__all__ = ["KIND", "Restored", "Sources", "opened_newest", "restore", "take", "verified_snapshot"]
