"""Time of `from toolparity import normalize` compared with `import msgspec`, each in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from .measure import Times

#: Name -> import statement to measure.
IMPORTS = {"msgspec": "import msgspec", "toolparity": "from toolparity import normalize"}
_CODE = "import time; start = time.process_time(); {}; print(time.process_time() - start)"


def import_times(turns: int) -> Times:
    """Return the seconds of processor time that each import takes in a fresh interpreter, ``turns`` times.

    The modules are compiled before, as pip does when it installs a distribution.
    """
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(turns + 1):
            for name, statement in IMPORTS.items():
                command = [sys.executable, "-c", _CODE.format(statement)]
                ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
                if turn:  # the first turn compiles
                    seconds[name].append(float(ran.stdout))
    return Times(seconds)
