"""The log when things go wrong: killed writers, full disks, folders that nobody may write to, and people who edit it."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import log_processes
import pytest
from log_processes import AT, SMALL, host_keys

from governed_memory.errors import BusyError, InputError
from governed_memory.host.keys import Keys
from governed_memory.log import LogWriter, canonical_event, positions, rows_since, sign_heads, verification, verify
from governed_memory.log.heads import SignedHead, put_head, read_head

SCRIPT = str(Path(log_processes.__file__))


def event(number: int, **more: Any) -> bytes:
    return canonical_event({"id": f"e{number}", "recorded_at": AT, **more})


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(".part")}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_nothing_half(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, SCRIPT, "killed", str(tmp_path), "200"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 100


def test_two_writers_and_a_reader_at_once(tmp_path: Path, log: Path) -> None:
    LogWriter(log, keys=host_keys(tmp_path)).close()
    script = [sys.executable, SCRIPT, "append", str(tmp_path)]
    seen: dict[tuple[str, str], int] = {}
    events: dict[tuple[str, str], list[bytes]] = {}
    is_over = False
    with (
        subprocess.Popen([*script, "a", "150"], stdout=subprocess.PIPE, text=True) as first,
        subprocess.Popen([*script, "b", "150"], stdout=subprocess.PIPE, text=True) as second,
    ):
        while not is_over:
            is_over = first.poll() is not None and second.poll() is not None
            for row in rows_since(log, None, seen):
                assert row.seq == seen.get((row.writer, row.stream), 0) + 1
                seen[row.writer, row.stream] = row.seq
                events.setdefault((row.writer, row.stream), []).append(row.event)
            for writer in ("w001", "w002"):
                assert events.get((writer, "cells")) == events.get((writer, "links")), "an append was read half"
            found = verify(log, keys=host_keys(tmp_path))
            assert found.is_whole, [str(problem) for problem in found.problems]
        acknowledged = [sum(int(line.split()[1]) for line in writer.communicate()[0].splitlines()) for writer in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert sum(len(rows) for (_, stream), rows in events.items() if stream == "cells") == sum(acknowledged)
    assert seen == positions(log)


# --- what the operating system may refuse ---


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, at: int) -> Iterator[list[str]]:
    """The call of the operating system with this number fails; which calls there were."""
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*given: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) == at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*given, **named)

        return call

    with monkeypatch.context() as patched:
        for name in ("open", "pwrite", "fsync", "replace"):
            patched.setattr(os, name, counted(name))
        yield calls


def test_whichever_step_fails_the_log_is_as_it_was_and_the_writer_goes_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = []
    for at in range(1, 30):
        folder = log.with_name(f"log{at}") / "log"
        with LogWriter(folder, segment_bytes=100) as writer:
            writer.append({"cells": [event(1)]}, AT)
            before = files_of(folder.parent)
            with failing(monkeypatch, at) as calls:
                try:
                    writer.append({"cells": [event(2)], "links": [event(3)]}, AT)
                    break
                except InputError as error:
                    failed.append(calls[at - 1])
                    assert "nothing was written to the log: No space left on device" in str(error)
            assert files_of(folder.parent) == before
            writer.append({"cells": [event(4)], "links": [event(5)]}, AT)
            assert [row.event for row in rows_since(folder, None, {})] == [event(1), event(4), event(5)]
            assert verify(folder).is_whole
    assert set(failed) == {"open", "pwrite", "fsync", "replace"} and len(failed) >= 10


def test_what_cannot_be_taken_back_at_once_is_taken_back_before_the_next_append(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
        monkeypatch.setattr("governed_memory.log.writer.settle", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        for _ in range(2):
            with pytest.raises(InputError, match="broken"):
                writer.append({"cells": [event(2)]}, AT)
        assert [row.event for row in rows_since(log, None, {})] == [event(1)]
        monkeypatch.undo()
        writer.append({"cells": [event(3)]}, AT)
    assert [row.event for row in rows_since(log, None, {})] == [event(1), event(3)]
    assert verify(log).is_whole


def test_a_full_disk_is_named_and_leaves_the_log_as_it_was(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
        before, limits = files_of(log.parent), resource.getrlimit(resource.RLIMIT_FSIZE)
        # A segment may grow by some bytes: the write is cut off within a line.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
        try:
            with pytest.raises(InputError, match="nothing was written to the log: File too large"):
                writer.append({"links": [event(2)], "cells": [event(number) for number in range(100)]}, AT)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert files_of(log.parent) == before
        writer.append({"cells": [event(3)]}, AT)
    assert [row.event for row in rows_since(log, None, {})] == [event(1), event(3)]


def test_a_folder_that_may_not_be_written_to_is_named() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with LogWriter(folder / "log") as writer:
            writer.append({"cells": [event(1)]}, AT)
        before = files_of(folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        run = subprocess.run([sys.executable, SCRIPT, "without_rights", str(folder)], capture_output=True, text=True, check=True)
        assert "the log cannot be opened for writing: Permission denied" in run.stdout and run.stdout.startswith(str(folder))
        assert files_of(folder) == before
        assert [row.event for row in rows_since(folder / "log", None, {})] == [event(1)]
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_segment_that_was_replaced_under_a_writer_takes_no_rows(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
        segment = log / "w001/cells.000001.jsonl"
        content = segment.read_bytes()
        segment.unlink()
        segment.write_bytes(content)
        with pytest.raises(InputError, match="replaced or cut short"):
            writer.append({"cells": [event(2)]}, AT)
        # The file is the one it should be, so the next append goes on behind it.
        writer.append({"cells": [event(3)]}, AT)
        segment.write_bytes(content[:-1])
        for _ in range(2):
            with pytest.raises(InputError, match=r"cut short|has \d+ bytes"):
                writer.append({"cells": [event(4)]}, AT)


# --- what somebody may do to the files ---

Edit = Callable[[random.Random, Path], None]


def a_file(draw: random.Random, folder: Path) -> Path:
    return draw.choice(sorted(path for place in ("log", "heads") for path in (folder / place).rglob("*.json*") if path.stat().st_size))


def a_segment(draw: random.Random, folder: Path) -> Path:
    return draw.choice(sorted(path for path in folder.rglob("*.jsonl") if path.stat().st_size))


def lines_edited(change: Callable[[random.Random, list[bytes]], None]) -> Edit:
    def edit(draw: random.Random, folder: Path) -> None:
        path = a_segment(draw, folder)
        lines = path.read_bytes().splitlines(keepends=True)
        change(draw, lines)
        path.write_bytes(b"".join(lines))

    return edit


def flip_a_bit(draw: random.Random, folder: Path) -> None:
    path = a_file(draw, folder)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def cut_the_tail(draw: random.Random, folder: Path) -> None:
    path = a_file(draw, folder)
    path.write_bytes(path.read_bytes()[: -draw.randrange(1, path.stat().st_size + 1)])


def lengthen(draw: random.Random, folder: Path) -> None:
    path = a_file(draw, folder)
    path.write_bytes(path.read_bytes() + draw.choice([b"\n", b" ", b"{}", b"\0" * 50]))


def remove_a_file(draw: random.Random, folder: Path) -> None:
    a_file(draw, folder).unlink()


def add_a_file(draw: random.Random, folder: Path) -> None:
    name = draw.choice(
        ["log/w001/cells.000099.jsonl", "log/w001/other.000001.jsonl", "log/w001/notes.txt", "log/w009/cells.000001.jsonl", "heads/x.txt", "log/x"]
    )
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(draw.choice([b"", a_segment(draw, folder).read_bytes()]))


def rename_a_file(draw: random.Random, folder: Path) -> None:
    path = a_file(draw, folder)
    path.rename(path.with_name(draw.choice(["cells.000077.jsonl", "w007.json", "moved.000001.jsonl", "gone"])))


def swap_two_files(draw: random.Random, folder: Path) -> None:
    kind = draw.choice(["heads/*.json", "log/*/*.jsonl"])
    one, other = draw.sample(sorted(path for path in folder.glob(kind) if path.stat().st_size), 2)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def an_older_head(draw: random.Random, folder: Path) -> None:
    (folder / "heads/w001.json").write_bytes((folder / f"older/{draw.randrange(11)}.json").read_bytes())


def edit_a_head(draw: random.Random, folder: Path) -> None:
    path = draw.choice(sorted(folder.glob("heads/*.json")))
    content = json.loads(path.read_bytes())
    stream = draw.choice(sorted(content["head"]["streams"].values(), key=str))
    draw.choice(
        [
            lambda: content["head"].update(commit=content["head"]["commit"] + 1),
            lambda: content["head"].update(at="2026-10-02T00:00:00Z"),
            lambda: content.update(signature=content["signature"].upper()),
            lambda: content.update(key_id=None, signature=None),
            lambda: stream.update(seq=stream["seq"] - 1),
            lambda: stream.update(pruned={"segments": 0, "seq": 0, "chain": "0" * 64}),
            content["head"]["streams"].popitem,
        ]
    )()
    path.write_bytes(canonical_event(content) + b"\n")


def chain_again(draw: random.Random, folder: Path) -> None:
    """Edit an event and give it and all that follow in its segment the chains they would have had."""
    path = a_segment(draw, folder)
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    first = draw.randrange(len(rows))
    # As long as before, so that only the chain can show it.
    rows[first]["event"]["id"] = rows[first]["event"]["id"].replace("e", "f")
    before = rows[first - 1]["chain"] if first else draw.choice([row["chain"] for row in rows])
    lines = path.read_bytes().splitlines(keepends=True)[:first]
    for row in rows[first:]:
        text = canonical_event(row["event"])
        before = sha256(f"{before}\n{row['seq']}\n".encode() + text).hexdigest()
        lines.append(b'{"chain":"%b","seq":%d,"event":%b}\n' % (before.encode(), row["seq"], text))
    path.write_bytes(b"".join(lines))


def swapped(draw: random.Random, lines: list[bytes]) -> None:
    one, other = (draw.randrange(len(lines)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]


EDITS: dict[str, Edit] = {
    "a bit flipped": flip_a_bit,
    "lines swapped": lines_edited(swapped),
    "a line removed": lines_edited(lambda draw, lines: lines.__delitem__(draw.randrange(len(lines)))),
    "a line twice": lines_edited(lambda draw, lines: lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))),
    "a line inserted": lines_edited(lambda draw, lines: lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines).replace(b'"e', b'"f'))),
    "null for ''": lines_edited(lambda draw, lines: lines.__setitem__(i := draw.randrange(len(lines)), lines[i].replace(b'"note":""', b'"note":null'))),
    "a tail cut": cut_the_tail,
    "lengthened": lengthen,
    "a file removed": remove_a_file,
    "a file added": add_a_file,
    "a file renamed": rename_a_file,
    "files swapped": swap_two_files,
    "an older head": an_older_head,
    "a head edited": edit_a_head,
    "chained again": chain_again,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Keys]:
    """A small signed log: two writers, two streams, several segments; and older heads of its first writer."""
    folder = tmp_path_factory.mktemp("whole")
    keys = host_keys(folder)
    with LogWriter(folder / "log", keys=keys, segment_bytes=SMALL) as first, LogWriter(folder / "log", keys=keys, segment_bytes=SMALL) as second:
        for number in range(12):
            for writer in (first, second):
                events = [event(10 * number + part, note="", text="x" * 30 * part) for part in range(3)]
                writer.append({"cells": events, "links": events[:2]}, AT)
            (folder / "older").mkdir(exist_ok=True)
            shutil.copy(folder / "heads/w001.json", folder / f"older/{number}.json")
    assert len(list(folder.rglob("*.jsonl"))) > 8
    return folder, keys


def test_a_thousand_edits_are_all_found(whole: tuple[Path, Keys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "PAUSE_S", 0)
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    keys, draw, before, done = whole[1], random.Random(1), files_of(tmp_path), 0
    names = list(EDITS)
    while done < 1000:
        name = names[done % len(names)]
        EDITS[name](draw, tmp_path)
        after = files_of(tmp_path)
        if after != before:
            assert verify(tmp_path / "log", keys=keys).problems, f"edit {done}: {name} was not found"
            done += 1
        for path in after.keys() - before.keys():
            (tmp_path / path).unlink()
        for path, content in before.items():
            if after.get(path) != content:
                (tmp_path / path).write_bytes(content)
        (tmp_path / "log/w009").rmdir() if (tmp_path / "log/w009").exists() else None
    assert verify(tmp_path / "log", keys=keys).is_whole


def edited_line(folder: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    path = folder / "log/w001/cells.000001.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = change(lines[number - 1])
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda line: line.replace(b'"note":""', b'"note":null'), "its event does not give its chain"),
        (lambda line: b"", "row 6 stands in its place"),
        (lambda line: line + line, "row 5 stands in its place"),
        (lambda line: b"{}\n", "no log writes"),
    ],
)
def test_the_first_bad_row_is_named(whole: tuple[Path, Keys], tmp_path: Path, change: Callable[[bytes], bytes], what: str) -> None:
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    edited_line(tmp_path, 5, change)
    found = verify(tmp_path / "log", keys=whole[1])
    bad = found.first_bad_row
    assert bad and bad.path == tmp_path / "log/w001/cells.000001.jsonl" and what in bad.what
    assert (bad.line, bad.seq) == ((6, 6) if what.startswith("row 5") else (5, 5))
    assert found.rows["w001", "cells"] == bad.seq - 1 and found.rows["w002", "cells"] == 36
    assert str(bad).startswith(f"{bad.path}:{bad.line}: row {bad.seq}: ") and "\n" not in str(bad)


def test_a_tail_removed_before_an_empty_open_segment_is_named(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1), event(2), event(3)]}, AT)
        writer.seal(["cells"], AT)
    edited_line(log.parent, 3, lambda line: b"")
    bad = verify(log).first_bad_row
    assert bad and bad.seq == 3 and "the stream ends with row 2, though its head counts 3" in bad.what


def test_rows_beyond_the_head_are_named(whole: tuple[Path, Keys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "PAUSE_S", 0)
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "older/10.json", tmp_path / "heads/w001.json")
    bad = verify(tmp_path / "log", keys=whole[1]).first_bad_row
    assert bad and bad.seq == 34 and "beyond what the head counts" in bad.what


def test_a_head_noted_elsewhere_finds_a_log_that_was_set_back_with_its_head(whole: tuple[Path, Keys], tmp_path: Path) -> None:
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    shutil.copytree(tmp_path / "heads", tmp_path / "noted")
    shutil.copy(tmp_path / "older/10.json", tmp_path / "heads/w001.json")
    # Opening takes the rows beyond the older head for those of a crash: whoever can write both places can set a log back.
    LogWriter(tmp_path / "log", keys=whole[1]).close()
    assert verify(tmp_path / "log", keys=whole[1]).is_whole
    problems = verify(tmp_path / "log", keys=whole[1], noted=tmp_path / "noted").problems
    assert any("is older than the head noted elsewhere: commit 11 where 12 was noted" in problem.what for problem in problems)
    # So does it find that other rows took the place of those that were noted, or that a writer is gone.
    with LogWriter(tmp_path / "log", keys=whole[1]) as writer:
        writer.append({"cells": [event(number) for number in range(5)]}, AT)
    problems = verify(tmp_path / "log", keys=whole[1], noted=tmp_path / "noted").problems
    assert any(problem.seq == 36 and "is not the row that a head noted elsewhere names" in problem.what for problem in problems)
    shutil.rmtree(tmp_path / "log/w002")
    (tmp_path / "heads/w002.json").unlink()
    assert verify(tmp_path / "log", keys=whole[1], noted=tmp_path / "noted").problems[-1].what.startswith("is missing")


def test_without_keys_an_unsigned_log_is_a_notice_and_with_keys_a_problem(log: Path, whole: tuple[Path, Keys]) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
    found = verify(log)
    assert found.is_whole and found.notices == [f"{log.parent / 'heads/w001.json'}: is unsigned"]
    assert [problem.what for problem in verify(log, keys=whole[1]).problems] == ["is unsigned"]
    # A writer with keys would sign whatever such a head was made to say.
    with pytest.raises(InputError, match="not signed by a key of this host"):
        LogWriter(log, keys=whole[1])
    with LogWriter(log), pytest.raises(BusyError, match="another process writes as 'w001'"):
        sign_heads(log, whole[1])
    segment = log / "w001/cells.000001.jsonl"
    content = segment.read_bytes()
    segment.write_bytes(content.replace(b'"e1"', b'"e2"'))
    with pytest.raises(InputError, match=r"row 1: was changed: .*; no head was signed"):
        sign_heads(log, whole[1])
    segment.write_bytes(content)
    assert sign_heads(log, whole[1]) == ["w001"] and not sign_heads(log, whole[1])
    assert verify(log, keys=whole[1]).is_whole
    LogWriter(log, keys=whole[1]).close()


def test_somebody_with_the_key_who_writes_both_places_is_not_found(log: Path, whole: tuple[Path, Keys]) -> None:
    """As documented: only a head noted where they cannot write shows it."""
    keys = whole[1]
    with LogWriter(log, keys=keys) as writer:
        writer.append({"cells": [event(1), event(2)]}, AT)
    signed = read_head(log.parent / "heads", "w001")
    assert signed
    line = (log / "w001/cells.000001.jsonl").read_bytes().splitlines(keepends=True)[0]
    (log / "w001/cells.000001.jsonl").write_bytes(line)
    state = replace(signed.head.streams["cells"], seq=1, chain=json.loads(line)["chain"], bytes=len(line))
    head = replace(signed.head, streams={"cells": state})
    put_head(log.parent / "heads", SignedHead(head, *keys.sign(head.signed_bytes())))
    assert verify(log, keys=keys).is_whole


def test_a_writer_without_keys_leaves_a_signed_head_as_it_is(tmp_path: Path) -> None:
    log, keys = tmp_path / "log", host_keys(tmp_path)
    with LogWriter(log, keys=keys) as writer:
        writer.append({"cells": [event(1)]}, AT)
    with pytest.raises(InputError, match="the head of the log is signed; name the host file"):
        LogWriter(log)
    assert verify(log, keys=keys).is_whole
