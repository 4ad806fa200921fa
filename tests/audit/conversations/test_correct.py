"""A correct agent is never accused: what differs for a good reason is recognized, or counted as not judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.conversations.agents import PARALLEL, SCRIPTS, SEARCHING, THINKING, audited, replay, surfaces
from toolparity.audit.conversations import ConversationAudit, ConversationFigures, record
from toolparity.audit.conversations.fingerprints import of_value
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import (
    Assistant,
    Message,
    Request,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Response, ToolCall
from toolparity.normalizer.requests import read_request

Exchanges = list[tuple[Request, Response]]
_ON_EVERY_SURFACE = pytest.mark.parametrize("name", surfaces(PARALLEL))
#: Ollama's responses have no id, so no request can name the one before. Results of Gemini name no call.
_WITH_RESPONSE_IDS = pytest.mark.parametrize(
    "name", [name for name in surfaces(PARALLEL) if name not in ("ollama.chat", "google.gemini")]
)
#: Without ids, results of Gemini belong to the calls directly before them.
_WITH_RESULTS_IN_ANY_ROUND = pytest.mark.parametrize(
    "name", [name for name in surfaces(PARALLEL) if name != "google.gemini"]
)


def read(servers: Servers, name: str, script: Script = PARALLEL, stream: bool = False) -> Exchanges:
    surface = SURFACES[name]
    traffic = replay(servers, surface, script, stream=stream)
    return [(read_request(body, surface.wire, provider=surface.provider), response) for body, response in traffic]


def audit(exchanges: Exchanges) -> ConversationFigures:
    """Return the figures of an audit that must not have a finding, and whose calls are all counted once."""
    audit = ConversationAudit()
    for number, (request, response) in enumerate(exchanges, 1):
        audit.add(record(f"log:{number}", request.wire, request, response))
    report = audit.finish()
    assert report.findings == []
    (figures,) = report.wires.values()
    assert figures.calls == figures.answered + figures.accused + sum(figures.unjudged.values())
    repeated = figures.recognized.get("retried", 0) + figures.recognized.get("recorded-twice", 0)
    assert figures.exchanges == figures.first + figures.linked + repeated
    return figures


def again(response: Response) -> Response:
    """Return what the provider answers to the same request the next time: the same under other ids."""
    choice = response.choices[0]
    blocks = [replace(b, id=f"{b.id}-2") if isinstance(b, ToolCall) else b for b in choice.blocks]
    return replace(response, id=f"{response.id}-2", choices=[replace(choice, blocks=blocks)])


def with_messages(request: Request, change: Callable[[list[Message]], list[Message]]) -> Request:
    return replace(request, messages=change(request.messages))


def with_call_ids(message: Message, change: Callable[[str], str]) -> Message:
    if isinstance(message, ToolResults):
        return replace(message, results=[replace(r, call_id=change(r.call_id)) for r in message.results])
    if not isinstance(message, Assistant):
        return message
    choice = message.response.choices[0]
    blocks = [replace(b, id=change(b.id), wire_id=None) if isinstance(b, ToolCall) else b for b in choice.blocks]
    return replace(message, response=replace(message.response, choices=[replace(choice, blocks=blocks)]))


def with_results(message: Message, change: Callable[[ToolResult], ToolResult]) -> Message:
    return (
        replace(message, results=[change(r) for r in message.results]) if isinstance(message, ToolResults) else message
    )


@pytest.mark.thorough(keep=10)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("script", "name"), [(script.id, name) for script in (PARALLEL, SEARCHING, THINKING) for name in surfaces(script)]
)
def test_an_agent_that_answers_every_call_is_not_accused(
    servers: Servers, script: str, name: str, stream: bool
) -> None:
    figures = audit(read(servers, name, SCRIPTS[script], stream))
    assert figures.calls == figures.answered == sum(len(round.calls) for round in SCRIPTS[script].rounds)
    assert figures.linked == len(SCRIPTS[script].rounds) - 1


@pytest.mark.thorough(keep=4)
@_ON_EVERY_SURFACE
def test_conversations_that_take_turns_in_one_log_are_kept_apart(servers: Servers, name: str) -> None:
    surface = SURFACES[name]
    traffic = [
        replay(servers, surface, script, stream=False) for script in (PARALLEL, THINKING) if surface.plays(script)
    ]
    assert audited(surface, *traffic).findings == []


@_ON_EVERY_SURFACE
def test_a_request_that_is_sent_again_is_a_retry(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[1]
    figures = audit([exchanges[0], exchanges[1], (request, again(response)), *exchanges[2:]])
    assert figures.recognized == {"retried": 1}
    assert figures.calls - figures.answered == figures.unjudged["not-continued"] == 2


@_ON_EVERY_SURFACE
def test_a_response_with_two_continuations_is_a_fork(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[3]
    other = with_messages(request, lambda messages: [*messages[:-1], User([TextPart("And tomorrow?")])])
    figures = audit([*exchanges, (other, response)])
    assert figures.recognized == {"forked": 1}
    assert figures.answered == 5


@_ON_EVERY_SURFACE
def test_results_may_come_back_in_any_order(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)

    def reversed_results(messages: list[Message]) -> list[Message]:
        return [replace(m, results=m.results[::-1]) if isinstance(m, ToolResults) else m for m in messages]

    assert audit([(with_messages(q, reversed_results), r) for q, r in exchanges]).answered == 5


@_ON_EVERY_SURFACE
def test_a_cancelled_turn_is_not_judged(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    question = User([TextPart("Never mind, what about Spain?")])
    without_response = with_messages(exchanges[0][0], lambda messages: [*messages, question])
    figures = audit([exchanges[0], (without_response, exchanges[2][1])])
    assert figures.unjudged == {"not-continued": 3}


@_ON_EVERY_SURFACE
def test_a_cancelled_turn_that_keeps_the_text_is_not_judged(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    response = exchanges[0][1]
    choice = response.choices[0]
    kept = replace(choice, blocks=[block for block in choice.blocks if not isinstance(block, ToolCall)])
    turn = [Assistant(replace(response, choices=[kept])), User([TextPart("Never mind.")])]
    request = with_messages(exchanges[0][0], lambda messages: [*messages, *turn])
    figures = audit([exchanges[0], (request, exchanges[2][1])])
    assert figures.unjudged == {"calls-removed": 3}


@_ON_EVERY_SURFACE
def test_a_compacted_history_is_recognized(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)

    def compacted(messages: list[Message]) -> list[Message]:
        return [User([TextPart("Summary: the user wants to know where it is dry.")]), *messages[-2:]]

    request, response = exchanges[2]
    figures = audit([*exchanges[:2], (with_messages(request, compacted), response)])
    assert figures.recognized == {"compacted": 1}
    assert figures.answered == 5


@_ON_EVERY_SURFACE
def test_shortened_results_are_recognized(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[2]
    messages = request.messages
    first = next(n for n, message in enumerate(messages) if isinstance(message, ToolResults))
    cleared = with_results(messages[first], lambda result: replace(result, parts=[TextPart("-")]))
    edited = with_messages(request, lambda messages: [*messages[:first], cleared, *messages[first + 1 :]])
    figures = audit([*exchanges[:2], (edited, response)])
    assert figures.recognized == {"context-edited": 1}


@_ON_EVERY_SURFACE
@pytest.mark.parametrize("agent", [False, True])
def test_a_hand_off_is_recognized(servers: Servers, name: str, agent: bool) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[1]
    other = replace(request, model="another-model")
    if agent:
        other = replace(request, messages=[System([TextPart("You are polite.")]), *request.messages], tools=[])
    assert audit([exchanges[0], (other, response)]).recognized == {"hand-off": 1}


@_ON_EVERY_SURFACE
def test_a_missing_exchange_does_not_accuse(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    figures = audit([exchanges[0], *exchanges[2:]])
    assert figures.answered == 3


@_ON_EVERY_SURFACE
def test_other_ids_in_the_history_are_recognized(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    change = partial(with_call_ids, change=lambda id: f"scrubbed-{len(id)}")
    figures = audit([(with_messages(q, lambda messages: [*map(change, messages)]), r) for q, r in exchanges])
    assert figures.unjudged == {"ids-replaced": 5}


@_ON_EVERY_SURFACE
def test_redacted_arguments_are_not_altered_arguments(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)

    def redacted(message: Message) -> Message:
        if not isinstance(message, Assistant):
            return message
        choice = message.response.choices[0]
        arguments: dict[str, Any] = {"arguments": {"city": "[REDACTED]"}, "arguments_text": '{"city":"[REDACTED]"}'}
        blocks = [replace(b, **arguments) if isinstance(b, ToolCall) else b for b in choice.blocks]
        return replace(message, response=replace(message.response, choices=[replace(choice, blocks=blocks)]))

    figures = audit([(with_messages(q, lambda messages: [*map(redacted, messages)]), r) for q, r in exchanges])
    assert figures.answered == 5


@_WITH_RESPONSE_IDS
def test_a_history_that_the_provider_stores_is_followed_by_its_id(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    stored: Exchanges = [exchanges[0]]
    for (before, answered), (request, response) in pairwise(exchanges):
        only_new = request.messages[len(before.messages) + 1 :]
        stored.append((replace(request, messages=only_new, previous_response_id=answered.id), response))
    figures = audit(stored)
    assert (figures.linked, figures.answered) == (3, 5)


@_WITH_RESPONSE_IDS
def test_a_stored_history_without_results_is_not_judged(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request = exchanges[1][0]
    only_new = [User([TextPart("Are you there?")])]
    stored = replace(request, messages=only_new, previous_response_id=exchanges[0][1].id)
    assert audit([exchanges[0], (stored, exchanges[3][1])]).unjudged == {"stored-history": 3}


@_ON_EVERY_SURFACE
def test_a_result_in_a_later_request_revokes_the_finding(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[1]

    def first_alone(messages: list[Message]) -> list[Message]:
        last = messages[-1]
        assert isinstance(last, ToolResults)
        return [*messages[:-1], replace(last, results=last.results[:1])]

    assert audit([exchanges[0], (with_messages(request, first_alone), response), (request, response)]).answered == 3


@_WITH_RESULTS_IN_ANY_ROUND
def test_results_in_a_later_round_revoke_the_finding(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    late: list[ToolResult] = []

    def postponed(messages: list[Message]) -> list[Message]:
        first = next(n for n, message in enumerate(messages) if isinstance(message, ToolResults))
        results = messages[first]
        assert isinstance(results, ToolResults)
        late[:] = results.results[1:]
        return [*messages[:first], replace(results, results=results.results[:1]), *messages[first + 1 :]]

    def with_late_results(messages: list[Message]) -> list[Message]:
        *before, last = postponed(messages)
        assert isinstance(last, ToolResults)
        return [*before, replace(last, results=[*last.results, *late])]

    (first, second, third, _) = exchanges
    without = with_messages(second[0], postponed), second[1]
    figures = audit([first, without, (with_messages(third[0], with_late_results), third[1])])
    assert figures.answered == 5


@_ON_EVERY_SURFACE
def test_calls_that_the_application_adds_may_have_results(servers: Servers, name: str) -> None:
    exchanges = read(servers, name)
    request, response = exchanges[1]

    def with_added_call(messages: list[Message]) -> list[Message]:
        *before, turn, results = messages
        assert isinstance(turn, Assistant)
        assert isinstance(results, ToolResults)
        choice = turn.response.choices[0]
        added = ToolCall("added", "get_weather", {"city": "Beja"}, '{"city":"Beja"}')
        other = replace(turn.response, choices=[replace(choice, blocks=[*choice.blocks, added])])
        more = [*results.results, ToolResult("added", [TextPart("mild")])]
        return [*before, Assistant(other), replace(results, results=more)]

    assert audit([exchanges[0], (with_messages(request, with_added_call), response)]).answered == 3


def test_values_that_mean_the_same_have_one_fingerprint() -> None:
    same = of_value({"a": [1, {"b": 2}], "c": 3})
    assert of_value({"c": 3.0, "a": [1.0, {"b": 2.0}]}) == same
    assert of_value({"c": 3.5, "a": [1, {"b": 2}]}) != same
    assert of_value(1.0) == of_value(1) != of_value("1")
