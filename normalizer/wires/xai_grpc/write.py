"""A canonical request as a GetCompletionsRequest.

Answers of xAI go back as they came: message by message, with their encrypted state and their server-side calls. The
answers of others become what xAI would have said: reasoning, words, and the client calls of a turn in one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import jsontext
from ...conversation import Assistant, Encoded, Other, Request, Results, System, Tool, ToolChoice, Turn, User
from ...pairing import paired
from ..carry import Carrying, IdStyle, NameStyle
from . import proto
from .messages import Spelling
from .names import RESERVED
from .parts import content, filled, note_media
from .proto import (
    MODES,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Function,
    GetCompletionsRequest,
    Message,
    parse_dict,
)

WIRE = "xai.grpc"
#: No document of xAI's says which ids it takes; its own are of this kind.
IDS = IdStyle(r"[!-~]{1,128}", 64)
NAMES = NameStyle(reserved=RESERVED)
#: What other wires call a member that xAI has too.
_PARAMS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop": "stop",
    "stop_sequences": "stop",
    "seed": "seed",
    "n": "n",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "user": "user",
}
_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_NOTHING = {"type": "object", "properties": {}}
_MODE_NUMBERS = {mode: number for number, mode in MODES.items()}


def write(request: Request, provider: str | None) -> Encoded:
    """The request, and what could not be carried."""
    carrying = Carrying(WIRE, provider, IDS, NAMES)
    same = request.wire == WIRE
    body = GetCompletionsRequest(model=request.model or "")
    turns, chained = _sent(request, carrying)
    writer = _Turns(carrying, same, {id(turn): place for place, turn in enumerate(request.turns)})
    body.messages.extend(writer.written(turns))
    body.tools.extend(tool for given in request.tools if (tool := _tool(given, same, carrying)) is not None)
    if request.tool_choice is not None:
        _choose(request.tool_choice, same, carrying, body)
    if request.parallel is not None:
        body.parallel_tool_calls = request.parallel
    if chained and request.previous_response_id:
        body.previous_response_id = request.previous_response_id
    if same:
        if request.params:
            parse_dict(request.params, body)
    else:
        _params(request.params, carrying, body)
    return Encoded(WIRE, body, carrying.losses, carrying.ids, carrying.names)


def _sent(request: Request, carrying: Carrying) -> tuple[list[Turn], bool]:
    """The turns to send: all, or only those that xAI does not hold yet (failure XAI-05)."""
    turns = request.turns
    anchor = request.previous_response_id
    if anchor is None:
        return paired(turns, carrying.lose), False
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if isinstance(turn, Assistant) and turn.response.id == anchor and turn.response.wire == WIRE:
            whole = paired(turns, carrying.lose)
            return whole[next(i for i, t in enumerate(whole) if t is turn) + 1 :], True
    if request.wire != WIRE:
        carrying.lose("param", "previous_response_id: only the provider that answered holds what was before")
        return paired(turns, carrying.lose), False
    # The calls that the first answers belong to are held by xAI.
    first = next((i for i, turn in enumerate(turns) if isinstance(turn, Assistant)), len(turns))
    return [*turns[:first], *paired(turns[first:], carrying.lose)], True


class _Turns:
    """Messages from turns. ``places``: those of the request's turns, for the losses."""

    def __init__(self, carrying: Carrying, same: bool, places: dict[int, int]) -> None:
        self._carrying = carrying
        self._same = same
        self._places = places
        self._spelling = Spelling(carrying)

    def written(self, turns: Sequence[Turn]) -> list[Any]:
        messages: list[Any] = []
        held: list[Any] = []
        wait = 0
        number = -1
        for turn in turns:
            number = self._places.get(id(turn), number + 1)
            if type(turn) is Assistant:
                messages += held
                held = []
                messages += self._spelling.spell(turn, number)
            elif type(turn) is Results:
                made = self._results(turn, number)
                wait = turn.extra.get("behind", 0) if self._same else 0
                if wait:
                    held = made
                else:
                    messages += made
                continue
            else:
                messages += self._other(turn, number)
            if held:
                wait -= 1
                if wait <= 0:
                    messages += held
                    held = []
        return messages + held

    def _other(self, turn: Turn, number: int) -> list[Any]:
        if isinstance(turn, (User, System)):
            if isinstance(turn, User):
                role = ROLE_USER
            else:
                role = ROLE_DEVELOPER if turn.role == "developer" else ROLE_SYSTEM
            parts = content(turn.parts, self._carrying, self._same, number)
            message = Message(role=role, content=parts)
            if turn.extra:
                self._extra(turn.extra, message, number)
            return [filled(message)]
        if isinstance(turn, Other):
            if turn.wire == WIRE:
                return [parse_dict(turn.raw, Message())]
            self._carrying.lose("opaque", turn=number)
        return []

    def _results(self, turn: Results, number: int) -> list[Any]:
        """One tool message a call, by its id; images and files follow them, as a tool message holds only words."""
        messages = []
        media: list[Any] = []
        for result in turn.results:
            id = self._spelling.ids.get(result.call_id) or self._carrying.id(result.call_id)
            parts, moved = note_media(result, self._carrying, self._same, number)
            media += moved
            message = Message(role=ROLE_TOOL, content=parts, tool_call_id=id)
            if result.extra:
                self._extra(result.extra, message, number)
            messages.append(filled(message))
        if media:
            messages.append(Message(role=ROLE_USER, content=media))
        return messages

    def _extra(self, extra: dict[str, Any], message: Any, number: int) -> None:
        if self._same:
            parse_dict(extra, message)
        else:
            self._carrying.lose("extra", f"left out: {', '.join(extra)}", number)


