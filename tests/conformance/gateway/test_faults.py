"""A correct gateway keeps every law, and each gateway with a fault breaks the law that is about it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.answer import parse_answer
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.gateway import known_bad, run, sdk_reading, upstream
from toolparity.conformance.gateway.client import Client, address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.known_bad import passing
from toolparity.conformance.gateway.known_bad.passing import Hooks
from toolparity.conformance.runner.judge import CaseFilter
from toolparity.conformance.subjects import SubjectExchange
from toolparity.normalizer.stream_form import check_stream
from toolparity.reports.results import Result, Run, Verdict

from . import gateways

CHAT, ANTHROPIC = "openai.chat", "anthropic.messages"
#: Wires of the upstream of a gateway whose clients speak Chat Completions.
TRANSLATED = ("anthropic.messages", "xai.grpc", "openai.responses")


def run_against(gateway_at: Any, surface: str, wire: str, scenarios: Sequence[str], modes: Sequence[str] = ()) -> Run:
    """The run of the suite against a gateway whose clients use a wire. ``gateway_at``: from the upstream to its URL."""
    with upstream.running() as provider:
        assert provider.servers is not None
        with gateway_at(provider.servers) as url:
            gateway = run.Gateway("ours", "1", (address(url),), {wire: [Route(surface, SURFACES[surface].model)]})
            chosen = CaseFilter(scenarios=tuple(scenarios), modes=tuple(modes))
            return run.run(gateway, provider, chosen, expected=lambda name: [], unreleased=True)


def through(*scenarios: str, modes: Sequence[str] = ("plain",), **faults: Any) -> Run:
    """The run against a gateway on Chat Completions."""
    return run_against(lambda servers: gateways.running(servers.http_url, **faults), CHAT, CHAT, scenarios, modes)


def failures(ran: Run) -> Iterator[tuple[Result, Verdict]]:
    for result in ran.results:
        for verdict in result.verdicts:
            if verdict.outcome in ("fail", "error"):
                yield result, verdict


def broken(ran: Run) -> set[tuple[str, str]]:
    """The laws that a gateway breaks, with the effects."""
    return {(verdict.check, verdict.effect) for _, verdict in failures(ran)}


@pytest.mark.thorough
@pytest.mark.parametrize("surface", [name for name, surface in SURFACES.items() if not surface.by_messages])
def test_a_gateway_that_passes_everything_on_keeps_every_law_in_every_scenario(surface: str) -> None:
    ran = run_against(partial(passing.running, gateways={"": Hooks()}), surface, SURFACES[surface].wire, ())
    assert [(result.case, verdict.check, verdict.reason) for result, verdict in failures(ran)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("surface", TRANSLATED)
def test_a_correct_gateway_between_two_wires_keeps_every_law_in_every_scenario(surface: str) -> None:
    """Each scenario goes to one of the wires: to which one hardly matters to a law."""
    some = tuple(scenarios())[TRANSLATED.index(surface) :: len(TRANSLATED)]
    ran = run_against(partial(passing.running, gateways={"": Hooks(upstream=surface)}), surface, CHAT, some)
    assert [(result.case, verdict.check, verdict.reason) for result, verdict in failures(ran)] == []


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], known_bad.Found]]:
    with known_bad.judging() as function:
        yield function


@pytest.mark.thorough(keep=24)
@pytest.mark.parametrize("name", known_bad.known_gateways())
def test_a_law_fails_each_faulty_gateway_and_no_correct_one(
    name: str, judged: Callable[[str], known_bad.Found]
) -> None:
    law, found = known_bad.known_gateways()[name].law, judged(name)
    assert law in found.by if law else found.by == {}, found


def test_the_form_of_a_stream_is_judged_with_what_the_sdk_makes_of_it(
    judged: Callable[[str], known_bad.Found], proves: Callable[[str], None]
) -> None:
    assert judged("block-stops-doubled").by["stream-form"]
    verdict = judged("block-stops-dropped").first
    assert verdict is not None
    assert (verdict.check, verdict.effect, verdict.got) == ("stream-form", "lost", "events[10]")
    assert "block 1 starts before content block 0 has ended; the stream helper of Anthropic's SDK" in verdict.reason
    proves("law stream-form")


def test_streams_with_repeated_or_missing_events_depart_from_the_grammar() -> None:
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for id, scenario in scenarios().items():
        for name in (name for name in scenario.surfaces if "stream" in scenario.modes(name)):
            reported = scenario.expected(name, 0, stream=True).findings
            if {"event-missing", "event-repeated"} & {*reported} and not SURFACES[name].by_messages:
                body = b"".join(responses(id, name, "stream")[0].pieces)
                found[bool(check_stream(body, SURFACES[name].wire))].add(id)
    assert len(found[True]) > 5
    assert found[False] == {"finish-told-twice"}, "a second message_delta is allowed"


#: Streams with content in unusual places, which the rules do not follow.
UNUSUAL = {"content-in-message-start", "data-over-several-lines", "odd-index", "same-index-new-id"}


@pytest.mark.parametrize("wire", sdk_reading.RULES)
def test_the_rule_for_a_missing_sdk_reads_streams_as_the_sdk_does(wire: str) -> None:
    sdk, surface = sdk_reading.reader(wire)[1], SURFACES[wire]
    assert sdk is not None
    different = []
    for id, scenario in itertools.islice(scenarios().items(), 0, None, 4):
        if wire not in scenario.surfaces or "stream" not in scenario.modes(wire):
            continue
        for number, response in enumerate(responses(id, wire, "stream")):
            if not sdk_reading.is_usual(scenario.expected(wire, number, stream=True)):
                continue
            exchange = SubjectExchange(
                wire=surface.wire, provider=surface.provider, stream=True, pieces=response.pieces
            )
            try:
                wanted = sdk_reading.calls(parse_answer(sdk(exchange)))
            except Exception:
                continue  # a stream that the SDK cannot read
            if wanted != sdk_reading.calls(parse_answer(sdk_reading.RULES[wire](exchange))):
                different.append(id)
    assert set(different) <= UNUSUAL


def in_message(change: Any) -> gateways.Change:
    """A change of the list of calls in a plain reply of Chat Completions."""

    def changed(body: Any) -> Any:
        for choice in body.get("choices") or ():
            if calls := choice.get("message", {}).get("tool_calls"):
                choice["message"]["tool_calls"] = change(calls)
        return body

    return gateways.with_json(changed)


def in_the_calls(message: gateways.Message) -> int | None:
    """The place where a gateway cuts a stream with calls."""
    place = message.body.rfind(b"tool_calls")
    return None if place < 0 or not message.body.startswith(b"data:") else place


def test_a_stream_whose_connection_is_reset_breaks_the_law_about_incomplete_replies() -> None:
    assert ("incomplete", "misreported") in broken(through("parallel-three", modes=("stream",), cut=in_the_calls))


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
        return through("parallel-three", **change)

    assert ("conservation", "lost") in broken(with_calls(body=b'{"choices":[]}'))
    error = b'{"error": {"message": "not supported", "type": "invalid_request_error"}}'
    refused = with_calls(first=b"HTTP/1.1 400 Bad Request", body=error)
    assert broken(refused) == {("conservation", "refused")}


def test_a_failed_case_names_the_wires_and_a_request_without_the_suite() -> None:
    ran = through("parallel-three", reply=in_message(lambda calls: calls[:1]))
    result, verdict = next(failures(ran))
    assert (result.subject, result.surface, verdict.check) == ("ours as openai.chat", "openai.chat", "conservation")
    assert result.direct.startswith("curl -sN http://127.0.0.1:")
    assert "/v1/chat/completions" in result.direct
