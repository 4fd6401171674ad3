"""The commands of this room."""

from __future__ import annotations

import argparse

from governed_memory.memory.frame_commands import register_frames


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this room's commands to the root parser."""
    register_frames(commands)
