"""Put new records behind those a store holds, durably, and touch nothing else (rule T7).

A change is first staged: written, in the store's own format, to a file beside which nothing changes. What is judged and what is appended are
then the same bytes. A JSON Lines or CSV file is appended to, a folder of Parquet files gets one more part, a table gets rows in one transaction.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

import duckdb

from governed_memory.errors import InputError
from governed_memory.warehouse.attach import ENVELOPES
from governed_memory.warehouse.connection import connect, literal, open_memory
from governed_memory.warehouse.diagnose import explain_unreadable
from governed_memory.warehouse.durable import append_bytes, on_a_line_of_its_own, recover, write_whole
from governed_memory.warehouse.json_text import dumps, parse, plain
from governed_memory.warehouse.readers import column_reader, csv_delimiter, csv_header, json_objects, json_path, name_text, table_of, within_a_record_limit
from governed_memory.warehouse.store_file import CSV, DUCKDB, JSON_ARRAY, JSON_LINES, PARQUET, StoreFile

SECONDS_TO_WAIT = 60.0


def appendable(store: StoreFile) -> str:
    """The store's format, if records can be appended to it.

    Raises:
        InputError: a JSON array or a single Parquet file, which would have to be written anew; the message says how to convert it.
    """
    kind = store.format()
    if kind == JSON_ARRAY:
        whole = store.file.with_suffix(".jsonl")
        raise InputError(
            f"{store.path}: a JSON array cannot be appended to without writing it anew; convert it once with "
            f"`gmem compact --full {store.path} | gmem expand - > {whole}` and name {whole}"
        )
    if kind == PARQUET and not store.parts():
        folder = store.file.with_suffix("")
        raise InputError(
            f"{store.path}: a Parquet file cannot be appended to without writing it anew; make it the first part of a folder with "
            f"`mkdir {folder} && mv {store.path} {folder}/part-0.parquet` and name {folder}"
        )
    return kind


def locked(store: StoreFile) -> AbstractContextManager[None]:
    """Hold the store against other writers of this package, from reading what it holds to appending what follows from it.

    Raises:
        InputError: another writer holds it for a minute, or it may not be written.
    """
    place = store.file.resolve()
    return locked_path(place, place)


@contextmanager
def locked_path(place: Path, written: Path) -> Iterator[None]:
    """Hold a file or folder against other writers of this package, and take back what one that was cut off left of the file written.

    Raises:
        InputError: another writer holds it for a minute, or it may not be written.
    """
    handle = _locked_handle(place)
    try:
        if written.is_file():
            recover(written)
        yield
    finally:
        os.close(handle)


def _locked_handle(place: Path) -> int:
    """A handle that holds the lock of what stands in this place now: one that waited may hold what was replaced meanwhile."""
    while True:
        try:
            handle = os.open(place, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{place}: cannot be opened: {error.strerror}") from error
        try:
            if not os.access(place, os.W_OK):
                raise InputError(f"{place}: may not be written; nothing was changed")
            _wait(f"{place}: another writer holds it", partial(fcntl.flock, handle, fcntl.LOCK_EX | fcntl.LOCK_NB), BlockingIOError)
            if os.path.samestat(os.fstat(handle), os.stat(place)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def rows_with_ids(store: StoreFile, ids: Collection[str]) -> tuple[dict[str, tuple[str, dict[str, Any]]], list[str] | None]:
    """The rows whose identifier is one of these (compared in form NFC), and the store's columns.

    Returns:
        {identifier in form NFC: (as the store spells it, the row key for key)}, and the columns; None where records have keys of their own,
        as in JSON Lines.

    Raises:
        InputError: the store cannot be read, or has no column for identifiers.
    """
    kind = store.format()
    wanted = "(" + ", ".join(f"nfc_normalize({literal(name)})" for name in ids) + ")"
    with open_memory() as connection:
        try:
            if kind == JSON_LINES:
                held = _id_in(store, kind)
                found = _rows(connection, store, f"select {held}, json from {{rows}} where nfc_normalize({held}) in {wanted}")
                return {normalize("NFC", name): (name, _record(store, text)) for name, text in found}, None
            reader = column_reader(connection, store, kind)
            columns = [row[0] for row in connection.execute(f"describe select * from {reader}").fetchall()]
            if store.columns["record_id"] not in columns:
                raise InputError(f"{store.path}: has no column {store.columns['record_id']!r}; name the one that holds the id with --map record_id=COLUMN")
            held = _id_in(store, kind)
            found = connection.execute(f"select {held}, * from {reader} where nfc_normalize({held}) in {wanted}").fetchall()
            return {normalize("NFC", name): (name, dict(zip(columns, row, strict=True))) for name, *row in found}, columns
        except duckdb.Error as error:
            raise explain_unreadable(store, kind, error) from error


def _record(store: StoreFile, text: str) -> dict[str, Any]:
    try:
        record: dict[str, Any] = parse(text)
    except ValueError as error:
        raise InputError(f"{store.path}: a record that is to be replaced cannot be taken over: {error}") from error
    return record


def holds_envelopes(store: StoreFile) -> bool:
    """Whether the lines of a JSON Lines file hold a record and who wrote it, rather than a record."""
    if store.format() != JSON_LINES:
        return False
    with open_memory() as connection:
        first = _rows(connection, store, "select json_keys(json) from {rows} limit 1")
    return bool(first) and set(first[0][0] or []) in ENVELOPES


def nearest_id(store: StoreFile, name: str) -> str | None:
    """The identifier in the store that is most like a name, if one is near."""
    with open_memory() as connection:
        [(best,)] = _rows(
            connection,
            store,
            f"""select arg_max(held, likeness)
            from (select held, jaro_winkler_similarity(held, {literal(name)}) as likeness from (select {_id_in(store, store.format())} as held from {{rows}}))
            where likeness > 0.8""",
        )
    return str(best) if best is not None else None


def _rows(connection: duckdb.DuckDBPyConnection, store: StoreFile, sql: str) -> list[tuple[Any, ...]]:
    """What a query says over a store's `{rows}`: its columns, or one `json` column."""
    kind = store.format()
    if kind == JSON_LINES:
        return within_a_record_limit(lambda limit: connection.execute(sql.replace("{rows}", json_objects(store, kind, limit))).fetchall())
    return connection.execute(sql.replace("{rows}", column_reader(connection, store, kind))).fetchall()


