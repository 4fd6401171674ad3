"""Rule M12: the five-candidate gate, in short: memory decides what the frozen base guesses, beside methods of as many parameters on the same data."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from governed_memory import cli
from governed_memory.bridge import gate as gates
from governed_memory.bridge.contenders import CONTENDERS, Contender, LoraContender, MemoryContender, budget
from governed_memory.bridge.gate import GateRequest, gate, is_base_untouched
from governed_memory.bridge.gate_commands import told
from governed_memory.bridge.gate_task import Task, task_of
from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.runtime import FrozenModel, built
from governed_memory.errors import InputError

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SHORT = GateRequest(seeds=2, steps=2, learned=50, asked=25)


@pytest.fixture(scope="module")
def model() -> FrozenModel:
    expect_installed(with_peft=True)
    return built("tiny", device="cpu")


@pytest.fixture(scope="module", autouse=True)
def in_one_thread() -> Iterator[None]:
    """Several would wait for each other more than they compute."""
    with gates.one_thread():
        yield


@pytest.fixture(scope="module")
def task(model: FrozenModel) -> Task:
    return task_of(model, 0, 50, 50)


@pytest.fixture(scope="module")
def short(model: FrozenModel) -> dict[str, Any]:
    return gate(SHORT, NOW)


@pytest.fixture(scope="module")
def trained(model: FrozenModel) -> dict[str, Any]:
    return gate(GateRequest(seeds=1, steps=200, learned=400, asked=50, contenders=(MemoryContender,)), NOW)


def test_with_memory_the_adapters_decide_what_the_base_can_only_guess(trained: dict[str, Any]) -> None:
    [method] = trained["methods"]
    assert trained["is_passed"]
    assert method["accuracy_without"]["mean"] == pytest.approx(0.2, abs=0.05) and method["accuracy_with"]["mean"] >= 0.95
    assert method["wrong_context_followed"]["mean"] >= 0.95 and method["wrong_context_drop"]["mean"] >= 0.7
    assert method["hidden_norm_ratio"]["mean"] > 1 and method["hidden_norm_ratio"]["sd"] is None, "one seed has no deviation"


def test_every_method_has_as_many_parameters_and_leaves_its_base_as_it_was(short: dict[str, Any]) -> None:
    assert [method["method"] for method in short["methods"]] == [kind.name for kind in CONTENDERS]
    for method in short["methods"]:
        assert abs(method["parameters"] / short["parameter_budget"] - 1) <= 0.02, method["method"]
        assert is_base_untouched(method), method["method"]
        hashes = {once[name] for once in method["each_seed"] for name in ("base_sha256_before", "base_sha256_after")}
        assert hashes == {built("tiny", device="cpu").sha256()} and len(method["each_seed"]) == 2
        assert method["hidden_norm_ratio"]["sd"] > 0
    assert not short["is_passed"], "two steps of training decide nothing"


@pytest.mark.parametrize("kind", CONTENDERS, ids=lambda kind: str(kind.name))
def test_what_is_trained_is_the_methods_own_and_memory_reaches_what_is_read(model: FrozenModel, task: Task, kind: type[Any]) -> None:
    own = built("tiny", device="cpu")
    contender: Contender = kind(own, 0)
    cases = task.learned
    gates._train(contender, task, 2, 0)
    assert sum(parameter.numel() for parameter in contender.parameters) == pytest.approx(budget(model), rel=0.02)
    with torch.no_grad():
        bare, full = contender.read(cases.ids, None), contender.read(cases.ids, cases.slots)
        assert not torch.allclose(bare.states, full.states)
        if kind is MemoryContender:
            assert torch.equal(bare.states, model.last_hidden(cases.ids)[:, -1]), "without memory it is the base"
    contender.release()
    with torch.no_grad():
        assert torch.equal(own.last_hidden(cases.ids), model.last_hidden(cases.ids)), "something was left on the base"


def test_a_base_that_a_method_changes_is_found(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging LoRA into the base is what releasing it must not do."""
    monkeypatch.setattr(LoraContender, "release", lambda self: self.wrapped.merge_and_unload())
    done = gate(GateRequest(1, 2, 50, 25, (LoraContender,)), NOW)
    assert not is_base_untouched(done["methods"][0]) and "CHANGED" in "\n".join(told(done))


