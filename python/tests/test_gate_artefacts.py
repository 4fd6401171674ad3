"""Each command and page that a stage of memory promises is there: the evidence of the gates' artefacts that no build makes (docs/gates.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from governed_memory import warehouse
from governed_memory.cli import main

ROOT = Path(__file__).parents[2]
PROMISED = sorted({row["subject"] for row in warehouse.seed("gate_evidence") if row["kind"] == "artefact" and row["suite"] == "pytest"})


@pytest.mark.parametrize("promised", PROMISED)
def test_it_is_there(promised: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind, name = promised.split(" ", 1)
    if kind == "command":
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: gmem {name} ")
    else:
        assert kind == "page"
        assert (ROOT / name).read_text(encoding="utf-8").startswith("# ")
        assert f"({name})" in (ROOT / "README.md").read_text(encoding="utf-8")
