"""The request that begins a turn, with the fields that the provider's wire requires, and the input that resumes one."""

from __future__ import annotations

from msgspec.structs import replace

from ..conversation import Message, Request, System, TextPart, User
from ..requests import read_request, write_request
from ..wires.registry import wire_name
from .execution.tools import Tools
from .machine.inputs import Resume
from .machine.state import TurnState
from .provider import Provider

#: Text for the system prompt about rounds. Without it, a model may call tools only once.
GUIDANCE = (
    "You can make several tool calls, at once and one after the other, to gather what you need: after you have seen "
    "the results of a round you can call again in the next one, in up to {rounds} rounds. Then answer."
)


def first_request(message: str | Request, provider: Provider, tools: Tools) -> Request:
    """Return the first request of a turn, with the tools declared. Tools of the request itself win over equal names.

    A request of another wire is not converted here, because the request writer does that. The model is the one of the
    request if it has the provider's wire, else the provider's.
    """
    request = opening(message, provider) if isinstance(message, str) else message
    names = {tool.name for tool in request.tools}
    declared = [*request.tools, *(tool for tool in tools.declared() if tool.name not in names)]
    model = request.model if request.wire == provider.wire else None
    return replace(request, model=model or provider.model, tools=declared)


def opening(message: str, provider: Provider, *, system: str | None = None, rounds: int | None = None) -> Request:
    """Return the request for a user message. ``rounds``: add `GUIDANCE` with this number to the system prompt."""
    prompts = [text for text in (system, GUIDANCE.format(rounds=rounds) if rounds is not None else None) if text]
    messages: list[Message] = [System([TextPart("\n\n".join(prompts))])] if prompts else []
    messages.append(User([TextPart(message)]))
    # Writing and reading the request adds the fields that the wire requires, such as a token limit.
    wire = wire_name(provider.wire)
    minimal = write_request(Request("", None, messages), wire, provider=provider.name)
    return replace(read_request(minimal.body, wire, provider=provider.name), messages=messages)


def resume_with(state: TurnState, provider: Provider, tools: Tools) -> tuple[TurnState, Resume]:
    """Return the state for resuming a turn with this provider, and the input that resumes it.

    The input lists the started calls that may run again because their tool is idempotent. If the provider has another
    wire than the state, the state gets the provider's wire and model.
    """
    if state.wire != provider.wire:  # the state's model belongs to another wire
        state = replace(state, wire=provider.wire, request=replace(state.request, model=provider.model))
    calls = state.round.calls if state.round is not None else []
    started = [call for call in calls if call.status == "started"]
    return state, Resume([call.id for call in started if call.name in tools and tools[call.name].idempotent])
