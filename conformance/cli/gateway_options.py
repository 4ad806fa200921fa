"""The options of `toolparity check` that test a gateway at a URL, or a known gateway by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolparity.cassettes.cli.names import must_fit
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.wires.registry import specs

from ..clients import AGENTS
from ..gateway import PORT

if TYPE_CHECKING:
    from .gateway_run import Settings


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--gateway",
        metavar="URL|NAME",
        help="Test the gateway at this URL, or start an installed one by its name.",
    ),
    click.option(
        "--client",
        "clients",
        multiple=True,
        metavar="WIRE,…",
        help="Wires that the gateway offers to its clients.  [default: openai.chat]",
    ),
    click.option(
        "--as",
        "agent",
        type=click.Choice(list(AGENTS)),
        help="Judge what this coding agent needs. It sets --client and --upstream, and --scenario selects needs.",
    ),
    click.option(
        "--upstream",
        "upstreams",
        multiple=True,
        metavar="SURFACE,…",
        help="Surfaces whose responses the gateway's provider sends.  [default: openai.chat]",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="SURFACE=NAME",
        help="The model name for which the gateway asks this upstream. * is replaced by a different word in each case.",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Add a header to every request for the gateway. Reports do not contain it.",
    ),
    click.option(
        "--listen",
        "port",
        type=click.IntRange(1, 65_534),
        metavar="PORT",
        help=f"The upstream's HTTP port on 127.0.0.1; the next port serves gRPC.  [default: {PORT}]",
    ),
)


def settings(gateway: str | None, given: dict[str, Any]) -> Settings | None:
    """Take the options of this module out of ``given``, and return what they select; None without --gateway.

    Raises click.UsageError for an invalid option.
    """
    clients, upstreams = _names(given.pop("clients")), _names(given.pop("upstreams"))
    models, headers, port = _pairs(given.pop("models"), "="), _pairs(given.pop("headers"), ":"), given.pop("port")
    agent = given.pop("agent") or ""
    if gateway is None:
        if clients or upstreams or models or headers or port or agent:
            raise click.UsageError("--as, --client, --upstream, --model, --header and --listen need --gateway")
        return None
    if agent and (clients or upstreams):
        raise click.UsageError("--as sets --client and --upstream: omit them")
    must_fit("wire", clients, [wire.name for wire in specs() if wire.framing == "bytes"], "--client")
    must_fit("surface", [*upstreams, *models], SURFACES, "--upstream")
    from .gateway_run import known_settings, settings_at_url  # servers and clients, which no other run needs

    if "://" not in gateway:
        if set(gateway) & set(".:/"):
            raise click.UsageError(f"--gateway {gateway}: write http:// or https:// before the host")
        if models or headers or port:
            raise click.UsageError("--model, --header and --listen are for a gateway at a URL, and not for a known one")
        return known_settings(gateway, clients, upstreams, agent)
    return settings_at_url(gateway, clients, upstreams, models, headers, port or PORT, agent)


def _names(listed: Sequence[str]) -> tuple[str, ...]:
    names = (name.strip() for text in listed for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _pairs(listed: Sequence[str], separator: str) -> dict[str, str]:
    pairs = {}
    for text in listed:
        name, found, value = text.partition(separator)
        if not found or not name.strip() or not value.strip():
            raise click.UsageError(f"an option has no value: write NAME{separator}VALUE")
        pairs[name.strip()] = value.strip()
    return pairs
