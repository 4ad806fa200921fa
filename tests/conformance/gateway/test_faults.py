"""A correct gateway keeps every law, and each gateway with a fault breaks the law that is about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import Client, address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.reports.results import Result, Run, Verdict

from . import gateways

SCENARIOS = ("single-call", "parallel-three", "two-rounds", "breaks-off-after-a-call", "server-error", "text-only")
CHAT, ANTHROPIC = "openai.chat", "anthropic.messages"
WIRES = (CHAT, "openai.responses", ANTHROPIC)


def run_against(gateway_at: Any, surface: str, wire: str, scenarios: Sequence[str], modes: Sequence[str] = ()) -> Run:
    """The run of the suite against a gateway whose clients use a wire. ``gateway_at``: from the upstream to its URL."""
    with upstream.running() as provider:
        assert provider.servers is not None
        with gateway_at(provider.servers) as url:
            gateway = run.Gateway("ours", "1", (address(url),), {wire: [Route(surface, SURFACES[surface].model)]})
            chosen = CaseFilter(scenarios=tuple(scenarios), modes=tuple(modes))
            return run.run(gateway, provider, chosen, expected=lambda name: [], unreleased=True)


def through(
    surface: str = "openai.chat", scenarios: Sequence[str] = SCENARIOS, modes: Sequence[str] = (), **faults: Any
) -> Run:
    """The run against a gateway on one wire."""
    wire = SURFACES[surface].wire
    return run_against(lambda servers: gateways.running(servers.http_url, **faults), surface, wire, scenarios, modes)


def translated(surface: str, scenarios: Sequence[str], modes: Sequence[str] = (), change: Any = None) -> Run:
    """The run against a gateway from `openai.chat` to another wire. It is correct without a change."""
    return run_against(
        lambda servers: gateways.translating(servers, surface, change), surface, "openai.chat", scenarios, modes
    )


def failures(ran: Run) -> Iterator[tuple[Result, Verdict]]:
    for result in ran.results:
        for verdict in result.verdicts:
            if verdict.outcome in ("fail", "error"):
                yield result, verdict


def broken(ran: Run) -> set[tuple[str, str]]:
    """The laws that a gateway breaks, with the effects."""
    return {(verdict.check, verdict.effect) for _, verdict in failures(ran)}


def assert_keeps(ran: Run, *laws: str) -> None:
    assert [(result.case, verdict.check, verdict.reason) for result, verdict in failures(ran)] == []
    kept = {verdict.check for result in ran.results for verdict in result.verdicts if verdict.outcome == "pass"}
    assert set(laws) <= kept


KEPT = ("conservation", "order", "arguments", "stop", "usage", "answered", "replay")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_a_gateway_that_passes_everything_on_keeps_every_law(wire: str) -> None:
    assert_keeps(through(wire), *KEPT, "any-split")


@pytest.mark.thorough
@pytest.mark.parametrize("surface", [name for name, surface in SURFACES.items() if not surface.by_messages])
def test_a_gateway_that_passes_everything_on_keeps_every_law_in_every_scenario(surface: str) -> None:
    assert_keeps(through(surface, scenarios=()))


def in_message(change: Any) -> gateways.Change:
    """A change of the list of calls in a plain reply of Chat Completions."""

    def changed(body: Any) -> Any:
        for choice in body.get("choices") or ():
            if calls := choice.get("message", {}).get("tool_calls"):
                choice["message"]["tool_calls"] = change(calls)
        return body

    return gateways.with_json(changed)


def without_results(body: Any) -> Any:
    return {**body, "messages": [message for message in body["messages"] if message["role"] != "tool"]}


def other_ids(body: Any) -> Any:
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            call["id"] = call["id"][::-1]
        if message["role"] == "tool":
            message["tool_call_id"] = message["tool_call_id"][::-1]
    return body


def complete_anyway(message: gateways.Message) -> gateways.Message:
    """Close a stream in order, however the upstream's stream ended."""
    if not message.body.startswith(b"data:") or b"[DONE]" in message.body:
        return message
    end = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
    return message._replace(body=message.body.rpartition(b"\n\n")[0] + b"\n\n" + end + b"\n\ndata: [DONE]\n\n")


