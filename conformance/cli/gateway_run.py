"""What `toolparity check --gateway` selects, and its run."""

from __future__ import annotations

import os
from shlex import quote
from typing import Any

import click
from msgspec import Struct

from toolparity.cassettes.cli.names import must_fit
from toolparity.cassettes.emulated.servers import LOOPBACK
from toolparity.cassettes.stated import OTHER_MODELS
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cassettes.workers import cores
from toolparity.reports import results

from ..clients.play import run as run_agent
from ..clients.table import coding_agent
from ..gateway import PORT
from ..gateway.client import Address, address
from ..gateway.conversation import Route
from ..gateway.errors import GatewayFailed
from ..gateway.known import ALIASES, KNOWN, known_gateway, process
from ..gateway.known.form import KnownGateway
from ..gateway.run import JOBS, Gateway
from ..gateway.run import run as run_gateway
from ..gateway.upstream import Upstream, running
from ..runner.judge import CaseFilter

#: The environment variable with the key that the gateway requires of its clients.
KEY = "TOOLPARITY_GATEWAY_KEY"


class Settings(Struct, frozen=True):
    """What the options select: a known gateway, or the address of another one. Empty names select everything.

    ``called``: the options, quoted for a shell, without credentials. ``agent``: the coding agent whose needs are
    judged, or "".
    """

    known: KnownGateway | None
    target: Address | None
    clients: tuple[str, ...]
    upstreams: tuple[str, ...]
    models: dict[str, str]
    headers: dict[str, str]
    port: int
    called: str
    agent: str = ""

    @property
    def name(self) -> str:
        if self.known is not None:
            return self.known.name
        assert self.target is not None
        return self.target.parts.netloc

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(f"{self.name} as {client}" for client in ([self.agent] if self.agent else self.clients))


def settings_at_url(
    url: str,
    clients: tuple[str, ...],
    upstreams: tuple[str, ...],
    models: dict[str, str],
    headers: dict[str, str],
    port: int,
    agent: str = "",
) -> Settings:
    """Return the settings for a gateway at a URL. Raises click.UsageError for an invalid URL."""
    if key := os.environ.get(KEY):
        headers = {"authorization": f"Bearer {key}", "x-api-key": key, **headers}
    try:
        target = address(url)
    except GatewayFailed as error:
        raise click.UsageError(str(error)) from None
    surface = coding_agent(agent).surface if agent else "openai.chat"
    if agent and not models.keys() <= {surface}:
        raise click.UsageError(f"--as {agent} needs the model of {surface} only: --model {surface}=NAME")
    chosen = (surface,) if agent else upstreams or tuple(models) or (surface,)
    called = f"--gateway {quote(target.url)}" + (f" --upstream {quote(','.join(chosen))}" if not agent else "")
    called += "".join(f" --model {quote(f'{surface}={name}')}" for surface, name in models.items())
    called += f" --listen {port}" if port != PORT else ""
    clients = (SURFACES[surface].wire,) if agent else clients or ("openai.chat",)
    return Settings(None, target, clients, chosen, models, headers, port, called, agent)


def known_settings(name: str, clients: tuple[str, ...], upstreams: tuple[str, ...], agent: str = "") -> Settings:
    """Return the settings for a gateway of `KNOWN`. Raises click.UsageError for another name."""
    must_fit("gateway", [name], [*KNOWN, *ALIASES], "--gateway")
    known = known_gateway(name)
    offered = tuple(known.routes(""))
    must_fit("client wire of this gateway", clients, offered, "--client")
    called = f"--gateway {known.name}" + (f" --upstream {quote(','.join(upstreams))}" if upstreams else "")
    if agent:
        table = coding_agent(agent)
        known = known.with_model(SURFACES[table.surface].model, table.model)
        clients, upstreams = (table.wire,), (table.surface,)
    return Settings(known, None, clients or offered, upstreams, {}, {}, 0, called, agent)


def run(settings: Settings, case_filter: CaseFilter, *, jobs: int, **run_options: Any) -> results.Run:
    """Run the cases through the gateway. Raises click.UsageError if the gateway or its configuration fails."""
    try:
        if settings.known is not None:
            return _run_known(settings, settings.known, case_filter, jobs, run_options)
        return _run_at_url(settings, case_filter, jobs, run_options)
    except GatewayFailed as error:
        raise click.UsageError(str(error)) from None


def _run_at_url(settings: Settings, case_filter: CaseFilter, jobs: int, run_options: dict[str, Any]) -> results.Run:
    assert settings.target is not None
    routes = []
    for name in settings.upstreams:
        own = coding_agent(settings.agent).model if settings.agent else SURFACES[name].model
        model, other = own, OTHER_MODELS.get(SURFACES[name].provider, ("", ""))[1]
        given = settings.models.get(name)
        routes.append(Route(name, given or model, other=given or other))
    with running(LOOPBACK, settings.port) as upstream:
        gateway = Gateway(
            settings.name,
            "",
            (settings.target,),
            dict.fromkeys(settings.clients, routes),
            settings.headers,
            settings.called,
        )
        return _run(settings, gateway, upstream, case_filter, jobs or JOBS, run_options)


def _run(
    settings: Settings,
    gateway: Gateway,
    upstream: Upstream,
    case_filter: CaseFilter,
    jobs: int,
    run_options: dict[str, Any],
) -> results.Run:
    """Run the cases, or judge the needs of the agent."""
    if not settings.agent:
        return run_gateway(gateway, upstream, case_filter, jobs=jobs, **run_options)
    agent = coding_agent(settings.agent)
    known = {name: run_options[name] for name in ("expected", "left_out")}
    return run_agent(gateway, upstream, agent, case_filter.scenarios, **known)


def _run_known(
    settings: Settings, known: KnownGateway, case_filter: CaseFilter, jobs: int, run_options: dict[str, Any]
) -> results.Run:
    """Start one process of the gateway for each core, and run."""
    jobs = jobs or JOBS
    with running(LOOPBACK) as upstream:
        assert upstream.servers is not None
        http = upstream.servers.http_url
        routes = {
            client: [route for route in routes if not settings.upstreams or route.upstream in settings.upstreams]
            for client, routes in known.routes(http).items()
            if client in settings.clients
        }
        routes = {client: chosen for client, chosen in routes.items() if chosen}
        if not routes:
            raise GatewayFailed(f"{known.name} reaches none of these upstreams: {', '.join(settings.upstreams)}")
        with process.running(known, http, min(jobs, cores())) as urls:
            addresses = tuple(address(url) for url in urls)
            gateway = Gateway(known.name, known.version, addresses, routes, {}, settings.called)
            return _run(settings, gateway, upstream, case_filter, jobs, run_options)
