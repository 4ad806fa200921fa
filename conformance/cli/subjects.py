"""`toolparity subjects`: lists the subjects, and installs the libraries among them."""

from __future__ import annotations

import click

from ..subjects import SUBJECTS, environments
from ..subjects.peers import PEERS
from . import exits
from .names import Group, must_fit


@click.group(cls=Group, name="subjects", epilog=exits.EPILOG)
def command() -> None:
    """List the shipped subjects, and install the libraries among them.

    Each library is installed into a separate environment in the user's cache folder, with pinned versions.
    """


@command.command(name="list")
def list_() -> None:
    """List one line per subject: its name, whether it is installed, and which parts of it are tested."""
    for name in SUBJECTS:
        click.echo(f"{name}\tshipped\t")
    for name, peer in PEERS.items():
        installation = environments.installed(name)
        state = f"toolparity subjects install {name}" if installation is None else f"installed, {installation.version}"
        if environments.outdated(name):
            state += f" (outdated: toolparity subjects install {name})"
        click.echo(f"{name}\t{state}\t{peer.about}")


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def install(names: tuple[str, ...]) -> None:
    """Install libraries with pip, replacing existing environments. The settings of pip apply."""
    must_fit("library", names, PEERS, "NAME")
    for name in names:
        click.echo(f"installing {name} ...", err=True)
        click.echo(f"{name}\t{environments.install(name).version}")


@command.command()
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Remove the environment of a library."""
    must_fit("library", [name], PEERS, "NAME")
    if not environments.remove(name):
        click.echo(f"{name} is not installed", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(f"removed: {name}")


@command.command()
@click.argument("name")
@click.pass_context
def path(ctx: click.Context, name: str) -> None:
    """Print the path of a library's environment."""
    must_fit("library", [name], PEERS, "NAME")
    if environments.installed(name) is None:
        click.echo(f"{name} is not installed; install it with: toolparity subjects install {name}", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(str(environments.home() / name))
