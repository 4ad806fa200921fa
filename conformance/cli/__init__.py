"""The command `toolparity`: a group with one module per command.

To add a command, add a module here with a click command named ``command``, and a line to `COMMANDS`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from toolparity import __version__

from . import exits, extras, faults, names

#: Name -> its module here, which is imported when the command is used.
COMMANDS: dict[str, str] = {
    "audit": "audit",
    "cassettes": "cassettes",
    "check": "check",
    "demo": "demo",
    "normalize": "normalize",
    "record": "record",
    "report": "report",
    "serve": "serve",
    "smoke": "smoke",
    "subjects": "subjects",
}


class Commands(names.Group):
    """Loads commands from the table, and turns errors into one line and an exit code (see `exits`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        try:
            found: click.Command = import_module(f".{COMMANDS[cmd_name]}", __name__).command
        except ModuleNotFoundError as error:
            return extras.unavailable(cmd_name, error)
        return found

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with faults.turned_into_exits(None):  # click prints the help here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with faults.turned_into_exits(ctx):
            return super().invoke(ctx)

    def main(self, *args: Any, **extra: Any) -> Any:
        faults.replace_closed_streams()
        try:
            return super().main(*args, **extra)
        except OSError:  # standard error cannot be written
            sys.exit(exits.FAULT)


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"Exit codes: {exits.TABLE}"
)
@click.version_option(__version__, prog_name="toolparity")
def main() -> None:
    """Whatever a provider sends, no tool call is lost, misread or run twice.

    \b
    Begin with what you have: recordings, cassettes, HAR files, single bodies.
      toolparity audit recordings/         what would each policy do to this traffic?
      toolparity normalize answer.json     the canonical form, one JSON line an exchange
    Or with the cassettes that are shipped.
      toolparity audit "$(toolparity cassettes path)"
    """


__all__ = ["COMMANDS", "main"]
