"""Write the generated parts of the pages, and other generated files: ``python -m docs [--check] [NAME…]``.

It prints the files that changed. With --check it writes nothing, and exits with 1 if a file is not current.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from docs.generate import ROOT

#: The modules of docs.generate that write files.
NAMES = (
    "agents",
    "audit",
    "dialects",
    "findings",
    "flows",
    "gateways",
    "install",
    "needs",
    "peers",
    "schemas",
    "serve",
    "speed",
    "state_diagram",
    "stop_words",
    "tool_schemas",
    "trace",
    "wire_features",
)


def changed(names: Iterable[str]) -> dict[Path, str]:
    """Return the files of these modules that are not current, with the content that they should have."""
    files = [file for name in names for file in import_module(f"docs.generate.{name}").files().items()]
    return {path: text for path, text in files if not path.exists() or path.read_text("utf-8") != text}


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Write the generated parts of the pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(NAMES)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is not current")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in NAMES]:
        parser.error(f"no generator {unknown[0]}: choose from {', '.join(NAMES)}")
    found = changed(options.names or NAMES)
    for path, text in found.items():
        if not options.check:
            path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))
    return int(options.check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
