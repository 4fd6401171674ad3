"""Retention of the log: what is past its time goes once its copy is whole, and the log still verifies."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from log_processes import host_keys

from governed_memory.errors import BusyError, InputError
from governed_memory.host.keys import Keys
from governed_memory.log import LogWriter, archive, canonical_event, positions, prune, read_heads, rows_since, seal, verification, verify

NOW = "2026-10-01T00:00:00Z"


def event(day: int, **more: Any) -> bytes:
    return canonical_event({"id": f"e{day}", "recorded_at": f"2026-09-{day:02}T12:00:00Z", **more})


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return host_keys(tmp_path)


@pytest.fixture
def log(tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty days of two streams, five days a segment; the sixth segment is open."""
    monkeypatch.setattr(verification, "PAUSE_S", 0)
    with LogWriter(tmp_path / "log", keys=keys) as writer:
        for day in range(1, 31):
            writer.append({"cells": [event(day)], "reads": [event(day)]}, NOW)
            if day % 5 == 0 and day < 30:
                writer.seal(["cells", "reads"], NOW)
    return tmp_path / "log"


def segments(log: Path, stream: str) -> list[int]:
    return sorted(int(path.name.split(".")[1]) for path in (log / "w001").glob(f"{stream}.*.jsonl"))


def seqs(log: Path, stream: str, seen: int = 0) -> list[int]:
    return [row.seq for row in rows_since(log, None, {("w001", stream): seen}, [stream])]


def test_what_is_past_its_time_is_archived_then_pruned(log: Path, keys: Keys, tmp_path: Path) -> None:
    copied = archive(log, tmp_path / "archive", keys=keys)
    assert [(entry.stream, entry.segment, entry.seq) for entry in copied if entry.stream == "reads"] == [
        ("reads", number, 5 * number) for number in range(1, 6)
    ]
    assert copied[0].at == "2026-09-05T12:00:00Z" and not archive(log, tmp_path / "archive", keys=keys)
    whole = (log / "w001/reads.000001.jsonl").read_bytes()
    assert gzip.decompress((tmp_path / "archive/w001/reads.000001.jsonl.gz").read_bytes()) == whole

    done = prune(log, tmp_path / "archive", {"reads": 14, "links": 1}, NOW, keys=keys)
    # Fourteen days before the first of October: the 17th. The segment that ends on the 20th stays.
    assert [(segment.stream, segment.number) for segment in done.segments] == [("reads", 1), ("reads", 2), ("reads", 3)]
    assert segments(log, "reads") == [4, 5, 6] and segments(log, "cells") == [1, 2, 3, 4, 5, 6]
    pruned = read_heads(log)["w001"].streams["reads"].pruned
    assert pruned and (pruned.segments, pruned.seq) == (3, 15)
    assert verify(log, keys=keys).is_whole
    assert verify(log, keys=keys).rows == {("w001", "cells"): 30, ("w001", "reads"): 15}
    assert seqs(log, "reads") == list(range(16, 31)) == seqs(log, "reads", 9) and seqs(log, "reads", 22) == list(range(23, 31))
    with LogWriter(log, keys=keys) as writer:
        assert writer.append({"reads": [event(30)]}, NOW) == {"reads": range(31, 32)}
    assert verify(log, keys=keys).is_whole and positions(log)["w001", "reads"] == 31
    # A second time there is nothing to do, and no new head is written.
    before = (log.parent / "heads/w001.json").read_bytes()
    assert not prune(log, tmp_path / "archive", {"reads": 14}, NOW, keys=keys).segments
    assert (log.parent / "heads/w001.json").read_bytes() == before


def test_a_quiet_stream_is_sealed_when_its_last_event_is_past_its_time(log: Path, keys: Keys, tmp_path: Path) -> None:
    later = "2026-11-01T00:00:00Z"
    assert not seal(log, {"reads": 60, "cells": 60}, later, keys=keys).segments
    assert [segment.number for segment in seal(log, {"reads": 14}, later, keys=keys).segments] == [6]
    archive(log, tmp_path / "archive", keys=keys)
    prune(log, tmp_path / "archive", {"reads": 14}, later, keys=keys)
    assert segments(log, "reads") == [7] and seqs(log, "reads") == [] and verify(log, keys=keys).is_whole
    with LogWriter(log, keys=keys) as writer:
        writer.append({"reads": [event(30)]}, later)
    assert seqs(log, "reads") == [31] and verify(log, keys=keys).is_whole and segments(log, "reads") == [7]


