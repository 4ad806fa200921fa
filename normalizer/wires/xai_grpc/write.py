"""Writer for xAI's requests: it converts a canonical request to a GetCompletionsRequest.

Assistant turns from xAI are sent back message by message, with their encrypted state and server calls. Assistant turns
from other wires become messages as xAI writes them: reasoning, text, and the client calls of a turn in one message.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from msgspec.structs import replace

from ... import json_codec
from ...conversation import (
    Assistant,
    Encoded,
    Message,
    RawItem,
    Request,
    System,
    TextPart,
    Tool,
    ToolChoice,
    ToolResults,
    User,
)
from ...pairing import answers_at, paired_segment, segment_end
from ..models import report_foreign_model
from ..surrogates import SurrogateReplacer, is_encodable
from ..write_context import OF_RESULTS, REPEATED, IdStyle, NameStyle, WriteContext, unrepresented
from ..xai_tools import RESERVED_ON_GRPC
from . import schema
from .parts import content, filled, note_media, usual_answers
from .schema import (
    MODES,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Function,
    GetCompletionsRequest,
    ProtoMessage,
    parse_dict,
)
from .write_assistant import AssistantWriter

WIRE = "xai.grpc"
#: xAI does not document which ids it accepts. The ids that it creates match this pattern.
IDS = IdStyle(r"[!-~]{1,128}", 64)
NAMES = NameStyle(reserved=RESERVED_ON_GRPC)
#: Parameters of other wires, and the field of xAI's request with the same meaning.
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
    """Convert a request to a GetCompletionsRequest message, and return it with its losses and aliases."""
    writer = Writer(request, provider)
    writer.add(request.messages, 0, len(request.messages))
    return writer.encoded()


class Writer:
    """Incremental writer for the turns of a request.

    ``basis``: everything except the turns that the messages depend on. It is None if the request continues a response
    that xAI stores; its turns can then only be written all at once. ``settled``: whether later turns leave the messages
    so far unchanged.
    """

    def __init__(self, request: Request, provider: str | None) -> None:
        self._request = request
        self._context = WriteContext(WIRE, provider, IDS, NAMES)
        self._same = request.wire == WIRE
        self._chained = request.previous_response_id is not None
        self.basis = None if self._chained else (request.wire, provider)
        self._spelling = AssistantWriter(self._context)
        self._begun = b""  # serialized messages that precede those of the body
        self._body: Any = None
        #: messages that are not in the body yet; those of the fast path as dicts, which `_built` converts in one call
        self._messages: list[Any] = []
        self._held: list[Any] = []  # tool messages that have to follow later turns
        self._wait = 0  # how many such turns are still to come

    @property
    def settled(self) -> bool:
        return not self._held

    def fork(self, request: Request) -> Writer:
        """Return an independent copy, for a request of the same basis that begins with the same turns."""
        other = copy(self)
        other._request = request
        other._context = self._context.fork()
        other._spelling = AssistantWriter(other._context)
        if self._messages or self._body is not None:
            other._begun = self._built().SerializeToString()
        other._body, other._messages = None, []
        return other

    def add(self, turns: list[Message], start: int, stop: int) -> None:
        """Write the turns from index ``start`` up to ``stop``. Both must be boundaries (`pairing.is_boundary`).

        Regular turns take the fast path.
        """
        if self._chained:
            self._add_unkept()
            return
        while (start := self._usual_turns(turns, start, stop)) < stop:
            end = segment_end(turns, start, stop)
            for place, turn in paired_segment(turns, self._context.repaired, start, end):
                self._turn(turn, place)
            start = end

    def encoded(self) -> Encoded:
        """Return the request with its losses and aliases. Do not use the writer afterwards: the body is not a copy."""
        request, context, same = self._request, self._context, self._same
        self._messages += self._held
        body = self._built()
        replacer = SurrogateReplacer()
        request = replacer.clean(replace(request, messages=[]))
        if replacer.replaced:
            context.lose("corrupt-text", "half surrogate pairs beside the messages became U+FFFD")
        report_foreign_model(request, context)
        body.model = request.model or ""
        body.tools.extend(tool for given in request.tools if (tool := _tool(given, same, context)) is not None)
        if request.tool_choice is not None:
            _choose(request.tool_choice, same, context, body)
        if request.parallel is not None:
            body.parallel_tool_calls = request.parallel
        if self._chained and request.previous_response_id:
            body.previous_response_id = request.previous_response_id
        if same:
            if request.params:
                parse_dict(request.params, body)
        else:
            _params(request.params, context, body)
        return context.encoded(body)

    def _built(self) -> Any:
        """Return the body with all messages so far."""
        more = GetCompletionsRequest(messages=self._messages)
        if self._body is None and self._begun:
            self._body = GetCompletionsRequest.FromString(self._begun)
        if self._body is None:
            self._body = more
        else:
            self._body.MergeFrom(more)
        self._messages = []
        return self._body

    def _usual_turns(self, turns: list[Message], place: int, stop: int) -> int:
        """Write regular turns with the fast path, and return the index of the first turn that is not regular.

        Regular turns are a user's plain text, and text and function calls with all tool results in plain texts.
        """
        if self._held:
            return place
        messages, usual = self._messages, self._spelling.usual
        put = messages.append
        while place < stop:
            turn = turns[place]
            kind = type(turn)
            if kind is User:
                parts = turn.parts  # type: ignore[union-attr]
                if turn.extra or len(parts) != 1 or type(part := parts[0]) is not TextPart or part.extra:  # type: ignore[union-attr]
                    return place
                if not is_encodable(part.text):
                    return place
                put({"role": ROLE_USER, "content": [{"text": part.text}]})
            elif kind is Assistant:
                asked: list[str] = []
                said = usual(turn, asked)  # type: ignore[arg-type]
                if said is None:
                    return place
                if asked:
                    answers = answers_at(place + 1, turns, stop, asked)
                    if answers is None or (results := usual_answers(answers)) is None:
                        return place
                    put(said)
                    messages += results
                    place += 1
                else:
                    put(said)
            else:
                return place
            place += 1
        return place

    def _add_unkept(self) -> None:
        """Write the turns that xAI does not store yet."""
        turns, self._chained = _sent(self._request, self._context)
        for place, turn in turns:
            self._turn(turn, place)

    def _turn(self, turn: Message, place: int) -> None:
        replacer = SurrogateReplacer()
        turn = replacer.clean(turn)
        if replacer.replaced:
            self._context.lose("corrupt-text", turn=place)
        if type(turn) is ToolResults:
            made = self._results(turn, place)
            behind = turn.extra.get("behind", 0) if self._same else 0
            if behind or self._held:
                self._held = self._held + made
                self._wait = max(behind, self._wait)
            else:
                self._messages += made
            return
        if type(turn) is Assistant:
            self._messages += self._held
            self._held = []
            self._messages += self._spelling.spell(turn, place)
        else:
            self._messages += self._other(turn, place)
        if self._held:
            self._wait -= 1
            if self._wait <= 0:
                self._messages += self._held
                self._held = []

    def _other(self, turn: Message, number: int) -> list[Any]:
        if isinstance(turn, (User, System)):
            if isinstance(turn, User):
                role = ROLE_USER
            else:
                role = ROLE_DEVELOPER if turn.role == "developer" else ROLE_SYSTEM
            parts = content(turn.parts, self._context, self._same, number)
            message = ProtoMessage(role=role, content=parts)
            if turn.extra:
                self._extra(turn.extra, message, number)
            return [filled(message)]
        if isinstance(turn, RawItem):
            if turn.wire == WIRE:
                return [parse_dict(turn.raw, ProtoMessage())]
            self._context.lose("opaque", turn=number)
        return []

    def _results(self, turn: ToolResults, number: int) -> list[Any]:
        """Return one tool message per result, and a user message with their media, as tool messages hold only text."""
        messages = []
        media: list[Any] = []
        if not self._same and (lost := unrepresented(turn.extra)):
            self._context.lose("extra", f"left out: {', '.join(lost)}", number)
        for result in turn.results:
            id = self._spelling.ids.get(result.call_id) or self._context.id(result.call_id)
            parts, moved = note_media(result, self._context, self._same, number)
            media += moved
            message = ProtoMessage(role=ROLE_TOOL, content=parts, tool_call_id=id)
            if result.extra:
                self._extra(result.extra, message, number)
            messages.append(filled(message))
        if media:
            messages.append(ProtoMessage(role=ROLE_USER, content=media))
        return messages

    def _extra(self, extra: dict[str, Any], message: Any, number: int) -> None:
        if self._same:
            parse_dict({**extra, **extra.get(REPEATED, {})}, message)
        elif lost := unrepresented(extra, *OF_RESULTS) if message.role == ROLE_TOOL else unrepresented(extra):
            self._context.lose("extra", f"left out: {', '.join(lost)}", number)


def _sent(request: Request, context: WriteContext) -> tuple[list[tuple[int, Message]], bool]:
    """Return the turns to send, with their indexes, and whether xAI stores the response that the request continues.

    If it does, the turns up to that response are not sent (XAI-05), and tool results may come without their calls.
    """
    turns, anchor = request.messages, request.previous_response_id
    kept = request.wire == WIRE or any(_is_anchor(turn, anchor) for turn in turns)
    if not kept:
        context.lose("param", "previous_response_id: only the provider that answered holds what was before")
    given = paired_segment(turns, context.repaired, 0, len(turns), kept)
    begin = next((n + 1 for n in range(len(given) - 1, -1, -1) if _is_anchor(given[n][1], anchor)), 0)
    return given[begin:], kept


def _is_anchor(turn: Message, anchor: str | None) -> bool:
    return isinstance(turn, Assistant) and turn.response.id == anchor and turn.response.wire == WIRE


def _tool(tool: Tool, same: bool, context: WriteContext) -> Any:
    if tool.kind == "hosted":
        if tool.wire == WIRE:
            return parse_dict(tool.raw, schema.Tool())
        context.lose("hosted-tool", f"{tool.name} is run by its own provider")
        return None
    parameters = tool.parameters
    if tool.kind != "function":
        context.lose("kind", f"{tool.name}: a tool of kind {tool.kind} was declared as a function")
        parameters = parameters or _INPUT
    spelled = tool.extra.get("parameters") if same else None
    if isinstance(spelled, str) and (parameters is None or json_codec.decode(spelled) == parameters):
        text = spelled
    elif parameters is None and same:
        text = ""
    else:
        text = json_codec.text(parameters or _NOTHING)
    if not same and (lost := unrepresented(tool.extra, "type", "name", "parameters")):
        context.lose("extra", f"{tool.name}: left out: {', '.join(lost)}")
    function = Function(
        name=context.name(tool.name),
        description=tool.description or "",
        strict=bool(tool.strict),
        parameters=text,
    )
    return schema.Tool(function=function)


def _choose(choice: ToolChoice, same: bool, context: WriteContext, body: Any) -> None:
    if same and choice.mode == "raw":
        body.tool_choice.SetInParent()
        parse_dict(choice.raw or {}, body.tool_choice)
        return
    mode = choice.mode
    if not (same or body.tools):
        if mode not in ("auto", "none"):
            context.lose("tool-choice", "no tool is declared here")
        return
    if mode == "named":
        name = context.name(choice.name) if choice.name is not None else None
        if name is not None and (same or any(tool.function.name == name for tool in body.tools)):
            body.tool_choice.function_name = name
            return
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared here; the model may choose")
        mode = "auto"
    elif mode == "raw":
        context.lose("tool-choice", f"{json_codec.text(choice.raw)} has no counterpart; the model may choose")
        mode = "auto"
    body.tool_choice.mode = _MODE_NUMBERS[mode]


def _params(params: dict[str, Any], context: WriteContext, body: Any) -> None:
    """Set the parameters of another wire that xAI also has, and report the others as losses."""
    given: dict[str, Any] = {}
    for name, value in params.items():
        target = _PARAMS.get(name)
        if value is None:
            continue
        if target in given and given[target] != value:
            context.lose("param", f"{name} was left out: another member says {target}")
        elif not _set(body, target, value):
            context.lose("param", f"{name} is a member of another wire")
        elif target is not None:
            given[target] = value


def _set(body: Any, target: str | None, value: Any) -> bool:
    """Set a field, and report whether that succeeded."""
    if target is None:
        return False
    try:
        if target == "stop":
            body.stop.extend([value] if isinstance(value, str) else value)
        else:
            setattr(body, target, value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
