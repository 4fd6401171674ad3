"""The options that say how the dates of a store file read, for every command that takes one (rules T1, T2)."""

from __future__ import annotations

import argparse
from typing import Any


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add --ends, --zone and --null-end."""
    parser.add_argument("--ends", choices=("inclusive", "exclusive"), help="for a file: an end is the last day that holds (default), or the first moment after")
    parser.add_argument("--zone", metavar="ZONE", help="for a file: the time zone in which its timestamps become dates (default UTC)")
    parser.add_argument("--null-end", choices=("open", "unknown"), help="for a file: what an empty end in a column says (default open; in JSON null is open)")


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """What of it is given, as fields of StoreFile."""
    said = {
        "is_valid_to_exclusive": None if arguments.ends is None else arguments.ends == "exclusive",
        "zone": arguments.zone,
        "is_null_end_open": None if arguments.null_end is None else arguments.null_end == "open",
    }
    return {name: value for name, value in said.items() if value is not None}
