"""Published files: nobody waits for anybody, a file is one generation, and an audience's holds nothing that it may not see (G5 to G7, C30)."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
import secrets_store
from generated import examples
from secrets_store import AS_OF, MARK, MARKED_DAY, built_database
from test_answers_against_oracle import DAYS, governed_batch, governed_store

from governed_memory import cli
from governed_memory.errors import BusyError, InputError
from governed_memory.host.configuration import Caller
from governed_memory.reads.publish import named_audience, publish
from governed_memory.warehouse import manifest

ANALYST, PARTNER = Caller("sales", ("sales",), "inside"), Caller("partner", ("partner",), "outside")
BOARD = Caller("board", (f"{MARK}-board",), "inside")
TOLD = "store_id, concept_id, outcome, record_id, value, source_id, valid_from, sides, reasons, withheld_count, stores_disagree"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_database(tmp_path_factory.mktemp("publish") / "built.duckdb")


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def everything(path: Path) -> str:
    """Every cell of every table, as text: in the file, text may be compressed."""
    tables = [name for (name,) in query(path, "select table_name from duckdb_tables() order by 1")]
    return "\n".join(str(row) for name in tables for row in query(path, f'select * from "{name}"'))


def test_audience_file_says_on_every_date_what_the_read_says(tmp_path: Path) -> None:
    [batch] = examples(1, governed_batch)
    stores = [{"store_id": f"s{number}", **governed_store(number, parts)} for number, parts in enumerate(batch)]
    database = built_database(tmp_path / "built.duckdb", stores)
    for number, caller in enumerate([Caller("a", ("board",), "inside"), Caller("b", ("sales", "board"), "outside"), Caller("c", (), "inside")]):
        path = tmp_path / f"{number}.duckdb"
        publish(path, audience=caller, database=str(database))
        for day in [*DAYS[::2], datetime.date(9998, 1, 1)]:
            for question_class in (None, "x", "z"):
                asked = "" if question_class is None else f", question_class => '{question_class}'"
                expected = f"governed_answers(date '{day}', {list(caller.parties)}::varchar[], '{caller.boundary}'{asked})"
                found = query(path, f"select {TOLD} from answers_as_of(date '{day}'{asked.replace('question_class =>', '')}) order by 1, 2")
                assert found == query(database, f"select {TOLD} from {expected} order by 1, 2"), (caller, day, question_class)
        # A boundary is there only where what is told changes, and periods leave no day out.
        told = "{'a': outcome, 'b': record_id, 'c': value, 'd': source_id, 'e': valid_from, 'f': sides, 'g': reasons, 'h': withheld_count}"
        assert query(
            path,
            f"""select count(*) filter (where not told is distinct from earlier), count(*) filter (where earlier is not null and starts_on <> earlier_end + 1)
            from (select *, {told} as told, lag(told) over question as earlier, lag(ends_on) over question as earlier_end from audience_answers
                window question as (partition by store_id, concept_id, question_class_id order by starts_on nulls first))""",
        ) == [(0, 0)]


@pytest.mark.parametrize("audience", [ANALYST, PARTNER])
def test_audience_file_holds_nothing_of_a_withheld_record(built: Path, audience: Caller) -> None:
    path = built.with_name(f"{audience.name}.duckdb")
    publish(path, audience=audience, database=str(built))
    held = everything(path)
    assert "open-7" in held if audience is PARTNER else "seen by all inside" in held
    assert MARK not in held and MARK.encode() not in path.read_bytes() and "777" not in held
    assert query(path, f"select count(*) from audience_answers where valid_from = date '{MARKED_DAY}'") == [(0,)]
    # The scan finds what is there: one who may see all holds it.
    board = built.with_name("board.duckdb")
    publish(board, audience=BOARD, database=str(built))
    assert MARK in everything(board) and f"{MARK}-class" in everything(board)


def test_hidden_class_is_asked_for_by_its_name(built: Path) -> None:
    path = built.with_name("classes.duckdb")
    publish(path, audience=ANALYST, database=str(built))
    asked = f"select outcome from answers_as_of(date '{AS_OF}', '{{}}') where concept_id = 'scoped'"
    assert query(path, asked.format(f"{MARK}-class")) == [("refused",)]
    assert query(path, asked.format("another")) == [("answered",)]


@pytest.mark.parametrize(
    "command",
    [
        ["as-of", AS_OF],
        ["as-of", AS_OF, "--known-on", "2031-12-31", "--scope", "x"],
        ["ask", "many", "--as-of", AS_OF, "--caller", "sales", "--json"],
        ["ask", "many", "--as-of", AS_OF, "--caller", "sales", "--scope", "x", "--scope", "y"],
        ["history", "ended"],
        ["diff", "2030-01-01", AS_OF],
        ["status"],
    ],
)
def test_operators_copy_answers_as_the_database_does(built: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    path = built.with_name("built.published.duckdb")
    if not path.exists():
        assert cli.main(["publish", "--database", str(built)]) == 0
        assert str(path) in capsys.readouterr().out
    printed = []
    for database in (built, path):
        code = cli.main([*command, "--database", str(database)])
        printed.append((code, *capsys.readouterr()))
    assert printed[0] == printed[1] and printed[0][1]


READER = """
import sys, time, duckdb
from pathlib import Path
path, stop, reads, seen = sys.argv[1], Path(sys.argv[2]), 0, set()
while reads < 3 or not stop.exists():
    with duckdb.connect(path, read_only=True, config={'threads': 1}) as connection:
        first = connection.execute("select generation_id from published_manifest").fetchall()
        values = connection.execute("select distinct value from records").fetchall()
        others = connection.execute("select distinct value from concept_segments where value is not null").fetchall()
        last = connection.execute("select generation_id from published_manifest").fetchall()
    assert first == last and values == others and len(values) == 1, (first, last, values, others)
    reads += 1
    seen.add(values[0])
    time.sleep(0.2)
