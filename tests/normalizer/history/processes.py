"""One program run in several processes: what it prints may depend on nothing that differs between them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.thoroughness import is_thorough


def printed_under_any_hash_seed(program: str, options: Sequence[str] = ()) -> str:
    """What the program prints, the same under every hash seed; AssertionError where it is not."""
    told = {
        subprocess.run(
            [sys.executable, *options, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (("0", "1", "4242") if is_thorough() else ("0", "4242"))
    }
    assert len(told) == 1
    return told.pop()
