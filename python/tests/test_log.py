"""The log: what is appended is read back in order, whatever is opened, closed and left half written between."""

from __future__ import annotations

import enum
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governed_memory.errors import BusyError, InputError
from governed_memory.log import LogWriter, canonical_event, positions, rows_at, rows_since, verify

AT = "2026-10-01T00:00:00Z"


def event(number: int, **more: Any) -> bytes:
    return canonical_event({"id": f"e{number}", "recorded_at": AT, **more})


def events_of(log: Path, heads: Path | None = None) -> dict[tuple[str, str], list[bytes]]:
    found: dict[tuple[str, str], list[bytes]] = {}
    for row in rows_since(log, heads, {}):
        found.setdefault((row.writer, row.stream), []).append(row.event)
        assert row.seq == len(found[row.writer, row.stream])
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_an_event_has_one_sequence_of_bytes() -> None:
    assert (
        canonical_event({"b": 'ä "\n', "a": [1, 1.5, None, "", True, {"z": 0, "y": -0.0}]})
        == '{"a":[1,1.5,null,"",true,{"y":-0.0,"z":0}],"b":"ä \\"\\n"}'.encode()
    )
    assert canonical_event({"a": None}) != canonical_event({"a": ""}) != canonical_event({})
    # By code point, which is also the order of the UTF-8 bytes, not of UTF-16.
    assert list(json.loads(canonical_event({"\U0001f600": 1, "\uff5e": 2}))) == ["\uff5e", "\U0001f600"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=6))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_an_event_is_what_the_encoder_of_json_makes_of_it(event: dict[str, Any]) -> None:
    assert canonical_event(event) == json.dumps(event, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def test_a_value_is_encoded_by_what_it_is_and_not_by_how_it_shows() -> None:
    class Shown(enum.StrEnum):
        ONE = "1"

    class Number(int):
        def __repr__(self) -> str:
            return "secret"

    assert canonical_event({"a": Shown.ONE, "b": Number(2), "c": (1, True)}) == b'{"a":"1","b":2,"c":[1,true]}'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": float("nan")}, "is a JSON object"),
        ({"a": [float("-inf")]}, "is a JSON object"),
        ({"a": "\ud800secret"}, "unpaired surrogate"),
        ({"\udfff": 1}, "unpaired surrogate"),
        ({"a": {1: "secret"}}, "is a JSON object"),
        ({"a": [{10: 1, 9: 2}]}, "is a JSON object"),
        ({"a": b"secret"}, "is a JSON object"),
        (["a"], "is a JSON object"),
    ],
)
def test_what_is_no_event_is_refused_without_its_values(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        canonical_event(given)
    assert "secret" not in str(raised.value)


def test_rows_of_several_streams_are_there_together(log: Path) -> None:
    with LogWriter(log) as writer:
        assert writer.append({"cells": [event(1), event(2)], "links": [event(3)]}, AT) == {"cells": range(1, 3), "links": range(1, 2)}
        assert writer.append({"cells": [event(4)], "links": []}, AT) == {"cells": range(3, 4), "links": range(2, 2)}
    assert positions(log) == {("w001", "cells"): 3, ("w001", "links"): 1}
    assert events_of(log) == {("w001", "cells"): [event(1), event(2), event(4)], ("w001", "links"): [event(3)]}
    assert [row.event for row in rows_since(log, None, {("w001", "cells"): 2}, ["cells"])] == [event(4)]
    assert not list(rows_since(log, None, positions(log)))


def test_a_line_is_as_documented(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
    lines = (log / "w001/cells.000001.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 and lines[0].startswith(b'{"chain":"') and lines[0].endswith(b'","seq":1,"event":' + event(1) + b"}\n")
    head = json.loads((log.parent / "heads/w001.json").read_bytes())
    assert (head["key_id"], head["signature"]) == (None, None)
    assert head["head"] == {
        "writer": "w001",
        "commit": 1,
        "at": AT,
        "streams": {"cells": {"segments": 1, "seq": 1, "chain": json.loads(lines[0])["chain"], "bytes": len(lines[0]), "pruned": None}},
    }


def test_slots_are_taken_in_turn_and_used_again(log: Path) -> None:
    with LogWriter(log) as first, LogWriter(log) as second, LogWriter(log, writer="nightly") as named:
        assert (first.writer, second.writer, named.writer) == ("w001", "w002", "nightly")
        with pytest.raises(BusyError, match="'nightly'"):
            LogWriter(log, writer="nightly")
        first.close()
        with LogWriter(log) as third:
            assert third.writer == "w001"
            third.append({"cells": [event(1)]}, AT)
        with pytest.raises(InputError, match="was closed"):
            first.append({"cells": [event(1)]}, AT)


APPENDS = st.dictionaries(st.sampled_from(["cells", "links"]), st.lists(st.text(max_size=60), max_size=4), max_size=2)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.sampled_from(["a", "b"]), APPENDS),
            st.tuples(st.sampled_from(["reopen", "seal", "torn"]), st.sampled_from(["a", "b"])),
        ),
        max_size=15,
    )
)
def test_the_log_holds_what_a_list_would(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        writers = {name: LogWriter(log, writer=name, segment_bytes=400) for name in ("a", "b")}
        model: dict[tuple[str, str], list[bytes]] = {}
        for what, name, *given_rows in steps:
            if what == "append":
                rows = {stream: [canonical_event({"text": text, "recorded_at": AT}) for text in texts] for stream, texts in given_rows[0].items()}
                before = {stream: len(model.get((name, stream), [])) for stream in rows}
                assert writers[name].append(rows, AT) == {
                    stream: range(before[stream] + 1, before[stream] + 1 + len(events)) for stream, events in rows.items()
                }
                for stream, events in rows.items():
                    model.setdefault((name, stream), []).extend(events)
            elif what == "seal":
                writers[name].seal(["cells"], AT)
            else:
                writers[name].close()
                if what == "torn":
                    # A crash leaves rows behind the open segment, never behind a sealed one.
                    for path in {path.name.split(".")[0]: path for path in sorted((log / name).glob("*.jsonl"))}.values():
                        with path.open("ab") as file:
                            file.write(b'{"chain":"0')
                writers[name] = LogWriter(log, writer=name, segment_bytes=400)
            assert events_of(log) == {key: events for key, events in model.items() if events}
        for writer in writers.values():
            writer.close()
        found = verify(log)
        assert found.is_whole and found.rows == {key: len(events) for key, events in model.items() if events} == positions(log)


def test_small_segments_are_sealed_and_the_chain_goes_on(log: Path) -> None:
    for number in range(10):
        with LogWriter(log, segment_bytes=300) as writer:
            writer.append({"cells": [event(2 * number), event(2 * number + 1)]}, AT)
    assert len(list((log / "w001").glob("cells.*.jsonl"))) > 3
    assert events_of(log)["w001", "cells"] == [event(number) for number in range(20)]
    for seen in range(21):
        assert [row.seq for row in rows_since(log, None, {("w001", "cells"): seen})] == list(range(seen + 1, 21))


def test_rows_are_found_within_a_long_segment(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(number, text="x" * (number % 700)) for number in range(3000)]}, AT)
    for seen in (0, 1, 2, 777, 1500, 2998, 2999):
        assert [row.seq for row in rows_since(log, None, {("w001", "cells"): seen})] == list(range(seen + 1, 3001))
    with pytest.raises(InputError, match="ends at row 3000, though 3001 were seen"):
        list(rows_since(log, None, {("w001", "cells"): 3001}))