print(reads, len(seen))
"""


def build_again(database: Path, value: str) -> None:
    """Write the database as a build does: alone with it, and every value anew."""
    with duckdb.connect(str(database)) as connection:
        for table in ("records", "record_intervals_built"):
            connection.execute(f"update {table} set value = $value where value is not null", {"value": value})
        connection.execute("update int_segments set sides = list_transform(sides, lambda side: struct_update(side, value := $value))", {"value": value})


def test_readers_and_builds_do_not_wait_for_each_other(built: Path, tmp_path: Path) -> None:
    database, path, stop = tmp_path / "built.duckdb", tmp_path / "read.duckdb", tmp_path / "stop"
    shutil.copy(built, database)
    build_again(database, "g0")
    publish(path, database=str(database))
    started = [sys.executable, "-c", READER, str(path), str(stop)]
    readers = [subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(10)]
    generations = {manifest(path)["generation_id"]}  # type: ignore[index]
    for number in range(1, 4):
        build_again(database, f"g{number}")
        publish(path, database=str(database))
        generations.add(manifest(path)["generation_id"])  # type: ignore[index]
    stop.touch()
    told = [(reader.communicate(timeout=60), reader.returncode) for reader in readers]
    assert all(code == 0 for _, code in told), told
    assert len(generations) == 4 and max(int(out.split()[1]) for (out, _), _ in told) > 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"built.duckdb", "read.duckdb", ".read.duckdb.lock", "stop"}


KILLED = """
import os, sys
from pathlib import Path
from governed_memory.reads import publish
publish.write_manifest = lambda *_: os.kill(os.getpid(), 9)
publish.publish(Path(sys.argv[1]), database=sys.argv[2])
"""


def test_kill_leaves_the_former_file_whole(built: Path, tmp_path: Path) -> None:
    path, part = tmp_path / "read.duckdb", tmp_path / ".read.duckdb.part"
    publish(path, database=str(built))
    former = path.read_bytes()
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(built)], check=False)
    assert ended.returncode == -9 and part.exists()
    assert path.read_bytes() == former
    second = publish(path, database=str(built))
    assert manifest(path)["generation_id"] == second.generation_id and not part.exists()  # type: ignore[index]


def test_build_that_is_running_is_waited_for(built: Path, tmp_path: Path) -> None:
    code = "import sys, duckdb; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    build = subprocess.Popen([sys.executable, "-c", code, str(built)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert build.stdin and build.stdout and build.stdout.readline() == "held\n"
    path = tmp_path / "read.duckdb"
    with pytest.raises(BusyError, match=r"another process is writing it; wait for the build to end. Waited 0.2 s; nothing was published"):
        publish(path, database=str(built), seconds=0.2)
    assert not path.exists()
    waited: list[str] = []

    def waits() -> None:
        waited.append("once")
        build.communicate()

    publish(path, database=str(built), waits=waits, seconds=30)
    assert waited == ["once"] and path.exists()


def test_only_a_file_of_the_same_audience_is_replaced(built: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "read.duckdb", tmp_path / "notes.txt"
    other.write_text("not a database")
    publish(path, audience=PARTNER, database=str(built))
    former = path.read_bytes()
    for target, audience, words in (
        (path, None, "holds what is for 'partner', not for operators"),
        (path, ANALYST, "holds what is for 'partner', not for 'sales'"),
        (built, None, "is the built database itself"),
        (other, None, "cannot be read as a DuckDB database"),
    ):
        with pytest.raises(InputError, match=words):
            publish(target, audience=audience, database=str(built))
    with duckdb.connect(str(tmp_path / "mine.duckdb")) as connection:
        connection.execute("create table mine as select 1")
    with pytest.raises(InputError, match="is there and was not published"):
        publish(tmp_path / "mine.duckdb", database=str(built))
    assert path.read_bytes() == former and other.read_text() == "not a database"
    assert path.stat().st_mode & 0o222 == 0


def test_failure_says_nothing_of_records(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("governed_memory.reads.publish.name_list", lambda _: "(select cast(value as date) from records)")
    with pytest.raises(InputError) as raised:
        publish(tmp_path / "read.duckdb", audience=PARTNER, database=str(built))
    assert MARK not in str(raised.value) and "not written (" in str(raised.value)
    assert [entry.name for entry in tmp_path.iterdir()] == [".read.duckdb.lock"]


def test_audience_is_one_that_somebody_knows(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert named_audience("partner", None, str(built)) == PARTNER
    out = str(tmp_path / "out.duckdb")
    assert cli.main(["publish", "--audience", "partnr", "--database", str(built), "--out", out]) == 2
    assert "the register of parties has no 'partnr'; did you mean 'partner'?" in capsys.readouterr().err
    _, host = secrets_store.write(tmp_path)
    assert cli.main(["publish", "--audience", "outsider", "--host", str(host), "--database", str(built), "--out", out]) == 0
    assert json.loads(json.dumps(query(Path(out), "select audience, stores from published_manifest"))) == [["outsider", ["secrets"]]]
