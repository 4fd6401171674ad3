"""`gmem bridge`: hand a packet to a frozen model, and keep what it did beside the control without memory (rule M12)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from governed_memory.bridge import gate_commands
from governed_memory.bridge.facts import facts_of
from governed_memory.bridge.needs import expect_installed
from governed_memory.bridge.recorded import ENCODINGS, RUNS, expect_writable, is_sound, record
from governed_memory.bridge.why_commands import register_why
from governed_memory.errors import InputError
from governed_memory.memory.options import instant_of
from governed_memory.packets import Packet
from governed_memory.packets.packet import read_packet

if TYPE_CHECKING:
    from governed_memory.bridge.adapter import MemoryAdapters
    from governed_memory.bridge.runtime import FrozenModel


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bridge` and `why` to the root parser."""
    register_why(commands)
    parser = commands.add_parser("bridge", help="hand the facts of a packet to a frozen model, and measure what they change beside a control without them")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    run = verbs.add_parser("run", help="run one request with the memory of a packet and without, and append the run")
    run.add_argument("--packet", required=True, metavar="FILE", help="what `gmem packet build --json` printed")
    base = run.add_mutually_exclusive_group(required=True)
    base.add_argument("--model", metavar="PATH", help="a folder with a Qwen3 checkpoint on this machine; nothing is fetched")
    base.add_argument("--build", metavar="SHAPE", help="instead, a Qwen3 of this shape with random weights: tiny or qwen3-0.6b")
    run.add_argument("--seed", type=int, default=0, metavar="N", help="of built weights and of adapters that are not read from a file (default 0)")
    run.add_argument("--adapters", metavar="FILE", help="adapters as safetensors (default: a diagnostic with seeded gates that are not 0)")
    run.add_argument("--layers", metavar="N,N", help="after which decoder layers diagnostic adapters stand (default: a third and two thirds down)")
    run.add_argument("--prompt", metavar="TEXT", help="the request (default: what the packet was built for)")
    run.add_argument("--control", action="store_true", help="also run the controls against rival explanations")
    run.add_argument("--wrong-packet", metavar="FILE", help="with --control: another packet, which must do something else")
    run.add_argument("--each-fact", action="store_true", help="also leave each fact out once, which gives the effect of its own")
    run.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or auto (default auto: CUDA where there is one)")
    run.add_argument("--dtype", default="auto", metavar="TYPE", help="float32, bfloat16, float16 or auto (default auto: the checkpoint's)")
    run.add_argument("--runs", default="bridge", metavar="DIR", help="where runs and encodings are kept (default bridge)")
    run.add_argument("--now", metavar="INSTANT", help="when the run was (default: the clock)")
    run.add_argument("--json", action="store_true", help="the run as one JSON object")
    run.set_defaults(run=_run)
    gate_commands.register(verbs)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.wrong_packet and not arguments.control:
        raise InputError("--wrong-packet is for the controls; give --control too")
    packet = packet_in(arguments.packet)
    wrong = packet_in(arguments.wrong_packet) if arguments.wrong_packet else None
    expect_installed()
    from governed_memory.bridge.run import RunRequest, prompt_of, run

    folder, now = Path(arguments.runs), instant_of(arguments.now)
    model = _model(arguments)
    adapters = _adapters(arguments, model)
    request = RunRequest(
        packet, prompt_of(packet) if arguments.prompt is None else arguments.prompt, wrong,
        has_rivals=arguments.control, has_effects=arguments.each_fact, is_diagnostic=arguments.adapters is None,
    )  # fmt: skip
    expect_writable(folder)
    done = run(request, model, adapters, now, folder / ENCODINGS)
    record(folder, done)
    if arguments.json:
        print(json.dumps(done, ensure_ascii=False))
    else:
        print("\n".join(told(done)))
        print(f"kept in {folder / RUNS}")
    return 0 if is_sound(done) else 1


def packet_in(place: str) -> Packet:
    """The packet of a file, which has facts.

    Raises:
        InputError: it cannot be read, is not as it was made, or has no fact.
    """
    try:
        packet = read_packet(place, Path(place).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    facts_of(place, packet)
    return packet


def told(run: Mapping[str, Any]) -> Iterator[str]:
    """A run in words."""
    weights = "random weights" if run["weights"] == "random" else "a checkpoint"
    gates = "seeded adapters, a diagnostic" if run["is_diagnostic"] else "adapters from a file"
    yield f"run {run['run_id']}: packet {run['packet_id'][:12]}, {run['slots']} slots, {run['encoded']} of them encoded now"
    yield f"  {run['model_type']} of {run['parameter_count']} parameters, {weights}, on {run['device']} in {run['dtype']}; {gates}"
    for site in run["sites"]:
        yield (
            f"  layer {site['layer']}: memory adds a norm of {site['memory_delta_norm']:.6g} (stream {site['hidden_norm_ratio']:.6g} times as long); "
            f"without memory {site['control_delta_norm']}"
        )
    yield f"  the state after the last token moves by {run['path_change']:.6g} of its norm; without memory it is the base's: {_yes(run['control_equals_base'])}"
    same = "the same" if run["base_sha256_before"] == run["base_sha256_after"] else "CHANGED"
    trained = f"{run['base_parameters_trainable']} trainable, {run['base_parameters_with_gradient']} with a gradient"
    yield f"  base: {trained}; weights before and after: {same}"
    for fact in run["facts"]:
        yield f"  fact {fact['member_id']}: left out, the state moves by {fact['own_effect']:.6g} of its norm"
    for control in run["controls"]:
        outcome = {True: "ruled out", False: "NOT ruled out", None: "not run"}[control["is_held"]]
        measured = "" if control["measured"] is None else f"{control['measured']:.6g}, "
        yield f"  {control['control']}: {control['rival']}: {outcome} ({measured}expected {control['expected']})"
    yield "  norms say that the path moved, not that an answer is better" + (": random weights answer nothing" if run["weights"] == "random" else "")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "NO"


def _model(arguments: argparse.Namespace) -> FrozenModel:
    from governed_memory.bridge.runtime import built, load

    if arguments.model is not None:
        return load(arguments.model, device=arguments.device, dtype=arguments.dtype)
    return built(arguments.build, seed=arguments.seed, device=arguments.device, dtype=arguments.dtype)


def _adapters(arguments: argparse.Namespace, model: FrozenModel) -> MemoryAdapters:
    from governed_memory.bridge.adapter import SEEDED, AdapterConfig, MemoryAdapters, load_adapters

    if arguments.adapters is not None:
        if arguments.layers is not None:
            raise InputError("--layers is for diagnostic adapters; those of --adapters say where they stand")
        return load_adapters(Path(arguments.adapters)).to(model.device)
    count = len(model.layers)
    layers = _layers(arguments.layers) if arguments.layers is not None else tuple(sorted({count // 3, 2 * count // 3}))
    return MemoryAdapters(AdapterConfig(model.hidden_size, layers, gate=SEEDED, seed=arguments.seed)).to(model.device)


def _layers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--layers: {text!r}; expected numbers of decoder layers, such as 9,18") from None