def _id_in(store: StoreFile, kind: str) -> str:
    key = store.columns["record_id"]
    return f"json_extract_string(json, {literal(json_path(key))})" if kind == JSON_LINES else f"cast({name_text(key)} as varchar)"


def stage(store: StoreFile, records: Sequence[dict[str, Any]], folder: Path) -> Path:
    """Write records to a file of the store's own format, of CSV the lines without the header, in a folder of the caller's.

    Raises:
        InputError: the store has no column for a key of a record, or a value is none of its column's type.
    """
    kind = store.format()
    if kind == JSON_LINES:
        staged = folder / "records.jsonl"
        staged.write_text("".join(dumps(record) + "\n" for record in records), encoding="utf-8")
        return staged
    if kind == CSV:
        return _stage_csv(store, records, folder / f"records{store.file.suffix}")
    return _stage_columns(store, kind, records, folder / "records.parquet")


def candidate(store: StoreFile, staged: Path, folder: Path) -> StoreFile:
    """The store as it will be with what was staged. A line of CSV may change how the others read, so there the whole file is written and read."""
    if store.format() != CSV:
        return replace(store, more=staged)
    whole = folder / f"whole{store.file.suffix}"
    shutil.copyfile(store.file, whole)
    with whole.open("ab") as file:
        data = staged.read_bytes()
        file.write(on_a_line_of_its_own(store.file, data, _line_end(data)))
    return replace(store, path=str(whole), name=store.store_id)