def _tool(tool: Tool, same: bool, carrying: Carrying) -> Any:
    if tool.kind == "hosted":
        if tool.wire == WIRE:
            return parse_dict(tool.raw, proto.Tool())
        carrying.lose("hosted-tool", f"{tool.name} is run by its own provider")
        return None
    parameters = tool.parameters
    if tool.kind != "function":
        carrying.lose("kind", f"{tool.name}: a tool of kind {tool.kind} was declared as a function")
        parameters = parameters or _INPUT
    spelled = tool.extra.get("parameters") if same else None
    if isinstance(spelled, str) and (parameters is None or jsontext.decode(spelled) == parameters):
        text = spelled
    elif parameters is None and same:
        text = ""
    else:
        text = jsontext.text(parameters or _NOTHING)
    function = Function(
        name=carrying.name(tool.name),
        description=tool.description or "",
        strict=bool(tool.strict),
        parameters=text,
    )
    return proto.Tool(function=function)


def _choose(choice: ToolChoice, same: bool, carrying: Carrying, body: Any) -> None:
    if choice.mode == "named":
        body.tool_choice.function_name = carrying.name(choice.name or "")
    elif choice.mode != "raw":
        body.tool_choice.mode = _MODE_NUMBERS[choice.mode]
    elif same:
        body.tool_choice.SetInParent()
        parse_dict(choice.raw or {}, body.tool_choice)
    else:
        carrying.lose("tool-choice", f"{jsontext.text(choice.raw)} has no counterpart; the model may choose")
        body.tool_choice.mode = _MODE_NUMBERS["auto"]


def _params(params: dict[str, Any], carrying: Carrying, body: Any) -> None:
    """The members that have the same meaning here; every other one is a loss."""
    for name, value in params.items():
        if value is not None and not _set(body, _PARAMS.get(name), value):
            carrying.lose("param", f"{name} is a member of another wire")


def _set(body: Any, target: str | None, value: Any) -> bool:
    """Whether the value could be set."""
    if target is None:
        return False
    try:
        if target == "stop":
            body.stop.extend([value] if isinstance(value, str) else value)
        else:
            setattr(body, target, value)
    except (TypeError, ValueError):
        return False
    return True
