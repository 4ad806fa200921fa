"""The command `toolparity`, which also works in an install without extras.

Each package has its commands: modules with a click command named ``command``. `COMMANDS` names them. A command whose
dependencies are not installed exits with code 2 and names the extra that installs them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from . import __version__
from .cassettes.cli import exits, names
from .cassettes.cli.stopping import StopSignals

#: Command -> the package whose folder `cli` contains its module, which is named like the command, with underscores for
#: dashes. The module is imported when the command is used.
COMMANDS = {
    "audit": "audit",
    "cassettes": "cassettes",
    "check": "conformance",
    "demo": "conformance",
    "gateway": "conformance",
    "history": "conformance",
    "normalize": "audit",
    "proxy": "audit",
    "record": "cassettes",
    "report": "conformance",
    "serve": "cassettes",
    "smoke": "conformance",
    "subject": "conformance",
    "subjects": "conformance",
    "tools": "conformance",
    "verify-endpoint": "conformance",
}


class Commands(names.Group):
    """Loads commands when they are used, and turns errors into one line and an exit code (see `exits`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        try:
            module = import_module(f".{COMMANDS[cmd_name]}.cli.{cmd_name.replace('-', '_')}", __package__)
        except ModuleNotFoundError as error:
            return exits.unavailable(cmd_name, error)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # Here, because a signal may come while the imports take seconds on a busy machine.
        ctx.obj = ctx.with_resource(StopSignals(args[0] if args else "", last=ctx.obj is True))
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with exits.from_errors(None):  # click prints the help here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with exits.from_errors(ctx):
            return super().invoke(ctx)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        exits.prepare_streams()
        try:
            # obj: whether this process is the command, not a program that calls it with arguments
            return super().main(args, *rest, **{"prog_name": "toolparity", "obj": args is None, **extra})
        except OSError:  # standard error cannot be written
            sys.exit(exits.FAULT)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=exits.EPILOG)
@click.version_option(__version__, prog_name="toolparity")
def main() -> None:
    """Check that no tool call of an LLM response is lost, misread or run twice.

    \b
    Start with your own traffic: recordings, cassettes, HAR files, single bodies.
      toolparity audit recordings/         count what each policy would do to it
      toolparity normalize response.json   write the canonical form, one JSON line per exchange
    Or start with the shipped cassettes.
      toolparity audit "$(toolparity cassettes path)"
    """


__all__ = ["COMMANDS", "main"]
