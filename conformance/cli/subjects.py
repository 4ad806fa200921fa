"""`toolparity subjects`: lists the subjects, and installs the libraries among them."""

from __future__ import annotations

from collections.abc import Iterable

import click

from toolparity.cassettes.cli import exits
from toolparity.cassettes.cli.console import Steps
from toolparity.cassettes.cli.names import Group, must_fit

from ..errors import UnknownSubject
from ..subjects import SUBJECTS, environments, known_names
from ..subjects.peers import PEERS


def must_be_subjects(names: Iterable[str]) -> None:
    """Raise click.BadParameter for the first name that is neither known, nor a class, nor a program."""
    shipped = [name.partition("==")[0] for name in names if ":" not in name]
    others = "; your own class is my_module:Subject, your own program exec:'COMMAND'"
    must_fit("subject", shipped, known_names(), "SUBJECT", others)


@click.group(cls=Group, name="subjects", epilog=exits.EPILOG)
def command() -> None:
    """List the shipped subjects, and install the libraries among them.

    Each library is installed into a separate environment in the user's cache folder, with pinned versions, or at
    another version: NAME==VERSION.
    """


@command.command(name="list")
def list_() -> None:
    """List one line per subject: its name, whether it is installed, and which parts of it are tested."""
    for name in SUBJECTS:
        click.echo(f"{name}\tshipped\t")
    others = environments.other_versions()
    for name, peer in PEERS.items():
        installation = environments.installed(name)
        state = f"toolparity subjects install {name}" if installation is None else f"installed, {installation.version}"
        if environments.outdated(name):
            state += f" (outdated: toolparity subjects install {name})"
        click.echo(f"{name}\t{state}\t{peer.about}")
        for other in others:
            if other.partition("==")[0] == name:
                click.echo(f"{other}\tinstalled, not the pinned version\t{peer.about}")


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME[==VERSION]...")
def install(names: tuple[str, ...]) -> None:
    """Install libraries with pip or npm, replacing existing environments. The settings of pip and npm apply.

    Without a version, the pinned packages are installed, and their hashes are checked. With a version, that version is
    installed beside the pinned one, with the newest packages that fit it; check it by the same name.

    \b
    Examples:
      toolparity subjects install litellm
      toolparity subjects install litellm==1.100.0
      toolparity check litellm==1.100.0
    """
    _must_be_libraries(names)
    for name in names:
        with Steps(f"installing {name}") as steps:
            installation = environments.install(name, steps.report)
        click.echo(f"{name}\t{installation.version}")
        if environments.known(name).version:
            click.echo(f"{name}: the packages are not pinned, so their hashes were not checked", err=True)


@command.command()
@click.argument("name", metavar="NAME[==VERSION]")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Remove the environment of a library."""
    _must_be_libraries([name])
    if not environments.remove(name):
        click.echo(f"{name} is not installed", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(f"removed: {name}")


@command.command()
@click.argument("name", metavar="NAME[==VERSION]")
@click.pass_context
def path(ctx: click.Context, name: str) -> None:
    """Print the path of a library's environment."""
    _must_be_libraries([name])
    if environments.installed(name) is None:
        click.echo(f"{name} is not installed; install it with: toolparity subjects install {name}", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(str(environments.known(name).link))


def _must_be_libraries(names: tuple[str, ...] | list[str]) -> None:
    """Raise click.BadParameter for an unknown library or a malformed version."""
    must_fit("library", [name.partition("==")[0] for name in names], sorted(PEERS), "NAME")
    for name in names:
        try:
            environments.known(name)
        except UnknownSubject as error:
            raise click.BadParameter(str(error), param_hint="NAME") from None
