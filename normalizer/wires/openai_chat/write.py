"""Write a canonical conversation as a Chat Completions request body.

A turn goes back unchanged to the provider it came from. For another provider it follows that provider's dialect.
Content that a chat message cannot express is converted, and most conversions are reported as losses:

- A failed result is marked in its text (`write_context.mark_failed`).
- An image in a result moves to a user message after all results of the turn.
- A custom call, or one of another kind, becomes a function call if the target has no such kind.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from ... import json_codec
from ...conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Message,
    Part,
    Request,
    System,
    TextPart,
    ToolResult,
    ToolResults,
    User,
)
from ...model import Response, Text, ToolCall
from ...pairing import answers_at, paired_segment, segment_end
from ..models import report_foreign_model
from ..surrogates import is_encodable, replace_beside, replace_in_messages
from ..write_context import FAILED, HINTS, REPEATED, WriteContext, mark_failed, unrepresented
from .dialects import USER_AFTER_TOOL, WIRE, dialect_of
from .parts import describe, kept, write_part
from .request_params import write_params
from .tools import write_tools
from .write_assistant import AS_WRITTEN, AssistantWriter

BRIDGE = "OK."
_NOTE = "The tool's result goes on in the next user message."
_USUAL_KINDS = ("function", "legacy_function")


def write(request: Request, provider: str | None) -> Encoded:
    """Return the body for a provider's endpoint, with the losses."""
    writer = Writer(request, provider)
    writer.add(request.messages, 0, len(request.messages))
    return writer.encoded()


