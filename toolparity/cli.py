"""Entry point of the `toolparity` command, which also works in an install without extras.

`toolparity.conformance.cli` defines the commands. A command whose dependencies are not installed exits with code 2 and
names the extra that installs them.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line, then end the process with an exit code from `toolparity.conformance.cli.exits`."""
    from .conformance.cli import main as command

    command(prog_name="toolparity")
