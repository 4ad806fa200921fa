"""Known-bad gateways: a correct one with one fault each, and correct ones that are unusual and must pass.

`judging` runs each of them through the judge of gateways, in the cases in which its fault shows. To add one, add a
function with the decorator `gateway` to `faulty` or `unusual`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from msgspec.structs import replace

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.model import Wire
from toolparity.reports.results import Kill, Run, Verdict

from ...runner.judge import CaseFilter
from ...runner.suite import law_reports
from .. import upstream
from ..client import Client, address
from ..conversation import Route
from ..holding import PATIENCE
from ..judge import GatewayJudge, GatewaySubject
from .passing import Asked, Event, Hooks, Reply, running

#: A function that changes something in place, and returns False to drop an event.
Change = Callable[..., Any]
CHAT: Wire = "openai.chat"
RESPONSES, MESSAGES = "openai.responses", "anthropic.messages"
#: Seconds that the upstream waits for a gateway that buffers.
_PATIENCE = 1.0


class KnownGateway(NamedTuple):
    """``law``: the law that must fail it, or "" for a correct gateway. ``cases``: scenarios and modes for the run.

    ``client``: the wire of the client.
    """

    name: str
    law: str
    sentence: str
    client: str
    cases: CaseFilter
    hooks: Hooks


#: Name -> gateway, in the order of definition.
_GATEWAYS: dict[str, KnownGateway] = {}


def known_gateways() -> dict[str, KnownGateway]:
    """Return all gateways by name."""
    for module in ("faulty", "form", "stated", "unusual"):
        import_module(f".{module}", __name__)
    return _GATEWAYS


def gateway(law: str, cases: str, changes: str, *at: str, **more: Any) -> Callable[[Change], Change]:
    """Register the decorated function with its name and the first line of its docstring (see `add`)."""

    def register(change: Change) -> Change:
        sentence = (change.__doc__ or "").partition("\n")[0]
        add(change.__name__.strip("_").replace("_", "-"), sentence, law, cases, changes, change, *at, **more)
        return change

    return register


def add(
    name: str,
    sentence: str,
    law: str,
    cases: str,
    changes: str,
    change: Change,
    client: str = CHAT,
    upstream: str = "",
    **hooks: Any,
) -> None:
    """Register a gateway.

    ``cases``: "SCENARIO… MODE", where the mode may be "both". ``changes``: what the function changes: the "events" of a
    stream, its data "event" by "event", the "body" of a plain reply, the whole "reply", or the "request".
    ``upstream`` and ``hooks``: further members of `Hooks`.
    """
    *scenarios, mode = cases.split()
    filtered = CaseFilter(scenarios=(*scenarios,), modes=() if mode == "both" else (mode,), policies=("all",))
    assert name not in _GATEWAYS, name
    made = Hooks(upstream=upstream, **_hook(changes, change), **hooks)
    _GATEWAYS[name] = KnownGateway(name, law, sentence, client, filtered, made)


def _hook(changes: str, function: Change) -> dict[str, Any]:
    def of_events(reply: Reply, asked: Asked) -> None:
        if reply.streamed:
            reply.change_events(function)

    def kept(event: Event) -> bool:
        is_whole = isinstance(event.data, dict) or event.data == "[DONE]"  # and not the beginning of one
        return not is_whole or function(event.data) is not False

    def of_each(reply: Reply, asked: Asked) -> None:
        if reply.streamed:
            reply.change_events(lambda events: filter(kept, events))

    def of_body(reply: Reply, asked: Asked) -> None:
        if not reply.streamed and reply.status < 400:
            body = reply.as_json()
            function(body)
            reply.parts = [json.dumps(body).encode()]

    replies = {"events": of_events, "event": of_each, "body": of_body, "reply": function}
    return {"request": function} if changes == "request" else {"reply": replies[changes]}


class Found(NamedTuple):
    """The failures of a gateway: how many verdicts each law has, and the first verdict."""

    by: Counter[str]
    first: Verdict | None


@contextmanager
def judging() -> Iterator[Callable[[str], Found]]:
    """Yield a function that judges the gateway with a name, while the block runs."""
    hooks = {name: gateway.hooks for name, gateway in known_gateways().items()}
    with upstream.running() as provider:
        assert provider.servers is not None
        with running(provider.servers, hooks) as url:
            yield lambda name: _judged(_GATEWAYS[name], f"{url}/{name}", provider)


def with_kills(run: Run, on_progress: Callable[[int], None] = lambda gateways: None) -> Run:
    """Return the kill matrix with the faulty gateways. ``on_progress`` is called with 1 for each of them."""
    kills = []
    with judging() as judged:
        for gateway in known_gateways().values():
            if gateway.law:
                found = judged(gateway.name)
                kills.append(Kill(f"gateway/{gateway.name}", gateway.law, gateway.sentence, dict(found.by)))
                on_progress(1)
    laws = law_reports({kill.law for kill in kills})
    return replace(run, laws=laws, kills=[*run.kills, *kills])


def _judged(gateway: KnownGateway, url: str, provider: upstream.Upstream) -> Found:
    surface = SURFACES[gateway.hooks.upstream or gateway.client]
    client = Client(address(url), {})
    route = Route(surface.name, surface.model, other=surface.model)
    judge = GatewayJudge(GatewaySubject(gateway.name, "1", gateway.client, [route]), client, provider, twice=False)
    provider.patience = _PATIENCE if gateway.law else PATIENCE
    results = [judge.result(case) for case in gateway.cases.cases() if case.surface == surface.name]
    judge.close()
    failed = [verdict for one in results for verdict in one.verdicts if verdict.outcome in ("fail", "error")]
    return Found(Counter(verdict.check for verdict in failed), failed[0] if failed else None)
