"""Agents that play a script with an emulated provider through its official SDK, and each have one defect.

A defect edits the body of one request (`Edit`) and returns whether it could: not every wire can carry every defect.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.audit.conversations.bodies import BODIES, ChatBody
from toolparity.audit.conversations import ConversationAudit, ConversationReport
from toolparity.audit.histories import Histories
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.recorder.script_driver import conversation
from toolparity.cassettes.recorder.sdks import Caller, Link
from toolparity.cassettes.scripts import OfferedTool, Round, Say, Script, ScriptedCall, ServerCall, Think
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Response, ServerToolCall

_WEATHER = OfferedTool(
    "get_weather", "Tomorrow's weather.", {"type": "object", "properties": {"city": {"type": "string"}}}
)


def _call(city: str, result: str) -> ScriptedCall:
    return ScriptedCall("get_weather", {"city": city}, result=result)


PARALLEL = Script(
    "conversation-parallel",
    "Three calls, then two, then an answer",
    [
        Round(
            [Say("Let me look."), _call("Lisbon", "dry"), _call("Porto", "rain"), _call("Faro", "sun")],
            "Where is it dry in Portugal?",
        ),
        Round([_call("Braga", "fog"), _call("Evora", "wind")]),
        Round([Say("In Lisbon and Faro.")]),
        Round([Say("You are welcome.")], "Thanks!"),
    ],
    [_WEATHER],
)
THINKING = Script(
    "conversation-thinking",
    "Reasoning that leads to two calls",
    [
        Round([Think("Two cities."), _call("Lisbon", "dry"), _call("Porto", "rain")], "Is it dry in the two cities?"),
        Round([Say("Only in Lisbon.")]),
    ],
    [_WEATHER],
)
SEARCHING = Script(
    "conversation-searching",
    "A search of the provider and a call",
    [
        Round([ServerCall("web_search", {"query": "Lisbon"}), _call("Lisbon", "dry")], "Search for the weather there."),
        Round([Say("Dry.")]),
    ],
    [_WEATHER],
    ["web_search"],
)
REPEATING = Script(
    "conversation-repeating",
    "The same call four times",
    [Round([_call("Atlantis", "unknown city")], "And in Atlantis?")]
    + [Round([_call("Atlantis", "unknown city")]) for _ in range(3)]
    + [Round([Say("I do not know.")])],
    [_WEATHER],
)
SCRIPTS = {script.id: script for script in (PARALLEL, THINKING, SEARCHING, REPEATING)}

#: A request body as sent, and the response.
Traffic = list[tuple[Any, Response]]
Edit = Callable[[ChatBody, Response], bool]


def drop(which: slice, *, call: bool = False, text: str = "") -> Edit:
    """Leave out results, with their calls or not. ``text``: what the user says instead."""

    def edit(body: ChatBody, response: Response) -> bool:
        if text:
            body.insert_user(text)
        for items, number in reversed(body.calls()[which] if call else []):
            del items[number]
        for items, number in reversed(body.results()[which]):
            del items[number]
        return True

    return edit


drop_call, drop_results = drop(slice(1, None), call=True), drop(slice(1, None))


def say(which: slice, text: str) -> Edit:
    """Send results with another text than the tool's."""
    texts = {call.result for round in PARALLEL.rounds for call in round.calls}

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: replaced(member) for name, member in value.items()}
        return [replaced(member) for member in value] if isinstance(value, list) else text if value in texts else value

    def edit(body: ChatBody, response: Response) -> bool:
        for results, number in body.results()[which]:
            if isinstance(results[number], dict):
                results[number] = replaced(results[number])
            else:
                results[number].content[0].text = text
        return True

    return edit


def repeat(which: slice, times: int = 1) -> Edit:
    """Send results again."""

    def edit(body: ChatBody, response: Response) -> bool:
        for results, number in reversed(body.results()[which]):
            for _ in range(times):
                results.insert(number, copy.deepcopy(results[number]))
        return True

    return edit


