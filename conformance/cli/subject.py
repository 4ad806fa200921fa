"""`toolparity subject`: writes the skeleton of a subject."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from toolparity.cassettes.cli import exits
from toolparity.cassettes.cli.names import Group, Named

from .. import skeletons


@click.group(cls=Group, name="subject", epilog=exits.EPILOG)
def command() -> None:
    """Write the skeleton of a subject: the connection of your implementation to the suite."""


@command.command()
@click.option(
    "--language", required=True, type=Named("language", skeletons.LANGUAGES), help="The language of the subject."
)
@click.option(
    "--kind",
    type=Named("kind", skeletons.KINDS),
    default="reader",
    show_default=True,
    help="`reader`: it gets the bytes of a response. `base_url`: it gets an address, for its own client. `agent`: it "
    "also gets tools, and runs those that the model calls.",
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
def new(language: str, kind: str, folder: Path) -> None:
    """Write a subject that runs as it is into the new or empty folder DIR.

    The README in DIR has the next commands.

    \b
    Examples:
      toolparity subject new --language python my-gateway
      toolparity subject new --language rust --kind base_url parity/client
    """
    try:
        written = skeletons.write(folder, language, kind)
    except FileExistsError as error:
        raise click.BadParameter(f"{error}; choose another one", param_hint="DIR") from None
    for path in written:
        click.echo(str(path))
    chosen = skeletons.LANGUAGES[language]
    steps = [f"cd {quote(str(folder))}", chosen.build, f"toolparity smoke {chosen.subject}"]
    click.echo("next: " + " && ".join(filter(None, steps)), err=True)
