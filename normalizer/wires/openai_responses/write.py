"""Write a canonical request as a Responses body.

Turns from this wire and provider go back unchanged. All others are translated into valid items. ``input`` is always a
list of items, so that the bytes of finished turns stay the same while a conversation grows. If the provider keeps the
history (``previous_response_id``, ``conversation``), only the turns after it are sent (XAI-05).
"""

from __future__ import annotations

from copy import copy
from typing import Any

from ...conversation import Assistant, Encoded, Message, RawItem, Request, System, TextPart, Tool, ToolResults, User
from ...pairing import answers_at, paired_segment, segment_end
from ..models import report_foreign_model
from ..strict_schema import lacking_for_strict
from ..surrogates import replace_beside, replace_in_messages
from ..write_context import HINTS, IdStyle, NameStyle, WriteContext, merged, unrepresented
from ..xai_tools import RESERVED_ON_RESPONSES
from .parts import AS_WRITTEN, Parts, words
from .read import NESTED
from .results import plain_text, write_result
from .write_assistant import LONGEST_ID, WIRE, AssistantWriter

IDS = IdStyle(pattern=f"[^\ud800-\udfff]{{1,{LONGEST_ID}}}", length=LONGEST_ID)
NAMES = NameStyle(pattern=r"[a-zA-Z0-9_-]{1,128}")
XAI_NAMES = NameStyle(pattern=NAMES.pattern, reserved=RESERVED_ON_RESPONSES)
#: The smallest accepted ``max_output_tokens``.
SMALLEST_LIMIT = 16
#: Extra members of tools from other wires that this wire expresses in canonical fields.
_SPELLINGS = frozenset(("type", "name", "parameters", "legacy_functions"))
#: Body member of another wire -> member with the same meaning here.
_PARAMS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "stream": "stream",
    "metadata": "metadata",
    "service_tier": "service_tier",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "store": "store",
    "user": "user",
    "safety_identifier": "safety_identifier",
    "prompt_cache_key": "prompt_cache_key",
}
#: Members that refer to objects that only one provider keeps.
_KEPT_ELSEWHERE = ("conversation", "prompt")
#: Members whose values other wires define differently, so only those of openai.chat are taken.
_OPENAI_ONLY = frozenset(("metadata", "service_tier", "store", "user", "safety_identifier", "prompt_cache_key"))


def write(request: Request, provider: str | None = None) -> Encoded:
    """Return the body for a provider, with the losses and the ids and names that differ from the canonical ones."""
    writer = Writer(request, provider)
    writer.add(request.messages, 0, len(request.messages))
    return writer.encoded()