def append(store: StoreFile, staged: Path) -> None:
    """Append what was staged; it is on disk when this returns. To be called while the store is `locked`.

    Raises:
        InputError: the disk or the database refused it; the store is as it was.
    """
    kind = store.format()
    try:
        if kind == DUCKDB:
            _append_rows(store, staged)
        elif kind == PARQUET:
            _append_part(store, staged)
        else:
            data = staged.read_bytes()
            append_bytes(store.file, data, _line_end(data))
    except OSError as error:
        raise InputError(f"{store.file}: not written: {error.strerror}; the store is as it was") from error


def _append_part(store: StoreFile, staged: Path) -> None:
    last = store.parts()[-1].stem
    # "_" sorts behind the dot of ".parquet": the new part is read after the last one.
    stem, number = re.fullmatch(r"(.*?)(?:_(\d{8}))?", last).groups()  # type: ignore[union-attr]
    part = store.file / f"{stem}_{int(number or 0) + 1:08}.parquet"
    write_whole(part, staged.read_bytes())


def _append_rows(store: StoreFile, staged: Path) -> None:
    def insert() -> None:
        with connect(store.file) as connection:
            names = ", ".join(name_text(row[0]) for row in connection.execute(f"describe select * from read_parquet({literal(staged)})").fetchall())
            table = table_of(connection, store, connection.execute("select current_database()").fetchone()[0])  # type: ignore[index]
            connection.execute(f"insert into {table} ({names}) select {names} from read_parquet({literal(staged)})")

    try:
        _wait(f"{store.file}: another process has it open", insert, duckdb.IOException)
    except duckdb.Error as error:
        raise InputError(f"{store.path}: not written: {str(error).splitlines()[0]}; the table is as it was") from error


def _stage_csv(store: StoreFile, records: Sequence[dict[str, Any]], staged: Path) -> Path:
    with open_memory() as connection:
        delimiter = csv_delimiter(connection, store)
    columns, line_end = csv_header(store, delimiter)
    if line_end == "\r":
        raise InputError(f"{store.path}: its lines end in a carriage return alone, which nothing can be appended to; save it once with lines that end in \\n")
    lines = (delimiter.join(_csv_field(record.get(name), delimiter) for name in columns) + line_end for record in records)
    staged.write_bytes("".join(lines).encode())
    return staged


def _csv_field(value: Any, delimiter: str) -> str:
    text = _csv_value(value)
    # A break of any kind in quotes, also one that ends no line of this file.
    return '"' + text.replace('"', '""') + '"' if any(character in text for character in (delimiter, '"', "\r", "\n")) else text


def _line_end(lines: bytes) -> bytes:
    return b"\r\n" if lines.endswith(b"\r\n") else b"\n"


def _csv_value(value: Any) -> str:
    if isinstance(value, dict):
        return dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join("'" + str(item).replace("\\", "\\\\").replace("'", "\\'") + "'" for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _stage_columns(store: StoreFile, kind: str, records: Sequence[dict[str, Any]], staged: Path) -> Path:
    with open_memory() as connection:
        connection.execute(f"create table records as select * from {column_reader(connection, store, kind)} limit 0")
        for record in records:
            names = ", ".join(map(name_text, record))
            marks = ", ".join("?" for _ in record)
            try:
                connection.execute(f"insert into records ({names}) values ({marks})", [plain(value) for value in record.values()])
            except duckdb.Error as error:
                raise InputError(f"{store.path}: a value does not fit its column: {str(error).splitlines()[0]}") from error
        # Only the columns that are given: the table fills in the others as it does for any new row.
        given = list(dict.fromkeys(name for record in records for name in record))
        columns = ", ".join(map(name_text, given)) if kind == DUCKDB else "*"
        connection.execute(f"copy (select {columns} from records) to {literal(staged)} (format parquet)")
    return staged


def _wait(holder: str, attempt: Callable[[], object], refusal: type[Exception]) -> None:
    """Try again until it works; whoever holds the store writes for seconds at most."""
    until = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            attempt()
            return
        except refusal as error:
            if time.monotonic() > until:
                raise InputError(f"{holder}; wait for it to end and try again. Nothing was changed") from error
            time.sleep(0.05)
