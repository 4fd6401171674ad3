"""Sealed folders: files with a signed manifest of what they are, put in place in one step and opened only whole (rule M11)."""

from governed_memory.sealed.generations import Newest, Refused, folder_of, generations, newest_valid, seal, taken_generations, whole
from governed_memory.sealed.handovers import Handover, Handovers, kept_handovers, read_handovers
from governed_memory.sealed.manifest import MANIFEST, Manifest, SealedFile, SealError
from governed_memory.sealed.opening import Opened, opened, taken, verified
from governed_memory.sealed.writing import Part

__all__ = [
    "MANIFEST",
    "Handover",
    "Handovers",
    "Manifest",
    "Newest",
    "Opened",
    "Part",
    "Refused",
    "SealError",
    "SealedFile",
    "folder_of",
    "generations",
    "kept_handovers",
    "newest_valid",
    "opened",
    "read_handovers",
    "seal",
    "taken",
    "taken_generations",
    "verified",
    "whole",
]
