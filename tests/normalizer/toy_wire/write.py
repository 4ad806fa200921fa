"""Writer of the requests of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Assistant, Encoded, JsonPart, Request, System, ToolResults, User
from toolparity.normalizer.model import Text
from toolparity.normalizer.wires.write_context import IdStyle, NameStyle, WriteContext
from toolparity.normalizer.wires.writer import WriterBase


class Writer(WriterBase):
    """Writer of one request."""

    def __init__(self, request: Request, provider: str | None) -> None:
        context = WriteContext(request, "toy.chat", provider, IdStyle(r"(?s).+"), NameStyle())
        super().__init__(request, context, (request.wire, provider))

    def _write_assistant(self, message: Assistant) -> None:
        self._written.append({"by": "model", "steps": [*map(self._step, message.response.choices[0].blocks)]})

    def _write_results(self, message: ToolResults) -> None:
        for result in message.results:
            self._written.append({"by": "tool", "ref": result.call_id, "output": self._text(result.parts)})

    def _write_user(self, message: User) -> None:
        self._written.append({"by": "user", "text": self._text(message.parts)})

    def _write_system(self, message: System) -> None:
        self._written.append({"by": "system", "text": self._text(message.parts)})

    def _step(self, block: Any) -> dict[str, Any]:
        if isinstance(block, Text):
            return {"text": block.text}
        return {"fn": self._context.name(block.name), "ref": block.id, "args": block.arguments_text}

    def _text(self, parts: list[Any]) -> str:
        return "".join(json_codec.text(part.value) if isinstance(part, JsonPart) else part.text for part in parts)

    def encoded(self) -> Encoded:
        request, context = self._request, self._context
        functions = [
            {"fn": context.name(tool.name), "about": tool.description, "takes": tool.parameters}
            for tool in request.tools
        ]
        body = {"model": request.model, "entries": self._written, "functions": functions}
        for name, value in request.params.items():
            if name == "stream":
                body[name] = value
            else:
                context.lose("param", f"toy.chat has no member {name}")
        return context.encoded(body)


write = Writer.write