class Writer:
    """Writes a request's turns in order.

    ``basis``: everything except the turns that the items depend on. It is None if the provider keeps a part of the
    history, because the items can then only be written all at once. ``settled``: whether written items stay unchanged
    when more turns follow.
    """

    settled = True

    def __init__(self, request: Request, provider: str | None) -> None:
        self._request = request
        self._context = context = WriteContext(WIRE, provider, IDS, XAI_NAMES if provider == "xai" else NAMES)
        self._same_wire = same_wire = request.wire == WIRE
        self._native = same_wire and (request.provider is None or provider is None or request.provider == provider)
        stateless = request.params.get("store") is False
        self._parts = Parts(context, self._native, same_wire)
        self._replay = AssistantWriter(context, stateless)
        self._items: list[dict[str, Any]] = []
        self._instructions: str | None = None
        self._kept = self._native and _is_kept(request)
        self.basis = None if self._kept else (request.wire, request.provider, provider, stateless)

    def fork(self, request: Request) -> Writer:
        """Return a copy in the same state, for a request with the same basis that begins with the same turns."""
        other = copy(self)
        other._request = request
        other._context = context = self._context.fork()
        other._parts = Parts(context, self._native, self._same_wire)
        other._replay = self._replay.fork(context)
        other._items = self._items[:]
        return other

    def add(self, turns: list[Message], start: int, stop: int) -> None:
        """Write the turns from one boundary to another (`pairing.is_boundary`), on the fast path if possible."""
        if self._kept:
            self._add_unkept()
            replace_in_messages(self._items, 0, self._context)
            return
        begun = len(self._items)
        while (start := self._usual_turns(turns, start, stop)) < stop:
            end = segment_end(turns, start, stop)
            for place, turn in paired_segment(turns, self._context.repaired, start, end):
                self._turn(turn, place)
            start = end
        replace_in_messages(self._items, begun, self._context)

    def encoded(self) -> Encoded:
        """Return the body. It takes over the items, so the writer cannot be used afterwards."""
        request, context, native = self._request, self._context, self._native
        body: dict[str, Any] = {}
        report_foreign_model(request, context)
        if request.model is not None:
            body["model"] = request.model
        if self._instructions is not None:
            body["instructions"] = self._instructions
        asked = request.messages or request.params.get("prompt") is None
        if asked and (self._items or "input" not in request.params):
            body["input"] = self._items
        tools = [made for tool in request.tools if (made := _tool(tool, native, context)) is not None]
        if tools:
            body["tools"] = tools
        choice = _tool_choice(request, native, tools, context)
        if choice is not None:
            body["tool_choice"] = choice
        if request.parallel is not None:
            body["parallel_tool_calls"] = request.parallel
        if request.previous_response_id is not None:
            if native:
                body["previous_response_id"] = request.previous_response_id
            else:
                context.lose("param", "previous_response_id: another provider keeps that history")
        if native:
            body = merged(body, request.params)
        elif self._same_wire:
            kept = [name for name in _KEPT_ELSEWHERE if request.params.get(name) is not None]
            for name in kept:
                context.lose("param", f"{name}: another provider keeps it")
            body = merged(body, request.params, *kept)
        else:
            _params(request, context, body)
        return context.encoded(replace_beside(body, "input", context))

    def _usual_turns(self, turns: list[Message], place: int, stop: int) -> int:
        """Fast path: write turns until one does not fit, and return its position (or ``stop``).

        It handles user turns of plain text, and assistant turns that `Replay.usual` accepts and whose calls all have
        plain-text results.
        """
        items, usual = self._items, self._replay.usual
        put = items.append
        while place < stop:
            turn = turns[place]
            kind = type(turn)
            if kind is User:
                parts = turn.parts  # type: ignore[union-attr]
                if turn.extra or not turn.plain or len(parts) != 1 or type(part := parts[0]) is not TextPart:  # type: ignore[union-attr]
                    return place
                if part.extra:
                    return place
                put({"role": "user", "content": part.text})
            elif kind is Assistant:
                asked: list[str] = []
                said = usual(turn, place, asked)  # type: ignore[arg-type]
                if said is None:
                    return place
                if asked:
                    answers = answers_at(place + 1, turns, stop, asked)
                    if answers is None or answers.extra:
                        return place
                    for result in answers.results:
                        text = plain_text(result)
                        if text is None:
                            return place
                        said.append({"type": "function_call_output", "call_id": result.call_id, "output": text})
                    place += 1
                items += said
            else:
                return place
            place += 1
        return place

    def _add_unkept(self) -> None:
        """Write the turns that the provider does not keep. Their results may answer calls that it keeps."""
        request = self._request
        turns = paired_segment(request.messages, self._context.repaired, 0, len(request.messages), stored=True)
        start = _anchor(request, [turn for _, turn in turns])
        for number, (place, turn) in enumerate(turns):
            if number < start and type(turn) is Assistant:
                self._replay.learn(turn)
            elif number >= start or (type(turn) is System and turn.extra.get("instructions")):
                self._turn(turn, place)

    def _turn(self, turn: Message, place: int) -> None:
        items, context = self._items, self._context
        kind = type(turn)
        if kind is Assistant:
            self._replay.items(turn, place, items)  # type: ignore[arg-type]
        elif kind is ToolResults:
            if lost := unrepresented(turn.extra):  # type: ignore[union-attr]
                context.lose("extra", f"{', '.join(lost)} of a message of answers", place)
            kinds = self._replay.kinds
            for result in turn.results:  # type: ignore[union-attr]
                answers = kinds.get(result.call_id, result.kind)
                wired = result.call_id
                if not context.takes_id(wired):
                    wired = context.id(wired)
                if answers == "function" and (text := plain_text(result)) is not None:
                    items.append({"type": "function_call_output", "call_id": wired, "output": text})
                else:
                    items += write_result(result, answers, wired, self._parts, context, self._native, place)
        elif kind is RawItem:
            if turn.wire == WIRE and (self._native or _is_callers(turn.raw)):  # type: ignore[union-attr]
                items.append(turn.raw)  # type: ignore[union-attr]
            else:
                context.lose("opaque", f"an item of {turn.wire}", place)  # type: ignore[union-attr]
        elif kind is System and turn.extra.get("instructions") and self._instructions is None:  # type: ignore[union-attr]
            self._instructions = words(turn.parts)  # type: ignore[union-attr]
        else:
            _spoken(turn, self._parts, context, self._same_wire, place, items)  # type: ignore[arg-type]