def end_blocks_twice(message: gateways.Message) -> gateways.Message:
    """Repeat the event that ends a block of a stream."""
    events = message.body.split(b"\n\n")
    return message._replace(
        body=b"\n\n".join(event for each in events for event in [each] * (1 + (b"content_block_stop" in each)))
    )


def good_anyway(message: gateways.Message) -> gateways.Message:
    """Answer an error of the upstream with an empty good reply."""
    if message.status < 400:
        return message
    body = b'{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant"},"finish_reason":"stop"}]}'
    return message._replace(first=b"HTTP/1.1 200 OK", body=body)


def asked(change: Any) -> dict[str, Any]:
    """A gateway that changes the body of each question to a model."""

    def changed(body: Any) -> Any:
        return change(body) if isinstance(body, dict) and "messages" in body else body

    return {"request": gateways.with_json(changed)}


def without(*names: str) -> dict[str, Any]:
    """A gateway that drops members of each request."""
    return asked(lambda body: {name: value for name, value in body.items() if name not in names})


def with_one_tool(body: Any) -> Any:
    return {**body, "tools": body["tools"][:1]} if body.get("tools") else body


def with_system_prompt(body: Any) -> Any:
    return {**body, "messages": [{"role": "system", "content": "You are a pirate."}, *body["messages"]]}


def other_thinking(body: Any) -> Any:
    for block in body.get("content") or ():
        if block.get("type") == "thinking":
            block["thinking"] = "..."
    return body


def in_the_calls(message: gateways.Message) -> int | None:
    """The place where a gateway cuts a stream with calls."""
    place = message.body.rfind(b"tool_calls")
    return None if place < 0 or not message.body.startswith(b"data:") else place


def reply(change: Any) -> dict[str, Any]:
    """A gateway that changes the list of calls in each reply."""
    return {"reply": in_message(change)}


def changes(**directions: Any) -> dict[str, Any]:
    """A gateway that changes the JSON of each request or reply."""
    return {direction: gateways.with_json(change) for direction, change in directions.items()}


#: Surface, scenario and mode, the law that is broken, the effect, and the gateway. Each way of a gateway to break what
#: passes is here once: the laws themselves are tested with subjects.
FAULTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (CHAT, "parallel-three plain", "conservation", "lost", reply(lambda calls: calls[:1])),
    (CHAT, "parallel-three plain", "conservation", "duplicated", {"again": True}),
    (CHAT, "parallel-three plain", "order", "altered", reply(lambda calls: calls[::-1])),
    (CHAT, "parallel-three plain", "answered", "malformed", changes(request=without_results)),
    (CHAT, "breaks-off-after-a-call stream", "incomplete", "misreported", {"reply": complete_anyway}),
    (CHAT, "server-error plain", "incomplete", "misreported", {"reply": good_anyway}),
    (CHAT, "parallel-three stream", "incomplete", "misreported", {"cut": in_the_calls}),
    (CHAT, "parallel-three plain", "replay", "lost", changes(request=other_ids)),
    (CHAT, "parallel-three plain", "replay", "lost", without("tools")),
    (CHAT, "parallel-three plain", "replay", "lost", asked(with_one_tool)),
    (CHAT, "parallel-three plain", "replay", "altered", without("tool_choice")),
    (CHAT, "two-rounds plain", "replay", "lost", without("reasoning_effort")),
    (CHAT, "text-only plain", "replay", "lost", without("max_completion_tokens")),
    (CHAT, "text-only plain", "replay", "altered", asked(with_system_prompt)),
    (CHAT, "single-call stream", "usage", "misreported", without("stream_options")),
    (ANTHROPIC, "single-call plain", "replay", "lost", without("system")),
    (ANTHROPIC, "thinks-and-answers plain", "replay", "lost", without("thinking")),
    (ANTHROPIC, "two-signed-thoughts plain", "replay", "altered", changes(reply=other_thinking)),
    (ANTHROPIC, "single-call stream", "conservation", "duplicated", {"reply": end_blocks_twice}),
]