def test_what_is_not_archived_or_not_whole_there_stays(log: Path, keys: Keys, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder of an archive"):
        prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
    (tmp_path / "archive").mkdir()
    done = prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
    assert not done.segments and list(done.kept.values()) == ["is not archived"]
    archive(log, tmp_path / "archive", keys=keys)
    copy = tmp_path / "archive/w001/reads.000002.jsonl.gz"
    for content in (b"", copy.read_bytes()[:-9], gzip.compress(b"{}\n", mtime=0)):
        copy.write_bytes(content)
        with pytest.raises(InputError, match=r"reads.000002.jsonl.gz: is (no|not the) "):
            prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
    manifest = tmp_path / "archive/manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"2026-09-30", b"2026-01-30").replace(b"2026-09-25", b"2026-01-25"))
    with pytest.raises(InputError, match="not signed by a key of this host"):
        prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
    assert segments(log, "reads") == [1, 2, 3, 4, 5, 6] and verify(log, keys=keys).is_whole


@pytest.mark.parametrize("damage", [None, b"", b"\x1f\x8b\x08\x00", gzip.compress(b"{}\n", mtime=0)])
def test_a_copy_that_is_damaged_or_gone_is_made_again(log: Path, keys: Keys, tmp_path: Path, damage: bytes | None) -> None:
    archive(log, tmp_path / "archive", keys=keys)
    copy, manifest = tmp_path / "archive/w001/reads.000002.jsonl.gz", (tmp_path / "archive/manifest.json").read_bytes()
    whole = copy.read_bytes()
    copy.unlink()
    if damage is not None:
        copy.write_bytes(damage)
    assert [(entry.stream, entry.segment) for entry in archive(log, tmp_path / "archive", keys=keys)] == [("reads", 2)]
    assert copy.read_bytes() == whole and (tmp_path / "archive/manifest.json").read_bytes() == manifest
    assert len(prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys).segments) == 5


def test_a_copy_is_not_made_again_of_what_is_another_segment(log: Path, keys: Keys, tmp_path: Path) -> None:
    archive(log, tmp_path / "archive", keys=keys)
    for path in (log, log.parent / "heads"):
        shutil.rmtree(path)
    with LogWriter(log, keys=keys) as writer:
        writer.append({"cells": [event(1, other=True)]}, NOW)
        writer.seal(["cells"], NOW)
    copy = tmp_path / "archive/w001/cells.000001.jsonl.gz"
    copy.write_bytes(b"")
    with pytest.raises(InputError, match="is not what was archived of it, and the copy"):
        archive(log, tmp_path / "archive", keys=keys)
    assert copy.read_bytes() == b""


def test_a_segment_that_was_edited_is_neither_archived_nor_pruned(log: Path, keys: Keys, tmp_path: Path) -> None:
    third = log / "w001/reads.000003.jsonl"
    content = third.read_bytes()
    third.write_bytes(content.replace(b'"e12"', b'"e21"'))
    with pytest.raises(InputError, match=r"reads.000003.jsonl:2: row 12: was changed"):
        archive(log, tmp_path / "archive", keys=keys)
    third.write_bytes(content)
    archive(log, tmp_path / "archive", keys=keys)
    third.write_bytes(content.replace(b'"e12"', b'"e21"'))
    with pytest.raises(InputError, match="is not what was archived of it"):
        prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
    assert segments(log, "reads") == [1, 2, 3, 4, 5, 6]


def test_a_writer_at_work_is_left_alone(log: Path, keys: Keys, tmp_path: Path) -> None:
    archive(log, tmp_path / "archive", keys=keys)
    with LogWriter(log, keys=keys) as writer:
        assert writer.writer == "w001"
        done = prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys)
        assert (done.segments, done.busy) == ([], ["w001"])
    assert prune(log, tmp_path / "archive", {"reads": 1}, NOW, keys=keys).segments


def test_a_prune_that_was_cut_off_is_finished_by_the_next_opening(log: Path, keys: Keys, tmp_path: Path) -> None:
    first = (log / "w001/reads.000001.jsonl").read_bytes()
    archive(log, tmp_path / "archive", keys=keys)
    prune(log, tmp_path / "archive", {"reads": 20}, NOW, keys=keys)
    (log / "w001/reads.000001.jsonl").write_bytes(first)
    assert ["was pruned, yet it is there" in problem.what for problem in verify(log, keys=keys).problems] == [True]
    assert seqs(log, "reads")[0] == 11
    LogWriter(log, keys=keys).close()
    assert segments(log, "reads") == [3, 4, 5, 6] and verify(log, keys=keys).is_whole


@pytest.mark.parametrize(("policy", "now"), [({"reads": -1}, NOW), ({"reads": "3"}, NOW), ({"reads": 1}, "yesterday"), ({"reads": 10**9}, NOW)])
def test_a_policy_that_is_not_understood_removes_nothing(log: Path, keys: Keys, tmp_path: Path, policy: Any, now: str) -> None:
    with pytest.raises(InputError, match="retention"):
        prune(log, tmp_path / "archive", policy, now, keys=keys)


def test_an_archive_is_filled_by_one_process_at_a_time(log: Path, keys: Keys, tmp_path: Path) -> None:
    with LogWriter(tmp_path, writer="archive"), pytest.raises(BusyError, match="another process archives there"):
        archive(log, tmp_path / "archive", keys=keys)
