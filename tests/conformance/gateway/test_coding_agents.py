"""What coding agents need: a faithful relay has it all, and a relay with one fault misses what the fault is about."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import Any

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.clients import AGENTS
from toolparity.conformance.clients.play import run
from toolparity.conformance.clients.table import coding_agent
from toolparity.conformance.gateway import upstream
from toolparity.conformance.gateway.client import address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.known_bad import form
from toolparity.conformance.gateway.known_bad.passing import Asked, Hooks, Reply, running
from toolparity.conformance.gateway.run import Gateway


def removed(value: Any, name: str, *rest: str) -> None:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            removed(one.get(name), *rest) if rest else one.pop(name, None)


def without(*path: str) -> Hooks:
    return Hooks(lambda asked: removed(asked.body, *path))


def streams(change: Any, what: str) -> Hooks:
    return Hooks(reply=lambda reply, asked: reply.change_events(partial(change, what)) if reply.streamed else None)


def reword(reply: Reply, asked: Asked) -> None:
    if reply.status >= 400:
        reply.become(b'{"error": {"message": "no"}}', status=reply.status)


def other_form(asked: Asked) -> None:
    """Change the form of a request, and not its meaning."""
    body = asked.body or {}
    if "system" in body:
        body["system"].append({"type": "text", "text": "Be kind."})
    for item in (*body.get("input", ()), *(block for one in body.get("messages", ()) for block in one["content"])):
        if "arguments" in item:
            item["arguments"] = item["arguments"].replace(":", " : ")
        if "is_error" in item and not item["is_error"]:
            del item["is_error"]


def other_lines(reply: Reply, asked: Asked) -> None:
    """Send an event in two lines, one without a name at the end, and errors as packed text."""
    if reply.streamed:
        parts = (part.replace(b"data: {", b"data: {\ndata: ") for part in reply.parts)
        reply.parts = (part for some in (parts, [b"data: [DONE]\n\n"]) for part in some)
    elif reply.status >= 400:
        error = json.dumps({"detail": reply.as_json()["error"]["message"]}).encode()
        reply.become(gzip.compress(error), status=reply.status)
        reply.headers["content-encoding"] = "gzip"


#: The agent, what a relay does, and the needs that it misses.
FAULTS: list[tuple[str, Hooks, set[str]]] = [
    *((agent, hooks, set()) for agent in AGENTS for hooks in (Hooks(), Hooks(other_form, other_lines))),
    ("claude-code", Hooks(lambda asked: removed(asked.headers, "anthropic-beta")), {"betas", "later-betas"}),
    ("claude-code", without("messages", "content", "signature"), {"signed-history"}),
    ("claude-code", streams(form._double, "content_block_stop"), {"block-ends"}),
    ("claude-code", Hooks(reply=reword), {"refusal", "too-long"}),
    ("codex", without("tools", "tools"), {"namespaces"}),
    ("codex", streams(form._double, "response.output_item.done"), {"item-ends"}),
]


def test_a_relay_misses_exactly_the_needs_that_its_fault_is_about() -> None:
    with upstream.running() as provider:
        assert provider.servers is not None
        for name, hooks, needs in FAULTS:
            agent = coding_agent(name)
            with running(provider.servers, {"": hooks}) as url:
                routes = {agent.wire: [Route(agent.surface, SURFACES[agent.surface].model)]}
                ran = run(Gateway("relay", "1", (address(url),), routes), provider, agent, expected=lambda name: [])
            assert len(ran.results) == len(agent.needs)
            assert {one.scenario for one in ran.results if one.verdicts[0].outcome != "pass"} == needs
