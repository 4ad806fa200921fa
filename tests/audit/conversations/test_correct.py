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

Exchange = tuple[Request, Response]
Exchanges = list[Exchange]


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


def with_messages(request: Request, change: Callable[[list[Message]], list[Message]]) -> Request:
    return replace(request, messages=change(request.messages))


def with_calls(response: Response, change: Callable[[ToolCall], ToolCall | None]) -> Response:
    """Return a response with other calls. ``change`` returns None for a call to leave out."""
    choice = response.choices[0]
    blocks = [change(b) if isinstance(b, ToolCall) else b for b in choice.blocks]
    return replace(response, choices=[replace(choice, blocks=[block for block in blocks if block is not None])])


def with_call_ids(message: Message, change: Callable[[str], str]) -> Message:
    if isinstance(message, ToolResults):
        return with_results(message, lambda results: [replace(r, call_id=change(r.call_id)) for r in results])
    if not isinstance(message, Assistant):
        return message
    renamed = with_calls(message.response, lambda call: replace(call, id=change(call.id), wire_id=None))
    return replace(message, response=renamed)


def with_results(message: Message, change: Callable[[list[ToolResult]], list[ToolResult]]) -> Message:
    return replace(message, results=change(message.results)) if isinstance(message, ToolResults) else message


def user(text: str) -> User:
    return User([TextPart(text)])


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
@pytest.mark.parametrize("name", surfaces(PARALLEL))
def test_conversations_that_take_turns_in_one_log_are_kept_apart(servers: Servers, name: str) -> None:
    surface = SURFACES[name]
    traffic = [
        replay(servers, surface, script, stream=False) for script in (PARALLEL, THINKING) if surface.plays(script)
    ]
    assert audited(surface, *traffic).findings == []


# Logs of correct agents, made of the four exchanges of the script: three calls, two calls, an answer, another answer.


def retried(log: Exchanges) -> Exchanges:
    """The second request is sent again, and has the same answer with other ids."""
    request, response = log[1]
    renamed = with_calls(response, lambda call: replace(call, id=f"{call.id}-2"))
    return [*log[:2], (request, replace(renamed, id=f"{response.id}-2")), *log[2:]]


def forked(log: Exchanges) -> Exchanges:
    request, response = log[3]
    return [*log, (with_messages(request, lambda messages: [*messages[:-1], user("And tomorrow?")]), response)]


def with_reversed_results(log: Exchanges) -> Exchanges:
    change = partial(with_results, change=lambda results: results[::-1])
    return [(with_messages(q, lambda messages: [*map(change, messages)]), r) for q, r in log]


def cancelled(log: Exchanges) -> Exchanges:
    request = with_messages(log[0][0], lambda messages: [*messages, user("Never mind, what about Spain?")])
    return [log[0], (request, log[2][1])]


def cancelled_with_its_text(log: Exchanges) -> Exchanges:
    kept = Assistant(with_calls(log[0][1], lambda call: None))
    request = with_messages(log[0][0], lambda messages: [*messages, kept, user("Never mind.")])
    return [log[0], (request, log[2][1])]


def compacted(log: Exchanges) -> Exchanges:
    summary = user("Summary: the user wants to know where it is dry.")
    return [*log[:2], (with_messages(log[2][0], lambda messages: [summary, *messages[-2:]]), log[2][1])]


def with_shortened_results(log: Exchanges) -> Exchanges:
    messages = log[2][0].messages
    first = next(n for n, message in enumerate(messages) if isinstance(message, ToolResults))
    cleared = with_results(messages[first], lambda results: [replace(r, parts=[TextPart("-")]) for r in results])
    edited = replace(log[2][0], messages=[*messages[:first], cleared, *messages[first + 1 :]])
    return [*log[:2], (edited, log[2][1])]


def handed_to_a_model(log: Exchanges) -> Exchanges:
    return [log[0], (replace(log[1][0], model="another-model"), log[1][1])]


def handed_to_an_agent(log: Exchanges) -> Exchanges:
    request, response = log[1]
    system = System([TextPart("You are polite.")])
    return [log[0], (replace(request, messages=[system, *request.messages], tools=[]), response)]


def without_the_second_exchange(log: Exchanges) -> Exchanges:
    return [log[0], *log[2:]]


def with_scrubbed_ids(log: Exchanges) -> Exchanges:
    change = partial(with_call_ids, change=lambda id: f"scrubbed-{len(id)}")
    return [(with_messages(q, lambda messages: [*map(change, messages)]), r) for q, r in log]


def with_redacted_arguments(log: Exchanges) -> Exchanges:
    arguments: dict[str, Any] = {"arguments": {"city": "[REDACTED]"}, "arguments_text": '{"city":"[REDACTED]"}'}

    def redacted(message: Message) -> Message:
        if not isinstance(message, Assistant):
            return message
        return replace(message, response=with_calls(message.response, lambda call: replace(call, **arguments)))

    return [(with_messages(q, lambda messages: [*map(redacted, messages)]), r) for q, r in log]


