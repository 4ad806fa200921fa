"""The request that begins a turn, with the fields that the provider's wire requires, and the input that resumes one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolparity.normalizer.conversation import Loss, Message, Request, System, TextPart, ToolChoice, User
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.parameters import differing, overlaid
from toolparity.normalizer.wires.registry import wire_name

from .execution.tools import Tools
from .machine.inputs import Resume
from .machine.settings import Settings
from .machine.state import TurnState, system_prompt
from .option_values import FLAG, INTEGER, NUMBER, TEXT, unfit
from .prompts import Continuation, Prompt, request_of
from .provider import Provider

_log = logging.getLogger("toolparity")
#: The options that are parameters of every request, under different names.
_COMMON = ("temperature", "max_tokens", "top_p", "stop", "seed")
#: The kinds of options whose values are checked. Each may also be None.
_KINDS = {
    "instructions": TEXT,
    "round_guidance": FLAG,
    "temperature": NUMBER,
    "max_tokens": INTEGER,
    "top_p": NUMBER,
    "seed": INTEGER,
    "tool_choice": TEXT,
    "parallel": FLAG,
}

#: Text for the system prompt about rounds. Without it, a model may call tools only once.
ROUND_GUIDANCE = (
    "You can make multiple tool calls across rounds to gather comprehensive information. If you need additional "
    "information after seeing tool results, you can make another tool call in the next round."
)


class RequestOptions(Struct, frozen=True):
    """What a turn adds to its first request.

    ``instructions``: the system prompt, in front of those of the request, unless the request contains it. It replaces
    that of an earlier turn, which is kept only if this is None.
    ``temperature``, ``max_tokens``, ``top_p``, ``stop``, ``seed``: the parameters with this meaning, under the name of
    each wire; a warning is logged for one that the wire lacks. ``params``: other members of the request's body, under
    the names of its wire. They replace those of the request. ``tool_choice``: "auto", "none", "required" or the name of
    a tool. ``parallel``: whether the model may make several calls in one answer. ``round_guidance``: whether
    `ROUND_GUIDANCE` follows the instructions. By default it does if there are instructions, tools and several rounds.
    """

    instructions: str | None = None
    round_guidance: bool | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    stop: str | Sequence[str] | None = None
    seed: int | None = None
    params: Mapping[str, Any] = {}
    tool_choice: Literal["auto", "none", "required"] | str | None = None
    parallel: bool | None = None

    def __post_init__(self) -> None:
        """Raises PolicyError for a value of another type."""
        for name, kind in _KINDS.items():
            problem = unfit(name, getattr(self, name), kind)
            if problem is not None:
                raise PolicyError(problem)


def first_state(
    id: str, prompt: Prompt, provider: Provider, tools: Tools, options: RequestOptions, settings: Settings
) -> TurnState:
    """Return the state of a turn before its first step. Its request has the options applied and the tools declared.
    Tools of the request itself win over equal names.

    A request of another wire is not converted here, because the request writer does that. The model is the one of the
    request if it has the provider's wire, else the provider's.
    """
    request = request_of(prompt, provider)
    model = request.model if request.wire == provider.wire else None
    declared = tools.declared(request.tools)
    messages, before = _without_instructions(request)
    instructions = before if options.instructions is None else options.instructions
    guided = options.round_guidance
    if guided is None:
        guided = bool(instructions and declared and settings.max_rounds > 1)
    parts = [instructions, ROUND_GUIDANCE if guided else None]
    prompts = _added(messages, "\n\n".join(filter(None, parts)))
    first = Request(
        request.wire,
        model or provider.model,
        [*prompts, *messages],
        declared,
        _tool_choice(options.tool_choice) or request.tool_choice,
        request.parallel if options.parallel is None else options.parallel,
        request.previous_response_id,
        request.provider,
        {**overlaid(request.params, _parameters(request, provider, options)), **options.params},
    )
    return TurnState(id, provider.wire, first, settings, instructions=instructions if prompts else UNSET)


def opening(message: str, provider: Provider, *, system: str | None = None) -> Request:
    """Return the request for a user message, with a system prompt if there is one."""
    request = request_of(message, provider)
    return replace(request, messages=[*system_prompt(system or ""), *request.messages])


def _without_instructions(request: Request) -> tuple[list[Message], str]:
    """Return the messages without the system message that an earlier turn added, and its instructions."""
    if not isinstance(request, Continuation) or request.messages[:1] != system_prompt(request.instructions):
        return request.messages, ""
    return request.messages[1:], request.instructions


def _added(messages: list[Message], text: str) -> list[Message]:
    """Return the system message to add to the messages, an empty list if one of them has the text."""
    contained = any(isinstance(message, System) and message.parts == [TextPart(text)] for message in messages)
    return [] if contained else system_prompt(text)


def _tool_choice(choice: str | None) -> ToolChoice | None:
    if choice is None:
        return None
    if choice in ("auto", "none", "required"):
        return ToolChoice(cast(Literal["auto", "none", "required"], choice))
    return ToolChoice("named", choice)


def _parameters(request: Request, provider: Provider, options: RequestOptions) -> dict[str, Any]:
    """Return the parameters that every wire can have under the names of the request's wire. Log those that it lacks.

    They are written and read again, because the writer of a wire has its names. The comparison with a request that
    differs in the token limit leaves out the members that every request of the wire has.
    """
    common = {name: value for name in _COMMON if (value := getattr(options, name)) is not None}
    if not common:
        return {}
    wire = wire_name(request.wire)
    name = provider.name if wire == provider.wire else request.provider
    base = {"max_tokens": common["max_tokens"] + 1} if "max_tokens" in common else {}

    def written(params: dict[str, Any]) -> tuple[dict[str, Any], list[Loss]]:
        encoded = write_request(Request("", None, [User([TextPart("x")])], params=params), wire, provider=name)
        return read_request(encoded.body, wire, provider=name).params, encoded.losses

    before, _ = written(base)
    params, losses = written(common)
    for loss in losses:
        if loss.code == "param":
            _log.warning("%s: %s", wire, loss.message)
    return differing(params, before)


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
