"""The client side of a script: `conversation` yields its request bodies without I/O, `play` sends them.

Usage:

    requests = conversation(script, surface, stream=True)
    body = next(requests)                    # the first request
    body = requests.send(response)           # the next one, until StopIteration
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Protocol

from msgspec.structs import replace

from toolparity.normalizer.answers import Outcome, answer
from toolparity.normalizer.conversation import (
    Message,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    User,
)
from toolparity.normalizer.model import Response, Usage
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.model_rules import fit_model

from ..emulated.script_player import Play
from ..errors import RecordingFailed
from ..scripts import Round, Script, ScriptedCall
from ..stated import Stated, state
from ..surfaces import Surface
from .sdks import Caller, Link, Received, RequestSettings, sdk_module

#: The tool result for a call that the script does not contain.
UNSCRIPTED_RESULT = {"ok": True}

Conversation = Generator[Any, Response, None]


class Limits(Protocol):
    """What watches the requests of a recording (`toolparity.cassettes.recorder.budget.Budget`)."""

    def before(self, model: str, body: Any) -> None:
        """Called before each request; raises an error if it must not be sent."""

    def after(self, model: str, usage: Usage | None) -> None:
        """Called after each response."""


def conversation(script: Script, surface: Surface, *, stream: bool, model: str | None = None) -> Conversation:
    """Yield the request bodies in order; send in each response. Ends with the script, or when the model stops earlier.

    Raises RecordingFailed if the wire cannot represent the script.
    """
    request = opening(script, surface, stream=stream, model=model)
    for number, round in enumerate(script.rounds):
        encoded = write_request(request, surface.wire, provider=surface.provider)
        # Later, the model's output may rule out a setting, such as Anthropic's thinking after a round without it.
        lost = [loss for loss in encoded.losses if number == 0 or loss.code != "param"]
        if lost:
            losses = "; ".join(f"{loss.code}: {loss.message}" for loss in lost)
            raise RecordingFailed(f"the request cannot represent the whole script: {losses}", where=script.id)
        response = yield encoded.body
        following = script.rounds[number + 1] if number + 1 < len(script.rounds) else None
        messages = _next(response, round, following, encoded.names)
        if messages is None:
            return
        request = replace(request, messages=[*request.messages, *messages])


def play(
    script: Script,
    surface: Surface,
    link: Link,
    *,
    stream: bool,
    model: str | None = None,
    limits: Limits | None = None,
) -> Iterator[Received]:
    """Send the requests of a script through the SDK, and yield each response. ``limits``: may end it by an error."""
    requests = conversation(script, surface, stream=stream, model=model)
    with Caller(surface, link, stream) as caller:
        body = next(requests)
        while True:
            if limits is not None:
                limits.before(model or surface.model_of(script), body)
            received = caller.send(body)
            if limits is not None:
                limits.after(model or surface.model_of(script), received.response.usage)
            yield received
            try:
                body = requests.send(received.response)
            except StopIteration:
                return


def opening(script: Script, surface: Surface, *, stream: bool, model: str | None = None) -> Request:
    """Return the first request. ``model``: replaces the surface's default."""
    sdk = sdk_module(surface)
    messages: list[Message] = [System([TextPart(script.system)])] if script.system else []
    messages.append(User([TextPart(script.ask)]))
    tools = [
        ToolDefinition(
            tool.name,
            tool.description,
            tool.parameters or None,
            tool.strict,
            tool.kind,
            waiting_hint=tool.waiting_hint,
        )
        for tool in script.tools
    ]
    definitions = sdk.HOSTED.get(surface.provider, {})
    tools += [ToolDefinition(name, kind="hosted", wire=surface.wire, raw=definitions[name]) for name in script.hosted]
    stated = script.request or Stated()
    asked = {
        surface.spec.model_member: model or surface.model_of(script),
        **sdk.settings(RequestSettings(script, surface, stream)),
    }
    fit_model(asked, surface.wire, surface.provider, lambda *_: None)  # newer models of Claude have no thinking budget
    named = stated.tool_choice if stated.tool_choice != "required" else None
    choice = None if stated.tool_choice is None else ToolChoice("named" if named else "required", named)
    request = Request(
        surface.wire,
        asked.pop(surface.spec.model_member),
        messages,
        tools,
        choice,
        script.parallel,
        provider=surface.provider,
        params=asked,
    )
    return with_stated(request, stated, surface) if stated.settings else request


def with_stated(request: Request, stated: Stated, surface: Surface) -> Request:
    """Return a first request with what is stated. Raises RecordingFailed if the wire's writer would change that."""
    body = json_form(write_request(request, surface.wire, provider=surface.provider).body)
    body = state(body, stated, surface.name, surface.wire)
    request = read_request(body, surface.wire, provider=surface.provider)
    written = json_form(write_request(request, surface.wire, provider=surface.provider).body)
    if written != body:
        raise RecordingFailed(f"the writer of {surface.wire} changes what the request states: {body} -> {written}")
    return request


def json_form(body: Any) -> Any:
    """Return a body as JSON: a message in protobuf's JSON form."""
    if isinstance(body, dict):
        return body
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(body, preserving_proto_field_name=True)


def opened(script: Script, surface: Surface, *, stream: bool) -> Play:
    """Return the provider's answer to the first request. No rule of the provider refuses it, whatever is scripted."""
    request = opening(script, surface, stream=stream)
    return Play(
        surface,
        script,
        0,
        script.rounds[0],
        request,
        write_request(request, surface.wire, provider=surface.provider).body,
    )


def _next(response: Response, round: Round, following: Round | None, names: dict[str, str]) -> list[Message] | None:
    """Return the messages that follow a response; None if the conversation is over."""
    if following is None or response.error is not None or not response.complete or not response.choices:
        return None
    selection = select(response)
    messages = answer(response, selection, _outcomes(response, {ref.id for ref in selection.kept}, round, names))
    if response.calls or response.choices[0].stop.reason == "pause":
        return messages
    return [*messages, User([TextPart(following.ask)])] if following.ask is not None else None


def _outcomes(response: Response, kept: set[str], round: Round, names: dict[str, str]) -> dict[str, Outcome]:
    """Return the tool results: each call gets the result of the script's next call of that tool."""
    remaining = list(round.calls)
    outcomes: dict[str, Outcome] = {}
    for call in response.calls:
        name = names.get(call.name, call.name)
        match = next((call_scripted for call_scripted in remaining if call_scripted.tool == name), None)
        if match is not None:
            remaining.remove(match)
        if call.id in kept:
            outcomes[call.id] = UNSCRIPTED_RESULT if match is None else _returned(match)
    return outcomes


def _returned(call: ScriptedCall) -> Outcome:
    if not call.failed:
        return call.result
    text = call.result if isinstance(call.result, str) else str(call.result)
    return ToolResult("", [TextPart(text)], is_error=True, name=call.tool)
