"""`gmem`: assembles the commands of each room; a room is imported when the command line names it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from governed_memory.errors import GovernedMemoryError, message

# Which room holds which commands.
ROOMS = {
    "check": "overlay",
    "compact": "overlay",
    "expand": "overlay",
    "profile": "overlay",
    "convert": "overlay",
    "baseline": "overlay",
    "supersede": "overlay",
    "withdraw": "overlay",
    "worklist": "overlay",
    "steward": "overlay",
    "as-of": "reads",
    "history": "reads",
    "diff": "reads",
    "ask": "reads",
    "attest": "reads",
    "sql": "reads",
    "publish": "reads",
    "transpile": "reads",
    "status": "reads",
    "erase": "reads",
    "conformance": "reads",
    "expectations": "expectations",
    "memory": "memory",
    "packet": "packets",
    "graph": "packets",
    "bridge": "bridge",
    "why": "bridge",
    "serve": "service",
    "job": "service",
    "report": "report",
    "lint-disclosure": "lint",
    "gates": "gates",
    "frame": "memory",
    "skill": "memory",
    "candidates": "memory",
    "approve": "memory",
    "snapshot": "snapshots",
    "reject": "memory",
    "revoke": "memory",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 as asked, 1 the answer is no, 2 something given cannot be used."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for place, word in enumerate(arguments, start=1):
        if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
            print(f"gmem: argument {place}: {message(ascii(word))} is not UTF-8; write it in UTF-8, and name files so", file=sys.stderr)
            return 2
    parser = argparse.ArgumentParser(
        prog="gmem", description="Governed memory: check, read and serve records that say since when they hold, who owns them and who may read them."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = next((word for word in arguments if word in ROOMS), None)
    for room in dict.fromkeys([ROOMS[named]] if named else ROOMS.values()):
        import_module(f"governed_memory.{room}.commands").register(commands)
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except GovernedMemoryError as error:
        print(f"gmem {parsed.command}: {message(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has had enough; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # The last net, under errors that name what is wrong with what is given: what no check foresaw in it is still one line, a mistake
        # in this package is not.
        if not isinstance(error, (RecursionError, UnicodeError, OverflowError, OSError)) and "duckdb" not in type(error).__module__:
            raise
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        print(f"gmem {parsed.command}: what is given cannot be read: {message(what)}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
