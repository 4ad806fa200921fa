"""Session transcripts of Claude Code: a JSON line for each block of a response, result, or event of the program.

    {"type": "user" | "assistant", "uuid", "parentUuid", "sessionId", "message": {…}}

The lines of one response repeat its message id, each with one block. The history of a response is the chain of its
parents; the system message and the tools are not in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolparity.normalizer import json_codec

from ...errors import UnreadableSource
from ..entries import mapping
from ..model import Exchange
from .conversion import text

#: Members of which every line of a transcript has one.
_MEMBERS = frozenset(("uuid", "message", "leafUuid", "messageId", "snapshot", "operation"))

#: Lines of a transcript: their places, and the lines.
_Lines = list[tuple[str, int | None, dict[str, Any]]]


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object is a line of a transcript."""
    return "sessionId" in item and isinstance(item.get("type"), str) and not item.keys().isdisjoint(_MEMBERS)


class Reader:
    """Reads the lines of one transcript in order."""

    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._messages: dict[str, dict[str, Any]] = {}  # by uuid
        self._blocks: dict[str, list[dict[str, Any]]] = {}  # by message id: the blocks of all lines of a response
        self._results: dict[str, dict[str, Any]] = {}  # blocks by the id of their call
        self._response: _Lines = []  # the lines of the current response

    def add(self, source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
        """Yield the response that a line completes."""
        uuid, kind, message = item.get("uuid"), item.get("type"), item.get("message")
        if not isinstance(kind, str) or not (uuid is None or isinstance(uuid, str)):
            raise UnreadableSource("the type or the uuid of a line is not text")
        if not uuid:
            return
        self._parents[uuid] = text(item.get("parentUuid"))
        if message is None:
            return
        message = mapping(message, "message")
        self._messages[uuid] = {"role": kind, **message}
        if (id := text(message.get("id"))) is not None:
            self._blocks.setdefault(id, []).extend(_blocks(message))
        results = [block for block in _blocks(message) if block.get("type") == "tool_result"]
        self._results.update((str(block.get("tool_use_id")), block) for block in results)
        answered = kind == "assistant" and item.get("isApiErrorMessage") is not True
        completed: _Lines = []
        if not results and not (answered and self._continues(message)):
            completed, self._response = self._response, []
        if answered:
            self._response.append((source, line, item))
        yield from self._exchange(completed)  # after the change of state, because it may raise

    def finish(self, others: Iterable[dict[str, Any]] = ()) -> Iterator[Exchange]:
        """Yield the last response."""
        yield from self._exchange(self._response)

    def _exchange(self, lines: _Lines) -> Iterator[Exchange]:
        """Yield the response that lines contain."""
        if not lines:
            return
        source, line, first = lines[0]
        last = lines[-1][2]["message"]
        content = [block for _, _, item in lines for block in _blocks(item["message"])]
        model = text(last.get("model"))
        yield Exchange(
            source=source,
            line=line,
            id=text(last.get("id")) or text(first.get("uuid")),
            provider="anthropic",
            wire="anthropic.messages",
            stream=False,
            model=model,
            request={"model": model, "messages": self._history(text(first.get("parentUuid")))},
            body=json_codec.encode({"type": "message", "role": "assistant", **last, "content": content}),
            provenance={"format": "claude-code"},
        )

    def _continues(self, message: dict[str, Any]) -> bool:
        """Return whether a line belongs to the current response."""
        return bool(self._response) and message.get("id") == self._response[0][2]["message"].get("id")

    def _history(self, uuid: str | None) -> list[dict[str, Any]]:
        """Return the messages of a chain, each response as one message, followed by the results of all its calls.

        Parallel calls and their results are siblings in the file, and the chain contains only one of them.
        """
        chain: list[dict[str, Any]] = []
        seen: set[str] = set()
        while uuid is not None and uuid not in seen:
            seen.add(uuid)
            if uuid in self._messages:
                chain.append(self._messages[uuid])
            uuid = self._parents.get(uuid)
        history: list[dict[str, Any]] = []
        responses: set[str] = set()
        for message in reversed(chain):
            id, role = text(message.get("id")), message.get("role")
            if id is not None and id in responses:
                continue
            if history and history[-1]["role"] == role == "user":
                history[-1]["content"] += _blocks(message)
                continue
            history.append({"role": role, "content": [*(_blocks(message) if id is None else self._blocks[id])]})
            if id is not None:
                responses.add(id)
        for number, message in enumerate(history[:-1]):
            if message["role"] == "assistant":
                self._complete(message, history[number + 1])
        return history

    def _complete(self, response: dict[str, Any], following: dict[str, Any]) -> None:
        """Add the results of parallel calls to the message after a response."""
        answered = {str(block.get("tool_use_id")) for block in following["content"]}
        calls = [str(block.get("id")) for block in response["content"] if block.get("type") == "tool_use"]
        if any(id in answered for id in calls):
            missing = [self._results[id] for id in calls if id not in answered and id in self._results]
            following["content"][:0] = missing


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, list):  # the audit reports a block of an unknown type, and a call that it counts there
        return [block if isinstance(block, dict) else {"type": "unknown", "value": [block]} for block in content]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []
