"""One conversation with an endpoint: the script gives the user's messages and the tool results, the model the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.recorder.script_driver import UNSCRIPTED_RESULT
from toolparity.cassettes.scripts import ScriptedCall
from toolparity.cassettes.stated import PLACES, state
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.answers import Outcome, answer
from toolparity.normalizer.conversation import (
    Encoded,
    Message,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.decoder import StreamDecoder, normalize
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Response, ToolCall
from toolparity.normalizer.output_format import output_format
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode.detect import report
from toolparity.normalizer.wires.model_owners import vendor_of
from toolparity.normalizer.wires.registry import spec, wire_name

from ..raw_client import Reply
from .address import wire_members
from .forms import FORMS
from .probes import Probe

#: Sends a body and returns the reply: the caller decides about addresses, retries and the budget.
Send = Callable[[Any], Reply]


class Asked(Struct, frozen=True):
    """One request and its reply. ``request``: in canonical form. ``body``: as it was sent.

    ``response``: the reply in canonical form; None if it is not a response of the wire, and ``problem`` says why.
    """

    request: Request
    body: Any
    reply: Reply
    response: Response | None
    problem: str = ""

    @property
    def answered(self) -> bool:
        """Whether the endpoint answered the request with a response."""
        return self.response is not None and self.response.error is None and self.reply.status < 400

    @property
    def with_results(self) -> bool:
        """Whether the request sends tool results."""
        return any(isinstance(message, ToolResults) for message in self.request.messages)

    @property
    def calls(self) -> list[ToolCall]:
        """The client calls of the response."""
        return [] if self.response is None else self.response.calls


def converse(
    probe: Probe, wire: str, model: str, send: Send, *, stream: bool, extra: dict[str, Any]
) -> Iterator[Asked]:
    """Play a probe and yield each request with its reply, until the model ends or does not answer.

    ``extra``: members that are added to each body.
    """
    request = first_request(probe, wire, model, stream=stream)
    remaining = list(probe.calls)
    later = [round.ask for round in probe.script.rounds[1:] if round.ask is not None]
    for _ in range(probe.most_requests):
        encoded = encode(request, probe)
        body = {**encoded.body, **extra}
        reply = send(body)
        response, problem = read_reply(reply, wire, body, stream=stream)
        asked = Asked(request, body, reply, None if response is None else encoded.restored(response), problem)
        yield asked
        if asked.response is None or asked.problem or not asked.answered or not asked.response.complete:
            return
        messages = _continued(asked.response, remaining, later)
        if messages is None:
            return
        request = replace(request, messages=[*request.messages, *messages])


def first_request(probe: Probe, wire: str, model: str, *, stream: bool) -> Request:
    """Return the first request of a probe."""
    script = probe.script
    messages: list[Message] = [System([TextPart(script.system)])] if script.system else []
    tools = [
        ToolDefinition(tool.name, tool.description, tool.parameters or None, tool.strict, tool.kind)
        for tool in script.tools
    ]
    return Request(
        wire,
        model,
        [*messages, User([TextPart(script.ask)])],
        tools,
        tool_choice=_choice(probe, wire),
        parallel=script.parallel,
        provider=_vendor(wire, model),
        params=dict(wire_members(wire, stream=stream)),
    )


def encode(request: Request, probe: Probe) -> Encoded:
    """Encode a request of a probe, with the settings that its script states."""
    encoded, stated, wire = write_request(request), probe.script.request, wire_name(request.wire)
    if stated is None:
        return encoded
    encoded = replace(encoded, body=state(encoded.body, replace(stated, format=None), wire, wire))
    form = None if stated.format is None else output_format(stated.format, wire, model=request.model)
    return encoded if form is None else form.applied(encoded)


def unstatable(probe: Probe, wire: str) -> str:
    """Return which setting of a probe a wire lacks, or ""."""
    if probe.allowed and (wire not in FORMS or FORMS[wire].allowed is None):
        return "the wire has no tool choice with several allowed tools"
    stated = probe.script.request
    lacking = () if stated is None else sorted(stated.settings.keys() - PLACES.get(wire, {}).keys())
    return f"the wire has no setting for {' and '.join(lacking)}" if lacking else ""


def _choice(probe: Probe, wire: str) -> ToolChoice | None:
    form = FORMS.get(wire)
    if not probe.allowed or form is None or form.allowed is None:
        return probe.choice
    return ToolChoice("raw", raw=form.allowed(probe.allowed))


def _vendor(wire: str, model: str) -> str | None:
    """Return the vendor of a model, if it serves the wire besides its owner: xAI refuses what OpenAI accepts."""
    vendor = vendor_of(model)
    serves = any((surface.provider, surface.wire) == (vendor, wire) for surface in SURFACES.values())
    return vendor if serves and vendor != spec(wire).owner else None


def read_reply(reply: Reply, wire: Any, request: Any, *, stream: bool) -> tuple[Response | None, str]:
    """Return a reply in canonical form, with findings about calls in its texts; else None and why it is not one."""
    if not reply.status:
        return None, reply.broken
    try:
        if stream and reply.status < 400:
            decoder = StreamDecoder(wire, request=request, status=reply.status, events=False)
            decoder.feed(reply.body)
            response = decoder.finish()
        else:
            response = normalize(reply.body, wire, request=request, status=reply.status)
    except ToolparityError as error:
        return None, error.what
    first = not response.choices or any(choice.index == 0 for choice in response.choices)
    return report(response), "" if first else "no choice has the index 0"


def _continued(response: Response, remaining: list[ScriptedCall], later: list[str]) -> list[Message] | None:
    """Return the messages that follow a response; None if it is over. What is used is removed from the lists."""
    selection = select(response)
    kept = {ref.id for ref in selection.kept}
    outcomes: dict[str, Outcome] = {call.id: _outcome(call, remaining) for call in response.calls if call.id in kept}
    messages = answer(response, selection, outcomes)
    if response.calls:
        return messages
    return [*messages, User([TextPart(later.pop(0))])] if later else None


def _outcome(call: ToolCall, remaining: list[ScriptedCall]) -> Outcome:
    """Return the result of the scripted call that is most like this one, and take it off the list."""
    same = [scripted for scripted in remaining if scripted.tool == call.name]
    match = next((scripted for scripted in same if scripted.arguments == call.arguments), next(iter(same), None))
    if match is None:
        return UNSCRIPTED_RESULT
    remaining.remove(match)
    if not match.failed:
        return match.result
    text = match.result if isinstance(match.result, str) else str(match.result)
    return ToolResult("", [TextPart(text)], is_error=True, name=match.tool)