def stored(log: Exchanges) -> Exchanges:
    """The provider stores the history, and each request names the response before."""
    made = [log[0]]
    for (before, answered), (request, response) in pairwise(log):
        only_new = request.messages[len(before.messages) + 1 :]
        made.append((replace(request, messages=only_new, previous_response_id=answered.id), response))
    return made


def stored_without_results(log: Exchanges) -> Exchanges:
    request = replace(log[1][0], messages=[user("Are you there?")], previous_response_id=log[0][1].id)
    return [log[0], (request, log[3][1])]


def first_result_alone(message: Message) -> Message:
    return with_results(message, lambda results: results[:1])


def with_results_in_a_later_request(log: Exchanges) -> Exchanges:
    request, response = log[1]
    early = with_messages(request, lambda messages: [*messages[:-1], first_result_alone(messages[-1])])
    return [log[0], (early, response), (request, response)]


def with_results_in_a_later_round(log: Exchanges) -> Exchanges:
    results = log[1][0].messages[-1]
    assert isinstance(results, ToolResults)

    def postponed(messages: list[Message]) -> list[Message]:
        first = next(n for n, message in enumerate(messages) if isinstance(message, ToolResults))
        return [*messages[:first], first_result_alone(messages[first]), *messages[first + 1 :]]

    def with_late_results(messages: list[Message]) -> list[Message]:
        *before, last = postponed(messages)
        return [*before, with_results(last, lambda others: [*others, *results.results[1:]])]

    (first, second, third, _) = log
    return [
        first,
        (with_messages(second[0], postponed), second[1]),
        (with_messages(third[0], with_late_results), third[1]),
    ]


def with_added_call(log: Exchanges) -> Exchanges:
    request, response = log[1]
    *before, turn, results = request.messages
    assert isinstance(turn, Assistant)
    choice = turn.response.choices[0]
    added = ToolCall("added", "get_weather", {"city": "Beja"}, '{"city":"Beja"}')
    other = replace(turn.response, choices=[replace(choice, blocks=[*choice.blocks, added])])
    more = with_results(results, lambda others: [*others, ToolResult("added", [TextPart("mild")])])
    return [log[0], (replace(request, messages=[*before, Assistant(other), more]), response)]


#: Log -> members of its figures.
LOGS: dict[Callable[[Exchanges], Exchanges], dict[str, Any]] = {
    retried: {"recognized": {"retried": 1}, "answered": 5, "unjudged": {"not-continued": 2}},
    forked: {"recognized": {"forked": 1}, "answered": 5},
    with_reversed_results: {"answered": 5},
    cancelled: {"unjudged": {"not-continued": 3}},
    cancelled_with_its_text: {"unjudged": {"calls-removed": 3}},
    compacted: {"recognized": {"compacted": 1}, "answered": 5},
    with_shortened_results: {"recognized": {"context-edited": 1}},
    handed_to_a_model: {"recognized": {"hand-off": 1}},
    handed_to_an_agent: {"recognized": {"hand-off": 1}},
    without_the_second_exchange: {"answered": 3},
    with_scrubbed_ids: {"unjudged": {"ids-replaced": 5}},
    with_redacted_arguments: {"answered": 5},
    stored: {"linked": 3, "answered": 5},
    stored_without_results: {"unjudged": {"stored-history": 3}},
    with_results_in_a_later_request: {"answered": 3},
    with_results_in_a_later_round: {"answered": 5},
    with_added_call: {"answered": 3},
}
#: Responses of Ollama have no id, so no request can name the one before. Results of Gemini belong to the calls
#: directly before them.
LACKING: dict[Callable[[Exchanges], Exchanges], tuple[str, ...]] = {
    stored: ("ollama.chat", "google.gemini"),
    stored_without_results: ("ollama.chat", "google.gemini"),
    with_results_in_a_later_round: ("google.gemini",),
}


@pytest.mark.parametrize("change", LOGS, ids=lambda change: change.__name__)
def test_a_log_of_a_correct_agent_is_recognized(servers: Servers, change: Callable[[Exchanges], Exchanges]) -> None:
    for name in surfaces(PARALLEL):
        if name not in LACKING.get(change, ()):
            log = change(read(servers, name))
            figures = audit(log)
            audit(log[::-1])
            assert {member: getattr(figures, member) for member in LOGS[change]} == LOGS[change], name


def test_the_fingerprint_of_a_request_has_its_reasoning_settings_alone() -> None:
    def settings(**members: Any) -> int:
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}], **members}
        return record("log:1", "openai.chat", read_request(body, "openai.chat"), None).settings

    assert settings() == settings(temperature=0) == 0
    assert len({settings(), settings(reasoning_effort="low"), settings(reasoning_effort="high")}) == 3
    assert settings(reasoning_effort="low", temperature=0) == settings(reasoning_effort="low")


def test_values_that_mean_the_same_have_one_fingerprint() -> None:
    same = of_value({"a": [1, {"b": 2}], "c": 3})
    assert of_value({"c": 3.0, "a": [1.0, {"b": 2.0}]}) == same
    assert of_value({"c": 3.5, "a": [1, {"b": 2}]}) != same
    assert of_value(1.0) == of_value(1) != of_value("1")