@pytest.mark.parametrize(("surface", "case", "law", "effect", "gateway"), FAULTS)
def test_a_gateway_with_a_fault_breaks_the_law_that_is_about_it(
    surface: str, case: str, law: str, effect: str, gateway: dict[str, Any]
) -> None:
    scenario, mode = case.split()
    assert (law, effect) in broken(through(surface, scenarios=(scenario,), modes=(mode,), **gateway))


def test_a_gateway_may_add_members_for_its_accounts_and_state_defaults() -> None:
    added = {"user": "gateway", "metadata": {"team": "a"}, "temperature": 1, "tool_choice": "auto", "stop": None}
    ran = through(scenarios=("single-call", "text-only"), modes=("plain",), **asked(lambda body: {**body, **added}))
    assert broken(ran) == set()


def test_the_bytes_before_a_reset_are_kept() -> None:
    with upstream.running() as provider:
        assert provider.servers is not None
        with gateways.running(provider.servers.http_url, cut=lambda reply: 20) as url:
            client = Client(address(url), {})
            reply = client.send("openai.chat", {"model": "m", "messages": []}, {})
            client.close()
    assert len(reply.body) == 20
    assert reply.broken


def test_an_empty_reply_is_a_loss_and_an_error_is_a_refusal() -> None:
    # Only replies with calls change, so that the check before a run finds a gateway that works.
    def with_calls(**members: bytes) -> Run:
        change: dict[str, Any] = {"reply": lambda one: one._replace(**members) if b"tool_calls" in one.body else one}
        return through(scenarios=("parallel-three",), modes=("plain",), **change)

    assert ("conservation", "lost") in broken(with_calls(body=b'{"choices":[]}'))
    error = b'{"error": {"message": "not supported", "type": "invalid_request_error"}}'
    refused = with_calls(first=b"HTTP/1.1 400 Bad Request", body=error)
    assert broken(refused) == {("conservation", "refused")}


def test_a_failed_case_names_the_wires_and_a_request_without_the_suite() -> None:
    ran = through(scenarios=("parallel-three",), modes=("plain",), **reply(lambda calls: calls[:1]))
    result, verdict = next(failures(ran))
    assert (result.subject, result.surface, verdict.check) == ("ours as openai.chat", "openai.chat", "conservation")
    assert result.direct.startswith("curl -sN http://127.0.0.1:")
    assert "/v1/chat/completions" in result.direct


#: Scenarios in which a correct gateway cannot return what the upstream sent as it came: long ids, calls of built-in
#: tools, a missing stop reason, and details of the token counts.
UNEQUAL = ("long-foreign-ids", "built-in-apply-patch", "invalid-finish-reason", "filtered-call", "figures-*")


#: Wires of the upstream of a gateway whose clients speak Chat Completions.
TRANSLATED = ("anthropic.messages", "xai.grpc", "openai.responses")


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("surface", TRANSLATED)
def test_a_correct_gateway_between_two_wires_keeps_every_law(surface: str) -> None:
    assert_keeps(translated(surface, (*SCENARIOS, *UNEQUAL)), *KEPT, "any-cut")


@pytest.mark.thorough
@pytest.mark.parametrize("surface", TRANSLATED)
def test_a_correct_gateway_between_two_wires_keeps_every_law_in_every_scenario(surface: str) -> None:
    """Each scenario goes to one of the wires: to which one hardly matters to a law."""
    assert_keeps(translated(surface, tuple(scenarios())[TRANSLATED.index(surface) :: len(TRANSLATED)]))


def without_system_prompt(body: Any) -> Any:
    return {**body, "messages": [message for message in body["messages"] if message["role"] != "system"]}


def with_cut_texts(body: Any) -> Any:
    """Keep the last words of the user's texts."""
    cut = [{**one, "content": one["content"][-30:]} if one["role"] == "user" else one for one in body["messages"]]
    return {**body, "messages": cut}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("surface", TRANSLATED)
def test_a_loss_on_the_way_to_another_wire_breaks_handoff(surface: str) -> None:
    for change, scenario in (
        (with_one_tool, "parallel-three"),
        (without_system_prompt, "single-call"),
        (with_cut_texts, "single-call"),
    ):
        assert ("handoff", "lost") in broken(translated(surface, (scenario,), ("plain",), change)), scenario