class Writer:
    """Writes a request's turns in order.

    ``basis``: everything except the turns that the messages depend on. ``settled``: whether written messages stay
    unchanged when more turns follow.
    """

    settled = True

    def __init__(self, request: Request, provider: str | None) -> None:
        self._request = request
        self._provider = provider
        self._dialect = dialect_of(provider)
        self._context = WriteContext(WIRE, provider, self._dialect.ids, self._dialect.names)
        self._own = request.wire == WIRE and provider in (None, request.provider)
        #: whether the target requires an assistant message between a result and a message of another role
        self._bridged = self._dialect.bridge and not (self._own and request.model in USER_AFTER_TOOL)
        self._messages: list[dict[str, Any]] = []
        self._place = 0  # position of the turn that is being written
        #: canonical id -> id on the wire (None: no id) for the calls of the last assistant turn
        self._ids: dict[str, str | None] = {}
        self._asked: list[str] = []  # call ids of the turn that `_usual` wrote last
        thinking = request.params.get("thinking")
        on = isinstance(thinking, dict) and thinking.get("type") == "enabled"
        self._must_think = provider == "deepseek" and (on or request.model == "deepseek-reasoner")
        self.basis = (request.wire, request.provider, provider, self._must_think, self._bridged)

    def fork(self, request: Request) -> Writer:
        """Return a copy in the same state, for a request with the same basis that begins with the same turns."""
        other = copy(self)
        other._request = request
        other._context = self._context.fork()
        other._messages = self._messages[:]
        return other

    def add(self, turns: list[Message], start: int, stop: int) -> None:
        """Write the turns from one boundary to another (`pairing.is_boundary`), on the fast path if possible."""
        begun = len(self._messages)
        while (start := self._usual_turns(turns, start, stop)) < stop:
            end = segment_end(turns, start, stop)
            for place, turn in paired_segment(turns, self._context.repaired, start, end):
                self._place = place
                self._turn(turn)
            start = end
        replace_in_messages(self._messages, begun, self._context)

    def encoded(self) -> Encoded:
        """Return the body. It takes over the messages, so the writer cannot be used afterwards."""
        request, messages = self._request, self._messages
        body: dict[str, Any] = {}
        report_foreign_model(request, self._context)
        if request.model is not None:
            body["model"] = request.model
        body["messages"] = messages
        last = messages[-1] if messages else {}
        if self._dialect.bridge and _role(last) == "assistant" and not last.get("tool_calls"):
            # These dialects accept an assistant message at the end only as a prefix to continue.
            messages[-1] = last if "prefix" in last else {**last, "prefix": True}
        write_tools(request, self._own, self._dialect, self._context, body)
        write_params(request, self._own, self._dialect, self._context, body)
        return self._context.encoded(replace_beside(body, "messages", self._context))

    def _lose(self, code: str, message: str = "", block: int | None = None) -> None:
        self._context.lose(code, message, self._place, block)

    def _usual_turns(self, turns: list[Message], place: int, stop: int) -> int:
        """Fast path: write turns until one does not fit, and return its position (or ``stop``).

        It handles user turns of plain text, and assistant turns of at most one text and function calls that all have
        plain-text results.
        """
        if self._dialect.bridge or self._must_think:
            return place
        messages = self._messages
        put, usual = messages.append, self._usual
        while place < stop:
            turn = turns[place]
            kind = type(turn)
            if kind is User:
                parts = turn.parts  # type: ignore[union-attr]
                if turn.extra or not turn.plain or len(parts) != 1 or type(part := parts[0]) is not TextPart:  # type: ignore[union-attr]
                    return place
                text = part.text
                if part.extra or not text:
                    return place
                put({"role": "user", "content": text})
            elif kind is Assistant:
                said = usual(turn)  # type: ignore[arg-type]
                if said is None:
                    return place
                if asked := self._asked:
                    answers = answers_at(place + 1, turns, stop, asked)
                    if answers is None or (results := self._usual_answers(answers)) is None:
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

    def _usual(self, turn: Assistant) -> dict[str, Any] | None:
        """Return the message for a turn of at most one text and function calls; None for any other turn.

        Sets `_asked` to the ids of its calls and `_ids` to those ids that differ on the wire.
        """
        response = turn.response
        choices = response.choices
        if turn.extra or not choices:
            return None
        choice = choices[0]
        same = self._is_same(response)
        if same and choice.extra:
            return None
        context = self._context
        names = context.named
        checked = self._dialect.ids_checked or not same
        takes = context.takes_id
        text: str | None = None
        calls: list[dict[str, Any]] = []
        asked: list[str] = []
        ids: dict[str, str | None] = {}
        for block in choice.blocks:
            if type(block) is ToolCall:
                if block.extra or block.kind != "function":
                    return None
                if not same and (block.namespace or block.caller or not block.arguments_text):
                    return None
                id = block.id
                if (checked or not is_encodable(id)) and not takes(id):
                    id = ids[block.id] = context.id(id)
                name = names.get(block.name)
                if name is None:
                    name = context.name(block.name)
                asked.append(block.id)
                calls.append(
                    {"id": id, "type": "function", "function": {"name": name, "arguments": block.arguments_text}}
                )
            elif type(block) is Text and text is None and not (calls or block.annotations or block.extra):
                text = block.text
            else:
                return None
        self._asked, self._ids = asked, ids
        if calls:
            return {"role": "assistant", "content": self._dialect.blank if text is None else text, "tool_calls": calls}
        return {"role": "assistant", "content": text or ""} if text or (same and self._dialect.wordless) else None

    def _usual_answers(self, turn: ToolResults) -> list[dict[str, Any]] | None:
        """Return the tool messages for a turn whose results are all plain text; None for any other turn."""
        if turn.extra:
            return None
        ids = self._ids
        messages = []
        for result in turn.results:
            parts = result.parts
            if result.extra or not result.plain or result.kind == "legacy_function" or len(parts) != 1:
                return None
            part = parts[0]
            if type(part) is not TextPart:
                return None
            text = part.text
            if result.is_error or text[:6] == "[tool_":
                text = mark_failed(text, result.is_error)
            id = ids.get(result.call_id) if ids else result.call_id
            messages.append({"role": "tool", "tool_call_id": id or result.call_id, "content": text})
        return messages

    # turns of any kind

    def _turn(self, turn: Message) -> None:
        if type(turn) is Assistant:
            self._assistant(turn)
        elif type(turn) is ToolResults:
            self._results(turn)
        elif type(turn) is User or type(turn) is System:
            self._spoken(turn)
        elif turn.wire == WIRE:  # type: ignore[union-attr]
            self._messages.append(turn.raw)  # type: ignore[union-attr]
        else:
            self._lose("opaque")

    def _spoken(self, turn: User | System) -> None:
        role = "user"
        if type(turn) is System:
            role = turn.role if self._own or self._dialect.developer else "system"
        content = self._content(turn.parts, turn.plain)
        extra = turn.extra
        if not content and not self._own:
            self._lose("empty")
            return
        if extra and "content" in extra and self._own:
            content = None
        self._bridge()
        message: dict[str, Any] = {"role": role, "content": content}
        if extra:
            message.update((k, v) for k, v in kept(extra, self._own, self._lose).items() if k != "content")
        self._messages.append(message)

    def _bridge(self) -> None:
        """Insert an assistant message if the dialect requires one after a result (failure ORD-04)."""
        if self._bridged and self._messages and _role(self._messages[-1]) == "tool":
            self._lose("bridge")
            self._messages.append({"role": "assistant", "content": BRIDGE})

    def _content(self, parts: list[Part], plain: bool) -> Any:
        own = self._own
        if len(parts) == 1 and type(part := parts[0]) is TextPart and (plain or not (own or part.extra)):
            return part.text
        written = [w for part in parts if (w := write_part(part, own, self._dialect, self._lose)) is not None]
        if not (own or self._dialect.lists) and all(map(_is_text, written)):
            return "\n\n".join(part["text"] for part in written)
        return written or ("" if plain else [])

    def _is_same(self, response: Response) -> bool:
        """Whether a response goes back to the provider that produced it.

        If its provider is unknown, it counts as the same unless the target has a strict dialect or the response has
        calls of an unusual kind.
        """
        if response.wire != WIRE:
            return False
        source = response.provider or self._request.provider
        if source == self._provider or self._provider is None:
            return True
        return source is None and not self._dialect.strict and all(call.kind in _USUAL_KINDS for call in response.calls)

    def _assistant(self, turn: Assistant) -> None:
        """Write an assistant turn and set `_ids` for the results that follow."""
        response = turn.response
        self._ids = {}
        if not response.choices:
            self._lose("empty", "a response without an answer was left out")
            return
        if not self._must_think:
            usual = self._usual(turn)
            if usual is not None:
                self._ids = {id: self._ids.get(id, id) for id in self._asked}
                self._messages.append(usual)
                return
        same = self._is_same(response)
        # Keep the original spelling only if the provider is known to have used it.
        spelled = same and (self._provider is None or (response.provider or self._request.provider) is not None)
        spoken = AssistantWriter(turn, same, spelled, self._dialect, self._context, self._lose)
        message = spoken.message()
        self._ids = spoken.ids
        if message is None:
            self._lose("empty")
            return
        if self._must_think and "tool_calls" in message and "reasoning_content" not in message:
            message["reasoning_content"] = ""  # DeepSeek requires the member while it thinks
        self._messages.append(message)

    # results

    def _results(self, turn: ToolResults) -> None:
        if turn.extra and (left := unrepresented(turn.extra)):
            self._lose("extra", f"{', '.join(left)} left out")
        shown: list[dict[str, Any]] = []
        for result in turn.results:
            self._messages.append(self._result(result, shown))
        if shown:
            self._bridge()
            self._messages.append({"role": "user", "content": shown})

    def _result(self, result: ToolResult, shown: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the tool message of a result. Media that it cannot hold are appended to ``shown`` (failure RES-03)."""
        extra = result.extra
        own = self._own
        message: dict[str, Any]
        if result.kind == "legacy_function" and own and result.call_id in self._ids:
            message = {"role": "function"}
        else:
            id = self._ids.get(result.call_id)
            message = {"role": "tool"} if id is None else {"role": "tool", "tool_call_id": id}
        inside = self._dialect.result_media
        if extra:
            inside = inside or (own and AS_WRITTEN in extra)
            extra = self._members(extra)
            if "tool_call_id" in extra:
                message.pop("tool_call_id", None)
        message["content"] = self._returned(result, None if inside else shown, message.get("tool_call_id"))
        if extra:
            if "content" in extra and not result.parts:
                message["content"] = extra["content"]
            message.update((key, value) for key, value in extra.items() if key not in message and value is not None)
        if message["role"] == "function" and "name" not in message:
            message["name"] = result.name or ""
        return message

    def _members(self, extra: dict[str, Any]) -> dict[str, Any]:
        """Return a result's extra members for its own provider; none for another provider (failure RES-02)."""
        if self._own:
            return {k: v for k, v in (*extra.items(), *extra.get(REPEATED, {}).items()) if k not in HINTS}
        if left := [key for key in unrepresented(extra) if key not in ("tool_call_id", "content")]:
            self._lose("extra", f"{', '.join(left)} left out")
        return {}

    def _returned(self, result: ToolResult, shown: list[dict[str, Any]] | None, id: Any) -> Any:
        """Return the content of a result. ``shown`` receives its media; None if the content may hold them."""
        parts = result.parts
        if len(parts) == 1:
            part = parts[0]
            if type(part) is TextPart and (result.plain or not (self._own or part.extra)):
                return mark_failed(part.text, result.is_error)
            if type(part) is JsonPart:
                return mark_failed(json_codec.text(part.value), result.is_error)
        written: list[dict[str, Any]] = []
        for part in parts:
            made = write_part(part, self._own, self._dialect, self._lose)
            if made is None:
                continue
            if shown is not None and type(part) is MediaPart and not _is_text(made):
                if not shown or shown[-1].get("text") != f"Returned for {id}:":
                    shown.append({"type": "text", "text": f"Returned for {id}:"})
                shown.append(made)
                words = describe(part)
                self._lose("media", f"{words} of a result follows in a user message")
                made = {"type": "text", "text": f"{words} {_NOTE}"}
            written.append(made)
        if not written:
            return mark_failed("", result.is_error) if result.plain or not self._own or result.is_error else []
        if _is_text(written[0]):
            written[0]["text"] = mark_failed(written[0]["text"], result.is_error)
        elif result.is_error:
            written.insert(0, {"type": "text", "text": FAILED})
        if not self._own and all(len(part) == 2 and _is_text(part) for part in written):
            return "\n".join(part["text"] for part in written)
        return written


def _role(message: Any) -> Any:
    """Return a message's role; None if the message, which may be any JSON value, is not an object."""
    return message.get("role") if isinstance(message, dict) else None


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
