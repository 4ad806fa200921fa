"""`toolparity gateway`: installs the known gateways and shows how they are configured."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from toolparity.cassettes.cli import exits
from toolparity.cassettes.cli.console import Steps
from toolparity.cassettes.cli.names import Group, must_fit

from ..gateway import PORT
from ..gateway.errors import GatewayFailed
from ..gateway.known import ALIASES, KNOWN, installation, known_gateway
from ..gateway.known.form import KnownGateway


@click.group(cls=Group, name="gateway", epilog=exits.EPILOG)
def command() -> None:
    """List, install and configure the gateways that `toolparity check --gateway NAME` starts.

    Each gateway is installed into a separate folder of the user's cache.
    """


@command.command(name="list")
def list_() -> None:
    """List one line per gateway: its name, its version, whether it is installed, and its client wires."""
    for name in KNOWN:
        gateway = known_gateway(name)
        state = "installed" if installation.installed(gateway) == gateway.version else "not installed"
        wires = ", ".join(gateway.routes(""))
        click.echo(f"{name}\t{gateway.version}\t{state}\t{wires}\t{gateway.about}")


@command.command()
@click.argument("name")
def install(name: str) -> None:
    """Install a gateway with pip or npm, replacing another version. Their settings apply."""
    gateway = _known(name)
    if installation.installed(gateway) == gateway.version:  # it may be running
        click.echo(f"{gateway.name} {gateway.version} is installed; to install it anew, remove it first", err=True)
        click.echo(f"{gateway.name}\t{gateway.version}\t{installation.folder_of(gateway)}")
        return
    try:
        with Steps(f"installing {gateway.requirement}") as steps:
            folder = installation.install(gateway, steps.report)
    except GatewayFailed as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{gateway.name}\t{gateway.version}\t{folder}")


@command.command()
@click.argument("name")
@click.option(
    "--upstream",
    default=f"http://127.0.0.1:{PORT}",
    show_default=True,
    metavar="URL",
    help="The address of the upstream.",
)
def config(name: str, upstream: str) -> None:
    """Print the configuration file of a gateway, the command that starts it, and the models and headers of upstreams.

    The lines that do not belong to the file are comments of it. The command expects the file in this folder.
    """
    gateway = _known(name)
    file, text = gateway.configuration(upstream) or ("configuration", "")
    comment = "#" if not file.endswith("js") else "//"
    click.echo(f"{comment} {file}\n{text}", nl=False)
    variables = [f"{name}={value}" for name, value in gateway.environment.items()]
    command = gateway.command(Path(), Path.cwd() / file, 4000)
    program = Path(command[0]).name  # that of the environment in which the gateway is installed
    click.echo(f"{comment} start: {shlex.join(['env', *variables, program, *command[1:]])}")
    for client, routes in gateway.routes(upstream).items():
        for route in routes:
            headers = "".join(f" {name}: {value}" for name, value in route.headers.items())
            click.echo(f"{comment} client {client}, upstream {route.upstream}: model {route.model}{headers}")


@command.command()
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Remove an installed gateway."""
    gateway = _known(name)
    if not installation.remove(gateway):
        click.echo(f"{gateway.name} is not installed", err=True)
        ctx.exit(exits.NOTHING_RAN)
    click.echo(f"removed: {gateway.name}")


def _known(name: str) -> KnownGateway:
    must_fit("gateway", [name], [*KNOWN, *ALIASES], "NAME")
    return known_gateway(name)
