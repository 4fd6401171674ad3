"""Ten readers ask a published file without pause while `dbt build` and `gmem publish` run again and again over a store that grows.

    python python/benchmarks/readers.py [CYCLES]

Works in a copy of the project. Each cycle replaces the records of two concepts by ones with its number, so an answer of one number beside
an answer of another would come from two generations. Prints one line: cycles, questions answered, generations seen, failures (bar 0).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("dbt_project.yml", "profiles.yml", "selectors.yml", "models", "macros", "seeds", "tests", "analyses", "stores", "python")
READERS = 10
READER = """
import json, os, sys
from pathlib import Path
from governed_memory.reads.ask import Question, ask, open_to_ask
from governed_memory.host.configuration import Caller

os.nice(19)  # never pausing, ten of them would otherwise leave the build a sixth of two cores
published, stop = sys.argv[1], Path(sys.argv[2])
caller, questions, seen = Caller("legal", ("legal",), "inside"), 0, []
while not stop.exists():
    opened = open_to_ask("reference", published)
    generation = "select generation_id from published_manifest"
    before = opened.connection.execute(generation).fetchone()
    answers = ask(opened, [Question(f"turn_{side}", "2027-06-01", caller, store="reference") for side in "ab"])
    after = opened.connection.execute(generation).fetchone()
    opened.connection.close()
    told = [answer["outcome"] == "answered" and answer["answer"]["value"] for answer in answers]
    assert before == after and told[0] and told[0] == told[1], (before, after, answers)
    questions += 2
    if told[0] not in seen:
        seen.append(told[0])
assert seen == sorted(seen), f"went back to an earlier generation: {seen}"
print(json.dumps({"questions": questions, "generations": len(seen)}))
"""


def main(cycles: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, project / name)
        environment = {**os.environ, "PYTHONPATH": str(project / "python"), "GMEM_DATABASE": str(project / "built.duckdb")}
        published, stop = project / "published.duckdb", project / "stop"
        failures = turn(project, environment, published, 0)
        command = [sys.executable, "-c", READER, str(published), str(stop)]
        readers = [subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(READERS)]
        started = time.perf_counter()
        for number in range(1, cycles + 1):
            failures += turn(project, environment, published, number)
            print(f"cycle {number} of {cycles}, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        stop.touch()
        results = [(reader, *reader.communicate()) for reader in readers]
        failures += [error[-500:] for reader, _, error in results if reader.returncode]
        told = [json.loads(out) for reader, out, _ in results if not reader.returncode]
    questions, generations = sum(one["questions"] for one in told), [one["generations"] for one in told]
    print(f"{cycles} cycles, {READERS} readers, {questions:,} questions, generations seen by a reader {generations}, failures {len(failures)}")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


def turn(project: Path, environment: dict[str, str], published: Path, number: int) -> list[str]:
    """The store with two more records, built and published; what failed."""
    with (project / "stores" / "reference.jsonl").open("a", encoding="utf-8") as store:
        for side in "ab":
            record = {
                "record_id": f"T-{side}-{number}", "concept": f"turn_{side}", "value": f"turn {number:03}",
                "valid_from": f"2026-{1 + number // 28:02}-{1 + number % 28:02}", "valid_to": None, "source": "FIN-H-02",
                "concept_owner": "finance", "owner_role": "Head of Finance",
                "supersedes": f"T-{side}-{number - 1}" if number else None,
            }  # fmt: skip
            store.write(json.dumps(record) + "\n")
    tools = Path(sys.executable).parent
    failures = []
    for command in ([tools / "dbt", "--quiet", "build", "--selector", "findings"], [tools / "gmem", "publish", "--out", published]):
        run = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        if run.returncode:
            failures.append(f"cycle {number}: {' '.join(map(str, command))}: {(run.stdout + run.stderr)[-1500:]}")
    return failures


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
