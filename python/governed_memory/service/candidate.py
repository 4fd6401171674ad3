"""Judge a record before it is written, by the rules' own SQL over what the caller may see plus it (rule L4). Nothing is written."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from governed_memory import warehouse
from governed_memory.dates import dates_as_text
from governed_memory.errors import InputError, did_you_mean
from governed_memory.host.configuration import Caller, Host
from governed_memory.reads.ask import Opened
from governed_memory.reads.released import visible_beside
from governed_memory.service.refusals import of_arguments
from governed_memory.service.served import Served
from governed_memory.warehouse import ROLES, StoreFile
from governed_memory.warehouse.connection import built_path

# The writer is who calls, and when it is written is decided by whoever writes it.
STATED = tuple(role for role in ROLES if role not in ("written_by", "recorded_at"))
BYTES = 1_000_000

FINDINGS = """
    select findings.rule_id as rule, findings.field, findings.level, findings.requirement, findings.severity, findings.detail, rules.summary, rules.fix
    from findings
    inner join rules on findings.rule_id = rules.rule_id
    where findings.record_index = $place
    order by rules.position, findings.field"""
ENDED = """
    select record_id, in_force_from, in_force_to, end_reason from record_intervals
    where ended_by = $record and record_index < $place
    order by record_index"""
NO_EFFECT = """
    select distinct predecessor_id as record_id, ineffective_reason as reason from record_supersessions
    where successor_index = $place and ineffective_reason is not null
    order by all"""


def check_record(opened: Opened, served: Served, caller: Caller, store: str, record: dict[str, Any]) -> dict[str, Any]:
    """What the rules say of a record, were it appended.

    The records beside it are those that the caller may see, so an identifier of a withheld record reads as one that no record has: whoever
    appends it is told, this caller is not (G7). Days are the profile's own: `valid_to` is the last day that counts.

    Returns:
        {store, record_id, passes: whether nothing fails the level the store declares, findings, ends: records that it would end, no_effect: what
        it names and would not end, with the reason}.

    Raises:
        ToolError: the record has keys that are no roles, or is too long.
    """
    with of_arguments():
        text = _stated(record)
    named = record.get("supersedes")
    names = [str(name) for name in [record.get("record_id"), *(named if isinstance(named, list) else [named])] if name is not None]
    concept = record.get("concept")
    [entry] = warehouse.rows(opened.connection, "select * from stores where store_id = $store", {"store": store})
    places = visible_beside(opened, caller, store, None if concept is None else str(concept), names)
    beside = [
        {**held, "supersedes": replaced} for held, replaced in zip(warehouse.attached_records(opened.connection, store, places), places.values(), strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "judged.jsonl"
        lines = [json.dumps(line, ensure_ascii=False, default=str) for line in [*beside, _written(json.loads(text), entry, caller)]]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        built = str(built_path(served.database)) if opened.is_built else None
        return _judged(_store(str(file), store, entry, built), served.host, len(beside) + 1, record)


def _stated(record: dict[str, Any]) -> str:
    for key in record:
        if key not in STATED:
            raise InputError(f"record: {key!r} is nothing that a record states here; {did_you_mean(key, STATED) or 'expected ' + ', '.join(STATED)}")
    text = json.dumps(record, ensure_ascii=False)
    if len(text.encode("utf-8", "surrogatepass")) > BYTES:
        raise InputError(f"record: has more than {BYTES} bytes")
    return text


def _written(record: dict[str, Any], entry: dict[str, Any], caller: Caller) -> dict[str, Any]:
    return {**record, "written_by": caller.name} if entry["attests_writers"] else record


def _store(path: str, store: str, entry: dict[str, Any], built: str | None) -> StoreFile:
    return StoreFile(
        path,
        # A key of this name vouches for a writer only where the store does (T8).
        mapping={"written_by": "written_by"} if entry["attests_writers"] else {},
        policy_id=entry["policy_id"],
        name=store,
        target_level=entry["target_level"],
        open_markers=tuple(entry["open_markers"]),
        built=built,
        attests_writers=entry["attests_writers"],
    )


def _judged(store: StoreFile, host: Host, place: int, record: dict[str, Any]) -> dict[str, Any]:
    connection, _ = warehouse.open_store_file(
        store,
        {"findings", "record_intervals", "record_supersessions"},
        given=None if store.built else host.given(),
        kinds={"findings": "view", "records": "view", "int_record_periods": "table", "int_presence_offenders": "table", "int_value_offenders": "table"},
    )
    with connection:
        findings = warehouse.rows(connection, FINDINGS, {"place": place})
        ended = warehouse.rows(connection, ENDED, {"place": place, "record": record.get("record_id")})
        no_effect = warehouse.rows(connection, NO_EFFECT, {"place": place})
    return {
        "store": store.store_id,
        "record_id": record.get("record_id"),
        "passes": all(finding["severity"] != "error" for finding in findings),
        "findings": findings,
        "ends": [dates_as_text(row) for row in ended],
        "no_effect": no_effect,
    }