def _is_callers(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("role") is not None


def _spoken(
    turn: System | User, parts: Parts, context: WriteContext, same_wire: bool, place: int, items: list[dict[str, Any]]
) -> None:
    role = "user" if type(turn) is User else turn.role  # type: ignore[union-attr]
    content = parts.content(turn.parts, turn.plain, place)
    if content == [] and not same_wire:
        context.lose("empty", "", place)
        return
    item: dict[str, Any] = {"role": role, "content": content}
    extra = turn.extra
    if extra:
        if same_wire:
            if extra.get(AS_WRITTEN) == "typed":
                item["type"] = "message"
            item.update((k, v) for k, v in extra.items() if k not in HINTS)
        elif lost := unrepresented(extra):
            context.lose("extra", f"{', '.join(lost)} of a message", place)
    items.append(item)


def _is_kept(request: Request) -> bool:
    """Whether the provider keeps a part of the history, so that results may appear without their calls."""
    if request.previous_response_id is not None or request.params.get("conversation") is not None:
        return True
    turns = request.messages
    return RawItem in map(type, turns) and any(type(turn) is RawItem and _refers(turn.raw) for turn in turns)


def _refers(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("type") == "item_reference"


def _anchor(request: Request, turns: list[Message]) -> int:
    """Return the position in ``turns`` of the first turn that the provider does not have yet."""
    response_id, conversation = request.previous_response_id, _id(request.params.get("conversation"))
    if response_id is None and conversation is None:
        return 0
    for number in range(len(turns) - 1, -1, -1):
        turn = turns[number]
        if type(turn) is not Assistant:
            continue
        response = turn.response
        if response_id is not None and response.id == response_id:
            return number + 1
        if conversation is not None and _id(response.extra.get("conversation")) == conversation:
            return number + 1
    return 0


def _id(conversation: Any) -> str | None:
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return conversation if isinstance(conversation, str) else None


def _tool(tool: Tool, native: bool, context: WriteContext) -> dict[str, Any] | None:
    own = tool.wire == WIRE
    if tool.kind == "hosted":
        if own and native and tool.raw is not None:
            return tool.raw  # type: ignore[no-any-return]
        context.lose("hosted-tool", f"{tool.name} of {tool.wire}")
        return None
    nested = own and tool.extra.get(AS_WRITTEN) == NESTED
    made: dict[str, Any] = {"type": "custom" if tool.kind == "custom" else "function", "name": context.name(tool.name)}
    if tool.description is not None:
        made["description"] = tool.description
    if tool.kind != "custom":
        if own:
            if tool.parameters is not None:
                made["parameters"] = tool.parameters
            if tool.strict is not None:
                made["strict"] = tool.strict
            elif nested and not native:
                made["strict"] = False  # the default in that form
        else:
            strict = bool(tool.strict)  # the default is true here and false on other wires
            closed = {"additionalProperties": False} if strict else {}
            made["parameters"] = tool.parameters or {"type": "object", "properties": {}, **closed}
            if strict and any(lacking_for_strict(made["parameters"])):
                context.lose("param", f"strict: the schema of {tool.name} is not one that strict takes here")
                strict = False
            made["strict"] = strict
    elif not own and isinstance(given := tool.extra.get("custom"), dict) and isinstance(given.get("format"), dict):
        form = given["format"]
        grammar = form.get("grammar")
        rest = {k: v for k, v in form.items() if k != "grammar"}
        # A grammar is flat here and nested in Chat Completions.
        made["format"] = {**rest, **grammar} if isinstance(grammar, dict) else rest
        return made
    if nested and native:
        return {"type": "function", "function": {k: v for k, v in made.items() if k != "type"}}
    if own:
        return merged(made, tool.extra, AS_WRITTEN)
    if lost := [key for key in unrepresented(tool.extra) if key not in _SPELLINGS]:
        context.lose("extra", f"{', '.join(lost)} of the tool {tool.name}")
    return made


def _tool_choice(request: Request, native: bool, tools: list[dict[str, Any]], context: WriteContext) -> Any:
    choice = request.tool_choice
    if choice is None:
        return None
    if native and choice.mode == "raw":
        return choice.raw
    if not native and not tools:
        if choice.mode not in ("auto", "none"):
            context.lose("tool-choice", "no tool is declared here")
        return None
    if choice.mode == "named":
        name = context.name(choice.name) if choice.name is not None else None
        declared = [tool.get("type") for tool in tools if isinstance(tool, dict) and tool.get("name") == name]
        if name is not None and (native or declared):
            return {"type": "custom" if "custom" in declared else "function", "name": name}
        context.lose("tool-choice", f"{choice.name or 'no tool'} is not declared here")
        return "auto"
    if choice.mode != "raw":
        return choice.mode
    context.lose("tool-choice", f"{choice.raw!r} of {request.provider or request.wire}")
    return "auto"


def _params(request: Request, context: WriteContext, body: dict[str, Any]) -> None:
    """Add the parameters of another wire that have an equivalent here; report the others as lost."""
    openai = request.wire == "openai.chat"
    for name, value in request.params.items():
        target = _PARAMS.get(name)
        if target is not None and (openai or name not in _OPENAI_ONLY):
            wanted = value
            if target == "max_output_tokens" and isinstance(value, int) and value < SMALLEST_LIMIT:
                context.lose("param", f"{name}: {value} is below the smallest limit, {SMALLEST_LIMIT}")
                wanted = SMALLEST_LIMIT
            if body.setdefault(target, wanted) != wanted:
                context.lose("param", f"{name} was left out: another member says {target}")
        elif openai and name == "reasoning_effort":
            body["reasoning"] = {"effort": value}
        elif openai and name == "response_format" and isinstance(value, dict):
            schema = value.get("json_schema")
            rest = {k: v for k, v in value.items() if k != "json_schema"}
            body["text"] = {"format": {**rest, **(schema if isinstance(schema, dict) else {})}}
        else:
            context.lose("param", f"{name} of {request.wire}")