@pytest.mark.parametrize("left", [b'{"chain":"00', b"\0" * 9000, b'{"chain":"%b","seq":2,"event":{}}\n' % (b"0" * 64)])
def test_what_a_crash_left_beyond_the_head_is_not_read_and_is_cut(log: Path, left: bytes) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
    segment = log / "w001/cells.000001.jsonl"
    with segment.open("ab") as file:
        file.write(left)
    (log / "w001/cells.000002.jsonl").write_bytes(left)
    (log / "w001/links.000001.jsonl").write_bytes(left)
    assert events_of(log) == {("w001", "cells"): [event(1)]}
    with LogWriter(log) as writer:
        assert sorted(path.name for path in (log / "w001").iterdir()) == [".lock", "cells.000001.jsonl"]
        writer.append({"cells": [event(2)]}, AT)
    assert events_of(log) == {("w001", "cells"): [event(1), event(2)]}


def test_a_log_without_its_head_is_left_as_it_is(log: Path) -> None:
    with LogWriter(log) as writer:
        writer.append({"cells": [event(1)]}, AT)
    before = (log / "w001/cells.000001.jsonl").read_bytes()
    (log.parent / "heads/w001.json").unlink()
    with pytest.raises(InputError, match="head of the log is missing"):
        LogWriter(log)
    assert (log / "w001/cells.000001.jsonl").read_bytes() == before


@pytest.mark.parametrize("given", [{"Cells": []}, {"../x": [b"{}"]}, {"cells": [b"[]"]}, {"cells": [b'{\n"a":1}']}, {"cells": [b'{"a":"\xff"}']}])
def test_what_would_be_no_row_is_refused(log: Path, given: dict[str, list[bytes]]) -> None:
    with LogWriter(log) as writer:
        with pytest.raises(InputError):
            writer.append({"links": [event(1)], **given}, AT)
        assert positions(log) == {}


def test_single_rows_are_read_as_the_log_holds_them_now(log: Path) -> None:
    with LogWriter(log, writer="a", segment_bytes=2000) as writer, LogWriter(log, writer="b") as other:
        for first in range(1, 401, 20):
            writer.append({"cells": [event(number) for number in range(first, first + 20)]}, AT)
        other.append({"cells": [event(1000)], "links": [event(2000)]}, AT)
    assert len(list((log / "a").glob("cells.*.jsonl"))) > 3
    wanted = {("a", "cells"): [400, 7, 8, 150, 152, 7, 0, 401, -1], ("b", "links"): {1}, ("b", "frames"): {1}, ("none", "cells"): {1}}
    found = [(row.writer, row.stream, row.seq, json.loads(row.event)["id"]) for row in rows_at(log, None, wanted)]
    assert found == [("a", "cells", number, f"e{number}") for number in (7, 8, 150, 152, 400)] + [("b", "links", 1, "e2000")]
    assert list(rows_at(log, None, {})) == []