def use_ids(first: int, *ids: str) -> Edit:
    """Send results, from a position on, under these ids: ``{0}`` is that of the first call."""

    def edit(body: ChatBody, response: Response) -> bool:
        made = [body.call_id(call) for call in body.calls()] if "{" in "".join(ids) else []
        for result, id in zip(body.results()[first:], ids, strict=True):
            body.set_result_id(result, id.format(*made))
        return True

    return edit


use_other_id = use_ids(-1, "{0}")


def alter(which: slice) -> Edit:
    """Send calls back with other arguments."""

    def edit(body: ChatBody, response: Response) -> bool:
        for call in body.calls()[which]:
            body.set_arguments(call, "Madrid")
        return True

    return edit


alter_arguments = alter(slice(1))


def answer_server_call(body: ChatBody, response: Response) -> bool:
    """Send a result for a call that the provider ran."""
    served = [block.id for block in response.choices[0].blocks if isinstance(block, ServerToolCall)]
    results, number = body.results()[-1]
    results.insert(number + 1, copy.deepcopy(results[number]))
    body.set_result_id((results, number + 1), served[0])
    return True


def separate_results(body: ChatBody, response: Response) -> bool:
    """Send other content between calls and results."""
    body.insert_user("One moment.")
    return True


def lose_reasoning(body: ChatBody, response: Response) -> bool:
    """Send the calls back without the reasoning."""
    return body.drop_reasoning()


def rewrite_question(body: ChatBody, response: Response) -> bool:
    body.set_question("Where is it dry in Portugal? It is now 12:01.")
    return True


def change_tools(body: ChatBody, response: Response) -> bool:
    body.set_tool_description("The weather of the day after tomorrow.")
    return True


def change_nothing(body: ChatBody, response: Response) -> bool:
    return True


def replay(
    servers: Servers, surface: Surface, script: Script, *, stream: bool, edit: Edit = change_nothing, round: int = 1
) -> Traffic:
    """Play a script with one defect, which edits the request of a round and stays in the later ones.

    The provider is played once, without the defect. Return an empty list if the wire cannot carry the defect.
    """
    responses = iter(copy.deepcopy(_responses(servers, surface.name, script.id, stream)))
    return _played(lambda _: next(responses), surface, script, stream, edit, round)


@cache
def _responses(servers: Servers, surface: str, script: str, stream: bool) -> list[Response]:
    where = SURFACES[surface]
    with Caller(where, Link(servers.base(where), "any", secure=False), stream) as caller:
        played = _played(lambda body: caller.send(body).response, where, SCRIPTS[script], stream, change_nothing, 1)
        return [response for _, response in played]


def _played(
    send: Callable[[Any], Response], surface: Surface, script: Script, stream: bool, edit: Edit, round: int
) -> Traffic:
    traffic: Traffic = []
    kept: tuple[ChatBody, ChatBody] | None = None
    requests = conversation(script, surface, stream=stream)
    body = next(requests)
    while True:
        editor = BODIES[surface.wire](body)
        if kept is not None:
            editor.keep(*kept)
        if len(traffic) == round:
            kept = BODIES[surface.wire](body), editor
            if not edit(editor, traffic[-1][1]):
                return []
        response = send(editor.body)
        traffic.append((editor.body, response))
        try:
            body = requests.send(response)
        except StopIteration:
            return traffic


def audited(surface: Surface, *conversations: Traffic) -> ConversationReport:
    """Audit conversations that take turns, as in the log of a server."""
    audit, histories = ConversationAudit(), Histories()
    number = 0
    for turn in range(max(map(len, conversations))):
        for traffic in conversations:
            if turn < len(traffic):
                number += 1
                body, response = traffic[turn]
                audit.add(histories.record(f"log:{number}", surface.wire, body, response, provider=surface.provider))
    return audit.finish()


def surfaces(script: Script) -> list[str]:
    """Return the names of the surfaces that can play a script."""
    return [name for name, surface in SURFACES.items() if surface.plays(script)]
