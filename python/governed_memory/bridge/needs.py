"""What the bridge needs beyond the core, said in one line where it is missing."""

from __future__ import annotations

import importlib
import os

from governed_memory.errors import InputError


def expect_installed(*, with_peft: bool = False) -> None:
    """Load torch, transformers and safetensors, where asked peft too, with the model hub switched off: what is loaded is on this machine.

    Raises:
        InputError: one of them is not installed.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    try:
        for name in ("torch", "transformers", "safetensors.torch", *(["peft"] if with_peft else [])):
            importlib.import_module(name)
    except ImportError:
        raise InputError("the bridge needs the `adapter` extra; install it with: pip install 'governed-memory[adapter]'") from None
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
