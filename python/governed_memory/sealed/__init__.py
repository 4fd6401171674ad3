"""Sealed folders: files with a signed manifest of what they are, put in place in one step and opened only whole (rule M11)."""

from governed_memory.sealed.generations import Newest, Refused, folder_of, generations, newest_valid, seal, whole
from governed_memory.sealed.manifest import MANIFEST, Manifest, SealedFile, SealError
from governed_memory.sealed.opening import Opened, opened, taken, verified
from governed_memory.sealed.writing import Part

__all__ = [
    "MANIFEST",
    "Manifest",
    "Newest",
    "Opened",
    "Part",
    "Refused",
    "SealError",
    "SealedFile",
    "folder_of",
    "generations",
    "newest_valid",
    "opened",
    "seal",
    "taken",
    "verified",
    "whole",
]
