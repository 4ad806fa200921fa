"""The canonical conversation as a Chat Completions request body.

To the provider it came from, a turn goes back as it was; to another one, as that one's dialect takes it. What a chat
message cannot say falls back as follows, and each is reported: a failed result says so in its text
(`carry.mark_failed`), an image in a result follows in a user message behind all results of the turn, free-text and
other calls are told as functions where there is no such kind.
"""

from __future__ import annotations

from typing import Any

from ... import jsontext
from ...conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Part,
    Request,
    Result,
    Results,
    System,
    TextPart,
    Turn,
    User,
)
from ...model import Choice, Text, ToolCall
from ...pairing import paired
from ..carry import FAILED, Carrying, mark_failed, told
from .assistant import AS_WRITTEN, Spoken
from .dialects import WIRE, dialect_of
from .parts import describe, kept, write_part
from .tools import write_tools

BRIDGE = "OK."
_NOTE = "The tool's result goes on in the next user message."
_SHARED = frozenset(
    ("temperature", "top_p", "stream", "seed", "stop", "n", "frequency_penalty", "presence_penalty", "user")
)
_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")


def write(request: Request, provider: str | None) -> Encoded:
    """The body for a provider's endpoint, with what it could not carry."""
    return _Writer(request, provider).encoded()


class _Writer:
    def __init__(self, request: Request, provider: str | None) -> None:
        self._request = request
        self._provider = provider
        self._dialect = dialect_of(provider)
        self._carrying = Carrying(WIRE, provider, self._dialect.ids, self._dialect.names)
        self._own = request.wire == WIRE and request.provider == provider
        self._messages: list[dict[str, Any]] = []
        self._turn: Turn | None = None
        #: canonical id -> what stands on the wire (null: nothing) for the calls of the last assistant turn
        self._ids: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        thinking = request.params.get("thinking")
        on = isinstance(thinking, dict) and thinking.get("type") == "enabled"
        self._must_think = provider == "deepseek" and (on or request.model == "deepseek-reasoner")

    def encoded(self) -> Encoded:
        request, carrying = self._request, self._carrying
        body: dict[str, Any] = {}
        if request.model is not None:
            body["model"] = request.model
        body["messages"] = self._messages
        for turn in paired(request.turns, carrying.lose):
            self._turn = turn
            if type(turn) is Assistant:
                self._assistant(turn)
            elif type(turn) is Results:
                self._results(turn)
            elif type(turn) is User or type(turn) is System:
                self._spoken(turn)
            elif turn.wire == WIRE:  # type: ignore[union-attr]
                self._messages.append(turn.raw)  # type: ignore[union-attr]
            else:
                self._lose("opaque")
        last = self._messages[-1] if self._messages else {}
        if self._dialect.bridge and last.get("role") == "assistant" and not last.get("tool_calls"):
            last.setdefault("prefix", True)  # to be continued: the only way in which the assistant may speak last
        write_tools(request, self._own, self._dialect, carrying, body)
        self._params(body)
        return Encoded(WIRE, body, carrying.losses, carrying.ids, carrying.names)

    def _lose(self, code: str, message: str = "", block: int | None = None) -> None:
        place = next((n for n, turn in enumerate(self._request.turns) if turn is self._turn), None)
        self._carrying.lose(code, message, place, block)

    # what the system and the user said

    def _spoken(self, turn: User | System) -> None:
        role = "user"
        if turn.plain and not turn.extra and len(turn.parts) == 1 and type(turn) is User:
            part = turn.parts[0]
            if type(part) is TextPart and not (part.extra or self._dialect.bridge):
                self._messages.append({"role": role, "content": part.text})
                return
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
        """Failure ORD-04: nobody but the assistant may speak directly after a result."""
        if self._dialect.bridge and self._messages and self._messages[-1].get("role") == "tool":
            self._lose("bridge")
            self._messages.append({"role": "assistant", "content": BRIDGE})

    def _content(self, parts: list[Part], plain: bool) -> Any:
        own = self._own
        if len(parts) == 1 and type(part := parts[0]) is TextPart and (plain or not (own or part.extra)):
            return part.text
        written = [w for part in parts if (w := write_part(part, own, self._dialect, self._lose)) is not None]
        if not (own or self._dialect.lists) and all(part["type"] == "text" for part in written):
            return "\n\n".join(part["text"] for part in written)
        return written or ("" if plain else [])

    def _assistant(self, turn: Assistant) -> None:
        """What the model said, and what stands on the wire for the ids of its calls."""
        response = turn.response
        self._ids = {}
        if not response.choices:
            self._lose("empty", "a response without an answer was left out")
            return
        same = response.wire == WIRE and (response.provider or self._request.provider) == self._provider
        if not turn.extra and not self._must_think:
            usual = self._usual(response.choices[0], same)
            if usual is not None:
                self._messages.append(usual)
                return
        spoken = Spoken(turn, same, self._dialect, self._carrying, self._lose)
        message = spoken.message()
        self._ids = spoken.ids
        if message is None:
            self._lose("empty")
            return
        if self._must_think and "tool_calls" in message and "reasoning_content" not in message:
            message["reasoning_content"] = ""  # its own rule: the member has to be there
        self._messages.append(message)

    def _usual(self, choice: Choice, same: bool) -> dict[str, Any] | None:
        """The short path: one text, function calls, and nothing odd about them; else null, and nothing was done."""
        if same and choice.extra:
            return None
        verbatim = same and not self._dialect.ids_checked
        text: str | None = None
        calls = []
        ids: dict[str, str | None] = {}
        for block in choice.blocks:
            if type(block) is ToolCall:
                if block.extra or block.kind != "function":
                    return None
                if not same and (block.namespace or block.caller or not block.arguments_text):
                    return None
                id = block.id if verbatim else self._carrying.id(block.id)
                ids[block.id] = id
                name = self._names.get(block.name)
                if name is None:
                    name = self._names[block.name] = self._carrying.name(block.name)
                calls.append(
                    {"id": id, "type": "function", "function": {"name": name, "arguments": block.arguments_text}}
                )
            elif type(block) is Text and text is None and not (calls or block.annotations or block.extra):
                text = block.text
            else:
                return None
        self._ids = ids
        if not calls:
            return {"role": "assistant", "content": text or ""} if same or text else None
        return {"role": "assistant", "content": self._dialect.blank if text is None else text, "tool_calls": calls}

    # what the calls returned

    def _results(self, turn: Results) -> None:
        shown: list[dict[str, Any]] = []
        for result in turn.results:
            parts = result.parts
            if (
                result.plain
                and not (result.extra or result.is_error)
                and len(parts) == 1
                and type(parts[0]) is TextPart
            ):
                id = self._ids.get(result.call_id)
                if id is not None and result.kind != "legacy_function":
                    content = mark_failed(parts[0].text, False)
                    self._messages.append({"role": "tool", "tool_call_id": id, "content": content})
                    continue
            self._messages.append(self._result(result, shown))
        if shown:
            self._bridge()
            self._messages.append({"role": "user", "content": shown})

    def _result(self, result: Result, shown: list[dict[str, Any]]) -> dict[str, Any]:
        """One tool message; media that it cannot hold are added to ``shown`` (failure RES-03)."""
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
        """A result's other members; to another provider goes none of them (failure RES-02)."""
        if self._own:
            return {key: value for key, value in extra.items() if key != AS_WRITTEN}
        if left := [key for key in told(extra) if key not in ("name", "tool_call_id", "content")]:
            self._lose("extra", f"{', '.join(left)} left out")
        return {}

    def _returned(self, result: Result, shown: list[dict[str, Any]] | None, id: Any) -> Any:
        """The content. ``shown``: where media go; null where the content itself may hold them."""
        parts = result.parts
        if len(parts) == 1:
            part = parts[0]
            if type(part) is TextPart and (result.plain or not (self._own or part.extra)):
                return mark_failed(part.text, result.is_error)
            if type(part) is JsonPart:
                return mark_failed(jsontext.text(part.value), result.is_error)
        written: list[dict[str, Any]] = []
        for part in parts:
            made = write_part(part, self._own, self._dialect, self._lose)
            if made is None:
                continue
            if made["type"] != "text" and shown is not None:
                if not shown or shown[-1].get("text") != f"Returned for {id}:":
                    shown.append({"type": "text", "text": f"Returned for {id}:"})
                shown.append(made)
                words = describe(part) if isinstance(part, MediaPart) else "[part]"
                self._lose("media", f"{words} of a result follows in a user message")
                made = {"type": "text", "text": f"{words} {_NOTE}"}
            written.append(made)
        if not written:
            return mark_failed("", result.is_error) if result.plain or not self._own or result.is_error else []
        if written[0]["type"] == "text":
            written[0]["text"] = mark_failed(written[0]["text"], result.is_error)
        elif result.is_error:
            written.insert(0, {"type": "text", "text": FAILED})
        if not self._own and all(len(part) == 2 and part["type"] == "text" for part in written):
            return "\n".join(part["text"] for part in written)
        return written

    # what stands beside the history

    def _params(self, body: dict[str, Any]) -> None:
        request = self._request
        if request.previous_response_id is not None:
            self._carrying.lose("param", "previous_response_id: this wire has no kept history")
        if request.wire == WIRE:
            body.update((key, value) for key, value in request.params.items() if key not in body)
            return
        for key, value in request.params.items():
            if key in _SHARED:
                body[key] = value
            elif key in _LIMITS:
                body[self._dialect.limit] = value
            elif key == "stop_sequences":
                body["stop"] = value
            else:
                self._carrying.lose("param", f"{key} was left out")
