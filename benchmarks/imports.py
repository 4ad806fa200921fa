"""Time of `from toolparity import normalize` compared with `import msgspec`, each in fresh processes."""

from __future__ import annotations

import subprocess
import sys

from .measure import Times

#: Name -> import statement to measure.
IMPORTS = {"msgspec": "import msgspec", "toolparity": "from toolparity import normalize"}
_CODE = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def import_times(turns: int) -> Times:
    """Return the seconds that each import takes in a fresh interpreter, ``turns`` times."""
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for turn in range(turns + 1):
        for name, statement in IMPORTS.items():
            command = [sys.executable, "-c", _CODE.format(statement)]
            taken = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if turn:  # the first turn only warms the file cache
                seconds[name].append(taken)
    return Times("import", seconds)
