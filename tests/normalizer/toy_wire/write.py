"""Writer of the requests of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    Part,
    Request,
    System,
    TextPart,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Text, ToolCall
from toolparity.normalizer.wires.write_context import IdStyle, NameStyle, WriteContext
from toolparity.normalizer.wires.writer import WriterBase

WIRE = "toy.chat"
_PARAMS = ("stream",)


class Writer(WriterBase):
    """Writer of one request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        context = WriteContext(request, WIRE, provider, IdStyle(r"(?s).+"), NameStyle())
        super().__init__(request, context, (request.wire, provider))

    def _write_assistant(self, message: Assistant) -> None:
        blocks = message.response.choices[0].blocks if message.response.choices else []
        steps = [step for block in blocks if (step := self._step(block)) is not None]
        self._written.append({"by": "model", "steps": steps})

    def _write_results(self, message: ToolResults) -> None:
        for result in message.results:
            entry = {"by": "tool", "ref": result.call_id, "output": self._text(result.parts)}
            self._written.append({**entry, "failed": True} if result.is_error else entry)

    def _write_user(self, message: User) -> None:
        self._written.append({"by": "user", "text": self._text(message.parts)})

    def _write_system(self, message: System) -> None:
        self._written.append({"by": "system", "text": self._text(message.parts)})

    def _step(self, block: Any) -> dict[str, Any] | None:
        if isinstance(block, Text):
            return {"text": block.text}
        if isinstance(block, ToolCall):
            return {"fn": self._context.name(block.name), "ref": block.id, "args": block.arguments_text}
        self._context.lose("opaque")
        return None

    def _text(self, parts: list[Part]) -> str:
        texts = []
        for part in parts:
            if isinstance(part, TextPart):
                texts.append(part.text)
            elif isinstance(part, JsonPart):
                texts.append(json_codec.text(part.value))
            else:
                self._context.lose("media")
        return "".join(texts)

    def encoded(self) -> Encoded:
        """Return the body with its losses and aliases."""
        request, context = self._request, self._context
        body: dict[str, Any] = {"model": request.model, "entries": self._written}
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


write = Writer.write
