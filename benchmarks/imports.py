"""How much longer `import normalizer` takes than `import msgspec`, each in processes of its own."""

from __future__ import annotations

import subprocess
import sys

from .measure import Times

_CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_times(turns: int) -> Times:
    """Seconds that either import takes in a fresh interpreter."""
    modules = ("msgspec", "normalizer")
    seconds: dict[str, list[float]] = {module: [] for module in modules}
    for turn in range(turns + 1):
        for module in modules:
            command = [sys.executable, "-c", _CODE.format(module)]
            taken = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if turn:  # the first turn only warms the file cache
                seconds[module].append(taken)
    return Times("import", seconds)
