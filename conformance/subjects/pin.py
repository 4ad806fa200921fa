"""Writes the pinned versions of libraries: ``python -m toolparity.conformance.subjects.pin [NAME[==VERSION]]...``.

Python libraries are resolved by uv (``pip install uv``) for all platforms, with a hash of every file. Node libraries
are resolved by npm from their ``package.json``; the lock file has a hash of every file and no registry address.
Without a version, the newest one is pinned; without a name, the newest one of every library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from .environments import Library, known
from .peers import PEERS
from .runtimes import requirements

_UV = "uv pip compile - --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11"
_NPM = "npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved"


def main(names: Sequence[str]) -> None:
    """Write the files of these libraries; of all libraries if there are no names."""
    for name in names or [peer.name for peer in PEERS.values() if not peer.shares]:
        library = known(name)
        (_pin_node if library.peer.runtime == "node" else _pin_python)(library)
        print(f"written: {library.peer.pins}")


def _pin_python(library: Library) -> None:
    own, *beside = requirements(library.peer)
    asked = "\n".join([f"{own}=={library.version}" if library.version else own, *beside])
    done = subprocess.run(_UV.split(), input=asked, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    library.peer.pins.write_text(done.stdout, "utf-8")


def _pin_node(library: Library) -> None:
    folder = library.peer.pins.parent
    listed = json.loads((folder / "package.json").read_text("utf-8"))["dependencies"]
    versions = {library.peer.distribution: library.version} if library.version else dict.fromkeys(listed, "latest")
    packages = [f"{name}@{version}" for name, version in versions.items()]
    subprocess.run([*_NPM.split(), "--save-exact", *packages], cwd=folder, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
