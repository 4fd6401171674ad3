"""Vector memory: memories as mem0 lists them, whose metadata holds the fields (rule F1).

A memory's `id` is the record's, its text the value. `created_at` says when it was written down and never since when it holds. The
conflict policy is one pinned memory; expected concepts are a register beside the memories.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.beside import Beside, joined, opened
from governed_memory.overlay.forms.json_file import LINES, as_json, expect, expect_ending, lines, names_in, objects_in, write_text
from governed_memory.overlay.forms.store import FormStore

LISTED = "results"
REGISTER = "expected_concepts"
PLACES = {"record_id": "id", "value": "memory", "recorded_at": "created_at"}
# What a memory says beside its metadata; where nothing is said, an export writes null.
OWN = ("hash", "updated_at", "user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")
PINNED, POLICY = "pinned", "conflict_policy"


def read(path: Path) -> FormStore:
    """The store in a list of memories: `{"results": [...]}`, an array, or JSON Lines.

    Raises:
        InputError: the file is no such list, a memory lacks its id or text, or an id or the pinned policy comes twice.
    """
    objects, around = objects_in(path, LISTED)
    expected = names_in(around.pop(REGISTER, []), f"{path}: {REGISTER!r}")
    notices = [f"{path}: {shown(key)} holds no memories and is left out" for key, value in around.items() if value]
    records: list[dict[str, Any]] = []
    policies: list[str] = []
    seen: set[str] = set()
    for place, memory in objects:
        if memory.get("register") == REGISTER and "id" not in memory:
            expected += names_in(memory.get("concepts"), f"{place}: 'concepts'")
            continue
        _expect_memory(memory, place, seen)
        metadata = expect(memory.get("metadata") or {}, dict, f"{place}: 'metadata'")
        if metadata.get(PINNED) == POLICY:
            policies.append(memory["memory"])
        else:
            records.append(_record(memory, metadata, place, notices))
    if len(policies) > 1:
        raise InputError(f"{path}: {len(policies)} memories are pinned as the conflict policy; a store has one, keep the one that applies")
    return FormStore(records, next(iter(policies), None), expected, notices)


def write(store: FormStore, path: Path) -> None:
    """Write memories: JSON Lines where the name ends so, else one object that lists them.

    Raises:
        InputError: the name has another ending, or a record cannot be written as JSON.
    """
    expect_ending(path, (".json", *LINES))
    taken: set[str] = set()
    memories = [_memory(record, f"record-{number}", taken) for number, record in enumerate(store.records, start=1)]
    if store.conflict_policy is not None:
        name = next(name for number in range(len(taken) + 1) if (name := f"conflict-policy{number or ''}") not in taken)
        memories.append({"id": name, "memory": store.conflict_policy, "metadata": {PINNED: POLICY}})
    if path.suffix.lower() in LINES:
        register = [{"register": REGISTER, "concepts": list(store.expected_concepts)}] if store.expected_concepts else []
        return write_text(path, lines([*memories, *register]))
    listed = ",\n".join(map(as_json, memories))
    register_text = f',\n"{REGISTER}": {as_json(list(store.expected_concepts))}' if store.expected_concepts else ""
    return write_text(path, f'{{"{LISTED}": [\n{listed}\n]{register_text}}}\n')


def _expect_memory(memory: dict[str, Any], place: str, seen: set[str]) -> None:
    for key in ("id", "memory"):
        if not isinstance(memory.get(key), str):
            raise InputError(f"{place}: is no memory: {key!r} is missing or no text; expected an object with id, memory and metadata")
    if memory["id"] in seen:
        raise InputError(f"{place}: the id {shown(memory['id'])} is taken by another memory; each memory is listed once")
    seen.add(memory["id"])


def _record(memory: dict[str, Any], metadata: dict[str, Any], place: str, notices: list[str]) -> dict[str, Any]:
    record = {role: memory[key] for role, key in PLACES.items() if key in memory}
    if record.get("recorded_at", "") is None:
        del record["recorded_at"]
    record |= {key: value for key, value in memory.items() if key not in (*PLACES.values(), "metadata") and value is not None}
    return joined(record, *opened(metadata, f"{place}: 'metadata'"), place, notices)


def _memory(record: dict[str, Any], name: str, taken: set[str]) -> dict[str, Any]:
    rest, notes = dict(record), Beside()
    memory: dict[str, Any] = {}
    record_id = rest.get("record_id")
    if isinstance(record_id, str) and record_id not in taken:
        memory["id"] = rest.pop("record_id")
    else:
        # The next free name: no id, one that is no text, or one that another memory has.
        memory["id"] = next(free for number in range(len(taken) + 1) if (free := name + "'" * number) not in taken)
        notes.not_stated.append("record_id")
    taken.add(memory["id"])
    if isinstance(rest.get("value"), str):
        memory["memory"] = rest.pop("value")
    else:
        memory["memory"] = as_json(rest["value"]) if rest.get("value") is not None else ""
        notes.not_stated.append("value")
    if isinstance(rest.get("recorded_at"), str):
        memory["created_at"] = rest.pop("recorded_at")
    memory |= {key: rest.pop(key) for key in OWN if rest.get(key) is not None}
    metadata = notes.bag(rest, (PINNED,))
    return {**memory, "metadata": metadata} if metadata else memory
