"""Runs a script in an environment with its library and without this project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ..subjects import environments
from ..subjects.peers import PEERS
from ..subjects.runtimes import RUNTIMES
from .accusations import Accusation
from .output import Output

#: The longest time of a script, in seconds: importing some libraries takes long on a busy machine.
_LONGEST = 300
#: Settings with which the libraries send no requests but those of the script.
QUIET = {
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


def available(subject: str) -> bool:
    """Return whether the library of a subject is installed: in its environment, or an SDK beside this project."""
    return subject not in PEERS or environments.installed(subject) is not None


def run(accusation: Accusation, folder: Path) -> Output:
    """Write the script and the response into a folder, and run it there, isolated from the user's settings."""
    response, script = accusation.response, accusation.script
    (folder / response.file).write_bytes(response.data)
    (folder / script.name).write_text(script.text, "utf-8")
    names = [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith("PYTHON")]
    environment = {name: value for name, value in os.environ.items() if name not in names} | QUIET
    done = subprocess.run(
        [*command(accusation.result.subject), script.name],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=_LONGEST,
        check=False,
    )
    return Output(done.stdout, done.stderr)


def command(subject: str) -> list[str]:
    """Return the command that starts a script with the library of a subject."""
    if subject not in PEERS:
        return [sys.executable, "-I"]
    library = environments.known(subject)
    *start, _ = RUNTIMES[library.peer.runtime].command(library.peer, library.link)
    return [*start, "-I"] if library.peer.runtime == "python" else start
