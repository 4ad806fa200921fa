"""Session transcripts of Gemini CLI: a JSON line for each message, which a later line with its id replaces.

    {"id", "type": "user", "content": [{"text"}]}
    {"id", "type": "gemini", "content": "…", "model", "toolCalls": [{"id", "name", "args", "result": [{…}]}]}

The first line describes the session. Older versions write one object with all ``messages``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ..entries import mapping, mappings, word
from ..model import Exchange
from .conversion import text

_MODEL = "gemini"
#: Members of lines that are not a message.
_SESSION = frozenset(("sessionId", "$set", "$rewindTo"))


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a line of a transcript, or the whole of one."""
    if item.get("type") == _MODEL and "timestamp" in item and "content" in item:
        return True
    return "sessionId" in item and "projectHash" in item


class Reader:
    """Reads the lines of one transcript in order."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[str, int | None, dict[str, Any]]] = {}  # by id, in the order of the messages

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
        """Keep the messages of a line. Calls and results are added to a message later.

        Raises UnreadableSource for a line that is neither a message nor a change of the session.
        """
        changed = item.get("$set")
        for message in mappings(item.get("messages") or mapping(changed or {}, "$set").get("messages"), "messages"):
            yield from self.add(source, line, message)
        if "type" in item or not (item.keys() & _SESSION):
            word(item.get("type"), "type")
            self._lines[word(item.get("id"), "id")] = source, line, item

    def finish(self, others: Iterable[dict[str, Any]] = ()) -> Iterator[Exchange]:
        """Yield each response with the messages before it."""
        history: list[dict[str, Any]] = []
        for source, line, message in self._lines.values():
            if message["type"] == _MODEL:
                yield _exchange(source, line, message, [*history])
                history.append({"role": "model", "parts": _parts(message)})
                results = [part for call in _calls(message) for part in _listed(call.get("result"))]
                history += [{"role": "user", "parts": results}] if results else []
            elif message["type"] == "user":
                asked = [part for part in _listed(message.get("content")) if "functionResponse" not in part]
                history += [{"role": "user", "parts": asked}] if asked else []


def _exchange(source: str, line: int | None, message: dict[str, Any], history: list[dict[str, Any]]) -> Exchange:
    model = text(message.get("model"))
    content = {"role": "model", "parts": _parts(message)}
    return Exchange(
        source=source,
        line=line,
        id=text(message.get("id")),
        provider="google",
        wire="google.gemini",
        stream=False,
        model=model,
        request={"contents": history},
        body=json_codec.encode(
            {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": model}
        ),
        provenance={"format": "gemini-cli"},
    )


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [{name: call[name] for name in ("id", "name", "args") if name in call} for call in _calls(message)]
    return [*_listed(message.get("content")), *({"functionCall": call} for call in calls)]


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return mappings(message.get("toolCalls"), "toolCalls")


def _listed(value: Any) -> list[dict[str, Any]]:
    """Return the parts of a content, which may be one text."""
    if isinstance(value, str):
        return [{"text": value}] if value else []
    return (
        [part if isinstance(part, dict) else {"text": str(part)} for part in value] if isinstance(value, list) else []
    )