def test_the_wrong_context_is_another_cases_and_tells_each_candidate_equally_often(task: Task) -> None:
    slots, says = task.asked.wrong_slots()
    assert not any(torch.equal(wrong, right) for wrong, right in zip(slots, task.asked.slots, strict=True))
    pairs = torch.zeros(5, 5, dtype=torch.long)
    for answer, said in zip(task.asked.answers.tolist(), says.tolist(), strict=True):
        pairs[answer, said] += 1
    assert pairs.tolist() == [[2] * 5] * 5


def test_no_case_is_in_both_parts_and_other_seeds_draw_others(model: FrozenModel, task: Task) -> None:
    first, second = task, task_of(model, 1, 50, 50)
    learned, asked, other = ({tuple(row) for row in cases.ids.tolist()} for cases in (first.learned, first.asked, second.asked))
    assert len(learned) == 50 and len(asked) == 50 and not learned & asked and asked != other
    assert torch.equal(first.centroids, second.centroids) and torch.allclose(first.centroids.norm(dim=1), torch.ones(5))


def test_the_same_gate_twice_is_the_same_and_leaves_threads_and_generator_alone(short: dict[str, Any]) -> None:
    torch.set_num_threads(2)
    torch.rand(3)
    state = torch.random.get_rng_state()
    assert gate(SHORT, NOW) == short
    assert torch.get_num_threads() == 2 and torch.equal(torch.random.get_rng_state(), state)
    torch.set_num_threads(1)


@pytest.fixture
def shortened(monkeypatch: pytest.MonkeyPatch, short: dict[str, Any]) -> Iterator[None]:
    monkeypatch.setattr("governed_memory.bridge.gate.gate", lambda request, now: short)
    yield


def test_the_table_has_the_published_figures_and_their_warning(shortened: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bridge", "gate", "--seeds", "1", "--steps", "2", "--runs", str(tmp_path), "--json"]) == 1
    row = json.loads(capsys.readouterr().out)
    assert cli.main(["bridge", "gate", "--seeds", "1", "--steps", "2", "--runs", str(tmp_path)]) == 1
    table = capsys.readouterr().out
    for figure in ("0.2049 +- 0.0028", "1.0000", "0.8000 +- 0.0000", "1.1270", "proves no superiority", "NOT passed", "LoRA", "prefix tuning", "MLP adapters"):
        assert figure in table, figure
    assert [json.loads(line) for line in (tmp_path / "gates.jsonl").read_text().splitlines()] == [row, row]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--seeds", "0"], "--seeds: 0; expected a whole number from 1 to 20"),
        (["--steps", "0"], "--steps: 0; expected a whole number from 1 to 10000"),
        (["--seeds", "21"], "--seeds: 21"),
        (["--now", "yesterday"], "yesterday"),
    ],
)
def test_a_gate_that_cannot_be_run_is_one_line_and_no_row(tmp_path: Path, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bridge", "gate", "--runs", str(tmp_path / "runs"), *more]) == 2
    said = capsys.readouterr().err
    assert expected in said and said.count("\n") == 1 and not (tmp_path / "runs").exists()


def test_cases_that_are_no_whole_number_of_rounds_are_refused() -> None:
    with pytest.raises(InputError, match="expected a multiple of 25"):
        GateRequest(asked=30)


def test_without_peft_the_gate_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['peft'] = None; from governed_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "bridge", "gate", "--runs", str(tmp_path / "runs")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install 'governed-memory[adapter]'" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
