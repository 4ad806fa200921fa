"""`toolparity subjects`: lists the subjects, and installs the libraries among them."""

from __future__ import annotations

import click

from ..subjects import SUBJECTS, installing
from ..subjects.peers import PEERS
from . import exits
from .names import Group, must_fit


@click.group(cls=Group, name="subjects", epilog=f"Exit codes: {exits.TABLE}")
def command() -> None:
    """The subjects that are shipped; install the libraries among them.

    Each library lives in an environment of its own in the user's cache folder, with pinned versions.
    """


@command.command(name="list")
def list_() -> None:
    """One line a subject: its name, whether it can be put to the suite, what of it is tested."""
    for name in SUBJECTS:
        click.echo(f"{name}\tshipped\t")
    for name, peer in PEERS.items():
        found = installing.installed(name)
        state = f"toolparity subjects install {name}" if found is None else f"installed, {found.version}"
        if installing.outdated(name):
            state += f" (other versions are pinned by now: toolparity subjects install {name})"
        click.echo(f"{name}\t{state}\t{peer.about}")


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def install(names: tuple[str, ...]) -> None:
    """Install libraries, anew where they are there. pip fetches them from where it is told to."""
    must_fit("library", names, PEERS, "NAME")
    for name in names:
        click.echo(f"installing {name} ...", err=True)
        click.echo(f"{name}\t{installing.install(name).version}")


@command.command()
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Remove a library's environment."""
    must_fit("library", [name], PEERS, "NAME")
    if not installing.remove(name):
        click.echo(f"{name} is not installed", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(f"removed: {name}")


@command.command()
@click.argument("name")
@click.pass_context
def path(ctx: click.Context, name: str) -> None:
    """Print where a library's environment is."""
    must_fit("library", [name], PEERS, "NAME")
    if installing.installed(name) is None:
        click.echo(f"{name} is not installed (toolparity subjects install {name})", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(str(installing.home() / name))
