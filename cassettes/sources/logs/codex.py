"""Session transcripts of Codex: JSON lines with the items that the Responses API returned and received.

    {"timestamp", "type": "response_item", "payload": {"type": "function_call", …}}

Consecutive items of the model are one response. The items before it are its request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ...errors import UnreadableSource
from ..entries import mapping
from ..model import Exchange
from .conversion import text

_KINDS = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a line of a transcript."""
    return text(item.get("type")) in _KINDS and isinstance(item.get("payload"), dict) and "timestamp" in item


class Reader:
    """Reads the lines of one transcript in order."""

    def __init__(self) -> None:
        self._history: list[dict[str, Any]] = []
        self._output: list[dict[str, Any]] = []
        self._place: tuple[str, int | None] = ("", None)
        self._model: str | None = None

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
        """Yield the response that a line completes."""
        payload, kind = mapping(item.get("payload"), "payload"), item.get("type")
        if not isinstance(kind, str):
            raise UnreadableSource("the type of a line is not text")
        if kind == "turn_context":
            self._model = text(payload.get("model")) or self._model
        elif kind == "compacted":
            replaced = payload.get("replacement_history")
            summary = {"type": "message", "role": "user", "content": str(payload.get("message", ""))}
            try:
                yield from self.finish()
            finally:
                self._history = list(replaced) if isinstance(replaced, list) else [summary]
        elif kind == "response_item" and _is_output(payload):
            if not self._output:
                self._place = source, line
            self._output.append(payload)
        elif kind == "response_item":
            try:
                yield from self.finish()
            finally:  # a response that cannot be read does not hide what follows it
                self._history.append(payload)

    def finish(self, others: Iterable[dict[str, Any]] = ()) -> Iterator[Exchange]:
        """Yield the response whose items were collected last."""
        if not self._output:
            return
        output, self._output = self._output, []
        source, line = self._place
        request = {"model": self._model, "input": list(self._history)}
        self._history += output
        body = {"object": "response", "status": "completed", "model": self._model, "output": output}
        yield Exchange(
            source=source,
            line=line,
            provider="openai",
            wire="openai.responses",
            stream=False,
            model=self._model,
            request=request,
            body=json_codec.encode(body),
            provenance={"format": "codex"},
        )


def _is_output(item: dict[str, Any]) -> bool:
    """Return whether the model wrote an item. Raises UnreadableSource if the item does not show it."""
    kind, role = item.get("type"), item.get("role")
    if not isinstance(kind, str) or (kind == "message" and not isinstance(role, str)):
        raise UnreadableSource("an item has no type, or a message has no role")
    return role == "assistant" if kind == "message" else kind == "reasoning" or kind.endswith("_call")
