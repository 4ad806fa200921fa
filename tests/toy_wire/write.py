"""Writer of the requests of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    Message,
    Part,
    RawItem,
    Request,
    System,
    TextPart,
    ToolResults,
)
from toolparity.normalizer.model import Text, ToolCall
from toolparity.normalizer.pairing import paired
from toolparity.normalizer.wires.write_context import IdStyle, NameStyle, WriteContext

WIRE = "toy.chat"
_PARAMS = ("stream",)


def write(request: Request, provider: str | None = None) -> Encoded:
    """Convert a request to a body, and return it with its losses and aliases."""
    writer = Writer(request, provider)
    writer.add(request.messages, 0, len(request.messages))
    return writer.encoded()


class Writer:
    """Writer of one request. It cannot continue an earlier one, so its basis is None."""

    basis = None

    def __init__(self, request: Request, provider: str | None) -> None:
        self._request = request
        self._context = WriteContext(WIRE, provider, IdStyle(r"(?s).+"), NameStyle())
        self._entries: list[dict[str, Any]] = []

    def add(self, messages: list[Message], start: int, stop: int) -> None:
        """Write the messages from index ``start`` up to ``stop``."""
        for index, message in enumerate(paired(messages[start:stop], self._context.repaired)):
            self._add(message, start + index)

    def _add(self, message: Message, index: int) -> None:
        if isinstance(message, Assistant):
            blocks = message.response.choices[0].blocks if message.response.choices else []
            steps = [step for block in blocks if (step := self._step(block, index)) is not None]
            self._entries.append({"by": "model", "steps": steps})
        elif isinstance(message, ToolResults):
            for result in message.results:
                entry = {"by": "tool", "ref": result.call_id, "output": self._text(result.parts, index)}
                self._entries.append({**entry, "failed": True} if result.is_error else entry)
        elif isinstance(message, RawItem):
            self._context.lose("opaque", turn=index)
        else:
            by = "system" if isinstance(message, System) else "user"
            self._entries.append({"by": by, "text": self._text(message.parts, index)})

    def _step(self, block: Any, index: int) -> dict[str, Any] | None:
        if isinstance(block, Text):
            return {"text": block.text}
        if isinstance(block, ToolCall):
            return {"fn": self._context.name(block.name), "ref": block.id, "args": block.arguments_text}
        self._context.lose("opaque", turn=index)
        return None

    def _text(self, parts: list[Part], index: int) -> str:
        texts = []
        for part in parts:
            if isinstance(part, TextPart):
                texts.append(part.text)
            elif isinstance(part, JsonPart):
                texts.append(json_codec.text(part.value))
            else:
                self._context.lose("media", turn=index)
        return "".join(texts)

    def encoded(self) -> Encoded:
        """Return the body with its losses and aliases."""
        request, context = self._request, self._context
        body: dict[str, Any] = {"model": request.model, "entries": self._entries}
        functions = []
        for tool in request.tools:
            if tool.kind == "hosted":
                context.lose("hosted-tool", tool.name)
                continue
            about = {} if tool.description is None else {"about": tool.description}
            functions.append({"fn": context.name(tool.name), **about, "takes": tool.parameters})
        if functions:
            body["functions"] = functions
        for name, value in request.params.items():
            if name in _PARAMS:
                body[name] = value
            else:
                context.lose("param", f"{WIRE} has no member {name}")
        return context.encoded(body)
