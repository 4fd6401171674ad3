"""What names a store that no dbt project has attached: a path, perhaps a table in it, and which of its columns means what."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, did_you_mean

# As in macros/staging/roles.sql, which a test holds equal. written_by has no column of its own name: only a mapping gives one (T8).
ROLES = (
    "record_id", "concept", "value", "valid_from", "valid_to", "source", "concept_owner", "owner_role",
    "conflict_policy", "applies_to", "does_not_apply_to", "release_to", "supersedes",
    "classification", "confidential", "restricted", "policy", "rule", "priority",
    "withdrawal", "recorded_at", "written_by",
)  # fmt: skip
# Columns of record_rows that are not named for their role.
HELD_AS = {"concept": "concept_id", "source": "source_id"}
LIST_ROLES = ("applies_to", "does_not_apply_to", "release_to", "supersedes")

JSON_LINES, JSON_ARRAY, CSV, PARQUET, DUCKDB = "JSON Lines", "JSON array", "CSV", "Parquet", "DuckDB"
FORMATS = {".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".json": JSON_LINES, ".csv": CSV, ".tsv": CSV, ".parquet": PARQUET, ".duckdb": DUCKDB, ".db": DUCKDB}
ANOTHER_FORM = "; a store of another form is read with --form where a command has it, or turned into rows by `gmem convert`"


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A store in a file.

    Attributes:
        path: the file, or FILE.duckdb::table for a table in a DuckDB file.
        mapping: {role: the store's own column or key}, for those that differ.
        policy_id: the conflict policy's name where it is stated beside the records.
        zone: the time zone in which timestamps become dates.
        name: what the store is called, where that is not the name of its table, or else of the file without its ending.
        target_level: the level it is held to; findings up to it are errors (L3).
        is_valid_to_exclusive: an end is the first day that no longer holds (T2).
        is_null_end_open: an empty end in a column is open; otherwise not stated (T1).
        open_markers: classifications that restrict nothing.
        built: the database `dbt build` wrote, where the store is attached: its registers and the store's entry apply.
        more: a file of the same format whose records follow.
        attests_writers: the host vouches for who wrote each record (T8).
    """

    path: str
    mapping: dict[str, str] = field(default_factory=dict)
    policy_id: str | None = None
    zone: str = "UTC"
    name: str | None = None
    target_level: int = 3
    is_valid_to_exclusive: bool = False
    is_null_end_open: bool = True
    open_markers: tuple[str, ...] = ()
    built: str | None = None
    more: Path | None = None
    attests_writers: bool = False

    @property
    def store_id(self) -> str:
        """What the store is called in findings: by its table or file, wherever that lies."""
        return self.name or self.table or self.named_file.stem

    @property
    def file(self) -> Path:
        """The file on disk."""
        return Path(self.path.partition("::")[0])

    @property
    def named_file(self) -> Path:
        """The file by a name of its own, also where the path is `.` or `..`: what lies beside it is named after it."""
        return self.file.resolve() if self.file.name in ("", "..") else self.file

    @property
    def table(self) -> str | None:
        """The table after `::`, if the path names one."""
        return self.path.partition("::")[2] or None

    @property
    def columns(self) -> dict[str, str]:
        """{role: column}, every role that this store can hold."""
        return {role: self.mapping.get(role, role) for role in ROLES if role != "written_by" or role in self.mapping}

    def format(self) -> str:
        """Which of the five formats the file has, from its name and, for JSON, its first character.

        Raises:
            InputError: there is no such file, it cannot be opened, or its name ends in no known way.
        """
        if self.parts():
            return PARQUET
        mode = self._mode()
        if not stat.S_ISREG(mode):
            what = (
                "a folder without Parquet files" if stat.S_ISDIR(mode)
                else "neither a file nor a folder, such as a device or a pipe; save what it gives in a file" if mode
                else "no such file"
            )  # fmt: skip
            expected = "expected a JSON Lines, JSON array, CSV, Parquet or DuckDB file, or a folder of Parquet files"
            raise InputError(f"{self.file}: {what}; {expected}{ANOTHER_FORM if stat.S_ISDIR(mode) else ''}")
        known = FORMATS.get(self.file.suffix.lower())
        if known is None:
            raise InputError(f"{self.file}: its name ends in {self.file.suffix!r}; expected one of {', '.join(FORMATS)}{ANOTHER_FORM}")
        if known in (JSON_LINES, CSV):
            first = self._first_character()
            # A file of blanks holds no record, whatever its name says.
            return JSON_ARRAY if known == JSON_LINES and first == b"[" else known if first else JSON_LINES
        return known

    def parts(self) -> list[Path]:
        """The part files of a folder of Parquet files, in the order of their names; none where the path is no such folder."""
        return sorted(self.file.glob("*.parquet")) if stat.S_ISDIR(self._mode()) else []

    def _mode(self) -> int:
        """What kind of thing the path leads to; 0 where nothing is there, or no path can be so long."""
        return _mode_of(self.file)

    def _first_character(self) -> bytes:
        try:
            with self.file.open("rb") as file:
                for block in iter(lambda: file.read(65536), b""):
                    text = block.removeprefix(b"\xef\xbb\xbf").lstrip()
                    if text:
                        return text[:1]
        except OSError as error:
            raise InputError(f"{self.file}: cannot be read: {error.strerror}") from error
        return b""


def named_store(text: str, mapping: str, reading: Mapping[str, Any] | None = None) -> StoreFile | str:
    """The store that a command line names: a file where the name looks like one, else the name of an attached store.

    Args:
        text: the name.
        mapping: what --map says.
        reading: how its ends read, as `file_options.reading` gives it.

    Raises:
        InputError: the mapping is malformed, or it or a reading is given for an attached store.
    """
    if looks_like_a_file(text):
        return StoreFile(text, parse_mapping(mapping), **(reading or {}))
    if reading:
        raise InputError(f"--ends, --zone, --null-end: {text!r} is no file; how an attached store reads is said in the project's `vars: stores:`")
    if mapping:
        raise InputError(f"--map: {text!r} is no file; the columns of an attached store are mapped in the project's `vars: stores:`")
    return text


def looks_like_a_file(text: str) -> bool:
    """Whether what names a store is a file rather than the name of an attached one."""
    return bool(Path(text.partition("::")[0]).suffix) or _mode_of(Path(text)) != 0


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def parse_mapping(text: str) -> dict[str, str]:
    """`role=column,role=column` as a dictionary.

    Raises:
        InputError: a pair has no `=`, an empty side or an unknown role, or a role comes twice.
    """
    mapping: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        role, equals, column = (part.strip() for part in pair.partition("="))
        if not (equals and role and column):
            raise InputError(f"--map: {pair!r} is not role=column")
        expect_role("--map", role)
        if role in mapping:
            raise InputError(f"--map: {role!r} is mapped twice, to {mapping[role]!r} and to {column!r}")
        mapping[role] = column
    return mapping


def expect_role(argument: str, role: str) -> None:
    """InputError naming the argument where there is no such role."""
    if role not in ROLES:
        hint = did_you_mean(role, ROLES) or f"roles are {', '.join(ROLES)}"
        raise InputError(f"{argument}: {role!r} is no role; {hint}")
