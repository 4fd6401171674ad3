"""Rule M12: a packet's facts reach a frozen model through adapters and nothing else does; the control without memory adds exactly nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import dbt_harness
import pytest
import torch

from governed_memory import cli
from governed_memory.bridge.adapter import SEEDED, AdapterConfig, Memory, MemoryAdapters, load_adapters
from governed_memory.bridge.encode import encode
from governed_memory.bridge.facts import facts_of
from governed_memory.bridge.intervention import Intervention, change
from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.readout import accuracy, shuffled_accuracy
from governed_memory.bridge.rivals import rivals
from governed_memory.bridge.runtime import FrozenModel, built, load
from governed_memory.errors import InputError
from governed_memory.packets.packet import packet_of
from governed_memory.warehouse.encodings import Encodings, encodings_kept

PROMPT = "how long do we keep what customers gave us?"
OTHER = [("B1", "office_hours", "nine to five"), ("B2", "parking", "behind the house")]
FACTS = [("A1", "retention", "five years, then erased"), ("A2", "discount", "at most ten in a hundred"), ("A3", None, "the board met, ZQX-41")]


def packet_file(path: Path, facts: list[tuple[str, str | None, str]]) -> Path:
    """A packet as `gmem packet build --json --as jsonl` writes it."""
    members = [{"id": name, "store": "s" if concept else None, "concept": concept} for name, concept, _ in facts]
    lines = [{"record_id": name, "value": value} | ({"concept": concept} if concept else {}) for name, concept, value in facts]
    groups = [{"group_id": "g", "standing": "answer", "members": members}] if members else []
    packet = packet_of("".join(json.dumps(line) + "\n" for line in lines), {"inputs": {"query": PROMPT, "form": "jsonl"}, "groups": groups})
    path.write_text(json.dumps(packet.as_data()))
    return path


def run(tmp_path: Path, *more: str, facts: Any = FACTS) -> int:
    place = packet_file(tmp_path / "packet.json", facts)
    base = [] if {"--model", "--build"} & set(more) else ["--build", "tiny"]
    return cli.main(["bridge", "run", "--packet", str(place), *base, "--device", "cpu", "--runs", str(tmp_path / "runs"), *more])


def runs(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "runs/runs.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def model() -> FrozenModel:
    expect_installed()
    return built("tiny", device="cpu")


@pytest.fixture
def adapters() -> MemoryAdapters:
    return MemoryAdapters(AdapterConfig(32, (0, 2), gate=SEEDED, seed=7))


def memory(*shape: int, seed: int = 0) -> Memory:
    slots = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return Memory(slots, torch.ones(shape[:2], dtype=torch.bool))


@pytest.fixture
def intervention(model: FrozenModel, adapters: MemoryAdapters) -> Intervention:
    return Intervention(model, adapters, model.ids(PROMPT, "prompt"), memory(1, 3, 32))


@pytest.fixture
def checkpoint(model: FrozenModel, tmp_path: Path) -> Path:
    model.network.save_pretrained(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def test_a_run_is_a_row_with_the_control_beside_it(tmp_path: Path) -> None:
    other = packet_file(tmp_path / "other.json", OTHER)
    assert run(tmp_path, "--control", "--wrong-packet", str(other), "--each-fact") == 0
    [row] = runs(tmp_path)
    assert [site["control_delta_norm"] for site in row["sites"]] == [0.0, 0.0]
    assert all(site["memory_delta_norm"] > 0 for site in row["sites"])
    assert (row["base_parameters_trainable"], row["base_parameters_with_gradient"]) == (0, 0) and row["adapter_parameters_with_gradient"] > 0
    assert row["base_sha256_before"] == row["base_sha256_after"] and row["control_equals_base"]
    assert {control["is_held"] for control in row["controls"]} == {True} and len(row["controls"]) == 9
    assert [fact["member_id"] for fact in row["facts"]] == ["A1", "A2", "A3"] and all(fact["own_effect"] > 0 for fact in row["facts"])


def test_one_fact_reaches_two_sites_of_the_full_shape(tmp_path: Path) -> None:
    expect_installed()
    model = built("qwen3-0.6b", device="cpu")
    assert (model.hidden_size, len(model.layers), model.network.num_parameters()) == (1024, 28, 596_049_920)
    encoded = encode(facts_of("p", packet_of_file(packet_file(tmp_path / "p.json", FACTS[:1]))), model, "base").memory
    assert encoded.slots.shape == (1, 1, 1024) and bool(torch.isfinite(encoded.slots).all()) and encoded.mask.tolist() == [[True]]
    adapters = MemoryAdapters(AdapterConfig(1024, (9, 18), gate=SEEDED))
    whole = Intervention(model, adapters, model.ids(PROMPT, "prompt"), encoded)
    assert all(site.delta_norm > 0 for site in whole.passed(encoded).sites)
    control = whole.passed(None)
    assert [site.delta_norm for site in control.sites] == [0.0, 0.0] and torch.equal(control.hidden, whole.base())


def test_a_second_run_encodes_nothing_and_finds_the_same_in_a_fresh_process(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    code = "import sys; from governed_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    again = ["bridge", "run", "--packet", str(tmp_path / "packet.json"), "--build", "tiny", "--device", "cpu", "--runs", str(tmp_path / "runs")]
    assert subprocess.run([sys.executable, "-c", code, *again], capture_output=True, check=False).returncode == 0
    first, second = runs(tmp_path)
    assert (first["encoded"], second["encoded"]) == (3, 0)
    assert {**first, **dict.fromkeys(("run_id", "ran_at", "encoded"))} == {**second, **dict.fromkeys(("run_id", "ran_at", "encoded"))}


def test_a_run_row_names_no_machine_place_key_setting_or_value(tmp_path: Path, checkpoint: Path) -> None:
    assert run(tmp_path, "--model", str(checkpoint), "--each-fact", "--control") == 0
    text = (tmp_path / "runs/runs.jsonl").read_text()
    for told in (os.uname().nodename, str(tmp_path), "checkpoint/", "/", "\\\\", "ZQX", "five years", PROMPT):
        assert told not in text, told
    names = {name for row in runs(tmp_path) for name in (*row, *row["sites"][0], *row["facts"][0], *row["controls"][0])}
    assert not [
        name
        for name in names
        for word in ("path", "host", "secret", "password", "learning", "optim", "epoch", "decay")
        if word in name and name != "path_change"
    ]


def test_slots_are_duckdbs_own_export_and_in_the_order_of_the_facts(tmp_path: Path, model: FrozenModel) -> None:
    facts = facts_of("p", packet_of_file(packet_file(tmp_path / "p.json", FACTS)))
    encoded = encode(facts, model, "base", tmp_path / "e.duckdb")
    assert encoded.memory.slots.shape == (1, 3, 32) and encoded.memory.mask.tolist() == [[True] * 3]
    turned = encode([*reversed(facts)], model, "base", tmp_path / "e.duckdb")
    assert turned.encoded == 0 and torch.equal(turned.memory.slots.flip(1), encoded.memory.slots)
    assert encode(facts, model, "another base", tmp_path / "e.duckdb").encoded == 3


@pytest.mark.parametrize(
    ("asked", "is_copied"),
    [
        (range(10), False),  # as they are kept
        (range(3, 6), False),
        ([9, 0, 5, 1, 2, 3, 4], True),  # all between are exported
        ([9, 0], True),  # only those are
        ([2, 2, 4], True),
    ],
)
def test_encodings_come_in_the_order_asked_for_and_as_they_are_kept_without_a_copy(asked: Any, is_copied: bool) -> None:
    with encodings_kept(None, "another", 2) as others:
        others.keep({"n3": [9.0, 9.0]})
        encodings = Encodings(others._connection, "m", 2)
        encodings.keep({f"n{number}": [float(number), 0.5] for number in range(10)})
        array = encodings.array([f"n{number}" for number in asked])
        assert array.tolist() == [[float(number), 0.5] for number in asked] and array.shape == (len(asked), 2)
        assert array.flags.writeable is is_copied, "only what is no memory of the export may be written to"
        with pytest.raises(InputError, match="1 of 2 facts are not encoded by this model"):
            encodings.array(["n1", "n10"])
        assert encodings.array([]).shape == (0, 2)


def packet_of_file(path: Path) -> Any:
    from governed_memory.packets.packet import read_packet

    return read_packet(str(path), path.read_text())


@pytest.mark.parametrize("form", ["compact", "jsonl", "markdown"])
def test_facts_are_read_out_of_every_form_of_text(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"A": "a `tick`, a | bar, a\nline - and \\", "B": '- "quoted"'}
    lines = [
        json.dumps({"record_id": name, "concept": f"c{name}`", "value": value, "valid_from": "2026-01-01", "valid_to": None}) for name, value in values.items()
    ]
    (tmp_path / "store.jsonl").write_text("\n".join(lines))
    (tmp_path / "host.yml").write_text("callers: {staff: {parties: [staff], boundary: inside}}")
    named = ["--caller", "staff", "--host", str(tmp_path / "host.yml"), "--store", str(tmp_path / "store.jsonl"), "--policy", "abstain"]
    assert cli.main(["packet", "build", "--concept", "cA`", "--concept", "cB`", "--as-of", "2026-06-01", *named, "--json", "--as", form]) == 0
    (tmp_path / "p.json").write_text(capsys.readouterr().out)
    assert {fact.member_id: fact.value for fact in facts_of("p", packet_of_file(tmp_path / "p.json"))} == values


def test_without_memory_or_with_closed_gates_the_path_is_the_bases_bit_for_bit(intervention: Intervention) -> None:
    plain = intervention.base()
    assert torch.equal(intervention.passed(None).hidden, plain)
    assert not torch.equal(intervention.passed(intervention.memory).hidden, plain)
    closed = replace(intervention, adapters=MemoryAdapters(AdapterConfig(32, (0, 2))))
    assert torch.equal(closed.passed(intervention.memory).hidden, plain)
    assert torch.equal(intervention.base(), plain), "a hook was left behind"


def test_in_a_batch_each_row_has_its_own_memory(model: FrozenModel, adapters: MemoryAdapters) -> None:
    both = Memory(memory(2, 3, 32).slots, torch.tensor([[True] * 3, [False] * 3]))
    ids = model.ids(PROMPT, "prompt").expand(2, -1)
    with torch.no_grad(), adapters.attached(model, both):
        moved = model.last_hidden(ids)
    with torch.no_grad():
        plain = model.last_hidden(ids)
    assert torch.equal(moved[1], plain[1]) and not torch.equal(moved[0], plain[0])


def test_a_masked_slot_is_not_seen(intervention: Intervention) -> None:
    seen = intervention.passed(Memory(intervention.memory.slots[:, :2], intervention.memory.mask[:, :2]))
    mask = torch.tensor([[True, True, False]])
    masked = intervention.passed(replace(intervention.memory, mask=mask))
    assert change(masked.hidden, seen.hidden) < 1e-5
    assert change(intervention.passed(intervention.memory).hidden, seen.hidden) > 1e-3


def test_gradients_reach_the_adapters_alone(intervention: Intervention) -> None:
    counts = intervention.gradients()
    whole = sum(parameter.numel() for parameter in intervention.adapters.parameters())
    assert counts == {"base_parameters_trainable": 0, "base_parameters_with_gradient": 0, "adapter_parameters_with_gradient": whole}
    assert all(parameter.grad is None for parameter in intervention.adapters.parameters())


def test_adapters_are_saved_and_loaded_as_they_were(intervention: Intervention, tmp_path: Path) -> None:
    intervention.adapters.save(tmp_path / "a.safetensors")
    loaded = load_adapters(tmp_path / "a.safetensors")
    assert loaded.config == intervention.adapters.config
    again = replace(intervention, adapters=loaded)
    assert torch.equal(again.passed(again.memory).hidden, intervention.passed(intervention.memory).hidden)


def test_the_same_seed_gives_the_same_weights_and_leaves_the_generator_alone() -> None:
    before = torch.random.get_rng_state()
    assert built("tiny", seed=3, device="cpu").sha256() == built("tiny", seed=3, device="cpu").sha256() != built("tiny", seed=4, device="cpu").sha256()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_checkpoint_is_what_was_saved(model: FrozenModel, checkpoint: Path) -> None:
    assert load(str(checkpoint), device="cpu").sha256() == model.sha256()


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("shuffled memory", lambda memory: replace(memory, slots=torch.ones_like(memory.slots))),
        ("wrong packet", lambda memory: memory),
    ],
)
def test_a_control_that_does_not_hold_says_so(intervention: Intervention, name: str, broken: Any) -> None:
    """Slots that are all alike cannot be shuffled into others, and the same packet is no wrong one."""
    doctored = replace(intervention, memory=broken(intervention.memory))
    found = {row["control"]: row["is_held"] for row in rivals(doctored, doctored.passed(doctored.memory), doctored.memory)}
    assert found[name] is False


def test_a_state_left_behind_is_found(intervention: Intervention) -> None:
    full = intervention.passed(intervention.memory)
    hook = intervention.model.layers[0].register_forward_hook(lambda _, __, hidden: hidden * 1.001)
    try:
        found = {row["control"]: row["is_held"] for row in rivals(intervention, full)}
    finally:
        hook.remove()
    assert found["leftover state"] is False and found["wrong packet"] is None


def test_a_slot_told_twice_beside_others_weighs_more(intervention: Intervention) -> None:
    slots = intervention.memory.slots[:, [0, 0, 1, 2]]
    twice = intervention.passed(Memory(slots, torch.ones(1, 4, dtype=torch.bool)))
    assert change(twice.hidden, intervention.passed(intervention.memory).hidden) > 1e-3


def test_a_readout_finds_memory_and_on_shuffled_labels_nothing(intervention: Intervention) -> None:
    on, off = intervention.passed(intervention.memory).hidden, intervention.passed(None).hidden
    generator = torch.Generator().manual_seed(0)
    assert accuracy(on, off, generator) > 0.9
    found = shuffled_accuracy(on, off, generator)
    assert found is not None and abs(found - 0.5) <= 0.1
    assert shuffled_accuracy(on[:8], off[:8], generator) is None


def bad_checkpoint(folder: Path, fault: str) -> Path:
    if fault == "architecture":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "model_type": "llama"}))
    if fault == "weights":
        (folder / "model.safetensors").unlink()
    if fault == "config":
        (folder / "config.json").write_text("{")
    if fault == "one weight":
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        del weights["model.layers.1.mlp.up_proj.weight"]
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
    if fault == "hidden size":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))
    if fault == "no number":
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        save_file({**weights, "model.norm.weight": weights["model.norm.weight"] * float("nan")}, folder / "model.safetensors", {"format": "pt"})
    if fault == "tokenizer":
        (folder / "tokenizer.json").write_text("{")
    if fault == "folder":
        shutil.rmtree(folder)
    return folder


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("architecture", "is a 'llama'; expected a checkpoint of 'qwen3'"),
        ("weights", "its weights cannot be loaded"),
        ("config", "is no configuration of a model"),
        ("one weight", "1 weights are missing or of another shape, the first 'model.layers.1.mlp.up_proj.weight'"),
        ("hidden size", "its weights are of other shapes than its config.json states"),
        ("no number", "'A1': the model's encoding is no finite number"),
        ("tokenizer", "cannot be read as a tokenizer"),
        ("folder", "is no folder with a checkpoint"),
    ],
)
def test_a_checkpoint_that_is_not_whole_is_refused(tmp_path: Path, checkpoint: Path, fault: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--model", str(bad_checkpoint(checkpoint, fault))) == 2
    refused(tmp_path, expected, capsys)


@pytest.mark.parametrize(
    ("more", "facts", "expected"),
    [
        ([], [], "holds no fact"),
        (["--adapters", "other.safetensors"], FACTS, "are for a hidden size of 16, and the model has 32"),
        (["--adapters", "nowhere.safetensors"], FACTS, "no such file"),
        (["--adapters", "packet.json"], FACTS, "is no safetensors file"),
        (["--layers", "0,9"], FACTS, "layer 9 is not there; the model has 3"),
        (["--layers", "2,1"], FACTS, "expected at least one decoder layer, from 0 up, each once and in order"),
        (["--layers", "a"], FACTS, "expected numbers of decoder layers"),
        (["--build", "huge"], FACTS, "'huge' is no shape"),
        (["--device", "tpu"], FACTS, "'tpu' is no device"),
        (["--dtype", "int8"], FACTS, "'int8' is no type of weights"),
        (["--prompt", ""], FACTS, "--prompt: has 0 tokens"),
        (["--wrong-packet", "packet.json"], FACTS, "is for the controls"),
        (["--control", "--wrong-packet", "packet.json"], FACTS, "holds no fact that the packet does not hold"),
        (["--control", "--wrong-packet", "nowhere.json"], FACTS, "nowhere.json: cannot be read: No such file"),
        (["--packet", "nowhere.json"], FACTS, "nowhere.json: cannot be read: No such file"),
        (["--packet", "other.safetensors"], FACTS, "other.safetensors: "),
        (["--runs", "packet.json"], FACTS, "--runs: 'packet.json' cannot be made: File exists"),
    ],
)
def test_what_cannot_be_run_is_one_line_and_no_run(
    tmp_path: Path, more: list[str], facts: Any, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    MemoryAdapters(AdapterConfig(16, (0,))).save(Path("other.safetensors"))
    assert run(tmp_path, *more, facts=facts) == 2
    refused(tmp_path, expected, capsys)


def test_a_packet_that_was_changed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = packet_file(tmp_path / "p.json", FACTS)
    place.write_text(place.read_text().replace("five years", "six years"))
    assert cli.main(["bridge", "run", "--packet", str(place), "--build", "tiny", "--runs", str(tmp_path / "runs")]) == 2
    refused(tmp_path, "is not as it was made", capsys)


def test_memory_that_is_no_number_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    assert run(tmp_path) == 0
    with duckdb.connect(str(tmp_path / "runs/encodings.duckdb")) as connection:
        connection.execute("update encodings_32 set encoding = list_transform(range(32), lambda n: 'nan'::float)::float[32]")
    kept = runs(tmp_path)
    capsys.readouterr()
    assert run(tmp_path) == 2
    assert "holds a value that is no finite number" in capsys.readouterr().err
    assert runs(tmp_path) == kept


def refused(tmp_path: Path, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = capsys.readouterr()
    assert expected in told.err and told.err.count("\n") == 1 and "ZQX" not in told.err
    assert not (tmp_path / "runs/runs.jsonl").exists()


@pytest.mark.parametrize("wrong", [{"layers": ()}, {"heads": 3}, {"gate": "open"}, {"width": 0}, {"layers": (1, 1)}, {"layers": (-1,)}])
def test_a_configuration_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="adapters: "):
        AdapterConfig(**{"hidden_size": 32, "layers": (0,), **wrong})


def test_without_the_extra_the_bridge_says_what_to_install(tmp_path: Path) -> None:
    place = packet_file(tmp_path / "p.json", FACTS)
    code = "import sys; sys.modules['torch'] = None; from governed_memory.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "bridge", "run", "--packet", str(place), "--build", "tiny"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install 'governed-memory[adapter]'" in done.stderr and done.stderr.count("\n") == 1


def test_dbt_holds_every_run_to_what_it_must_show(tmp_path: Path) -> None:
    assert run(tmp_path, "--control", "--each-fact") == 0
    project = dbt_harness.Project(tmp_path)
    project.vars["bridge"] = {"runs": str(tmp_path / "runs")}
    selected = ("--select", "path:models/staging/bridge+", "path:tests/bridge")
    done = project.dbt("build", *selected)
    assert done.returncode == 0, done.stdout
    file = tmp_path / "runs/runs.jsonl"
    [sound] = runs(tmp_path)
    site = sound["sites"][0]
    broken = [
        {"base_parameters_trainable": 1}, {"base_sha256_after": "0" * 64}, {"adapter_parameters_with_gradient": 0}, {"control_equals_base": False},
        {"sites": [{**site, "control_delta_norm": 1e-30}]}, {"sites": [{**site, "memory_delta_norm": 0.0}]}, {"sites": []},
        {"controls": [{**sound["controls"][0], "is_held": False}]}, {"torch_version": None},
    ]  # fmt: skip
    file.write_text("".join(json.dumps({**sound, **fault, "run_id": f"run {number}"}) + "\n" for number, fault in enumerate(broken)))
    failed = project.dbt("build", *selected)
    assert failed.returncode == 1
    found = dict(re.findall(r"Failure in test (\w+).*?Got (\d+) result", failed.stdout, flags=re.S))
    assert found == {
        "a_run_leaves_the_base_as_it_was": "3", "without_memory_nothing_is_added": "3", "memory_reaches_every_site_of_a_run": "2",
        "no_rival_explanation_of_a_run_stands": "1", "not_null_intervention_runs_torch_version": "1",
    }  # fmt: skip
