"""The entry point of the command `toolparity`, which works in an install without any extra.

The commands live in `toolparity.conformance.cli`. A command whose dependencies are not installed ends with exit code 2
and names the extra that brings them.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line. Ends the process with an exit code of `toolparity.conformance.cli.exits`."""
    from .conformance.cli import main as command

    command(prog_name="toolparity")
