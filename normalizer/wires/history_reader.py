"""Base of the readers for the history in a request: its messages so far, and the calls that results may answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from ..conversation import Message, Part, ToolResult, ToolResults, User
from ..model import Block, Choice, Response, ToolCall
from .decode_context import Context


class OpenCalls:
    """The client calls of the last assistant message that have no result so far, by their ids on the wire.

    An id is a text or, against all documentation, a number. An empty one is none.
    """

    __slots__ = ("_by_id", "_number")

    def __init__(self) -> None:
        self._by_id: dict[Any, dict[int, ToolCall]] = {}  # by their place
        self._number = 0

    def __bool__(self) -> bool:
        return any(self._by_id.values())

    def clear(self) -> None:
        """Close all calls."""
        self._by_id.clear()

    def add(self, calls: Iterable[tuple[Any, ToolCall]]) -> None:
        """Add calls, each with its id on the wire."""
        for id, call in calls:
            self._by_id.setdefault(given(id), {})[self._number] = call
            self._number += 1

    def take(
        self, id: Any, name: str | None = None, *, kind: str | None = None, any_id: bool = False
    ) -> ToolCall | None:
        """Return the call that a result answers, and close it; None if there is none.

        ``id``: that of the result. It answers the first call with this id, or the first call without an id if it has
        none; with ``any_id``, then the first call of all. ``name``: the name of the call, if the result has no id.
        ``kind``: the kind of the call.
        """
        id = given(id)
        own, name = (id, self._by_id.get(id, _NO_CALLS)), name if id is None else None
        for key, calls in chain((own,), self._by_id.items() if any_id and id is None else ()):
            for number, call in calls.items():
                if (name is None or call.name == name) and (kind is None or call.kind == kind):
                    del calls[number]
                    if not calls:
                        del self._by_id[key]
                    return call
        return None


_NO_CALLS: dict[int, ToolCall] = {}


def given(id: Any) -> Any:
    """Return an id, or None if it is empty or neither a text nor a number."""
    return id if (isinstance(id, str) and id) or type(id) in (int, float) else None


def with_wire_ids(calls: Iterable[ToolCall], wire_ids: Iterable[Any]) -> list[tuple[Any, ToolCall]]:
    """Return each call with its id on the wire. ``wire_ids``: the ids there, to which other ones than calls may belong.

    A repeated or missing id differs from the id of the canonical call.
    """
    texts = {id for id in wire_ids if isinstance(id, str)}
    return [(call.id if call.id in texts else given(call.extra.get("id")), call) for call in calls]


class HistoryReader:
    """Reads the messages of one request in order.

    ``before``: how many canonical messages precede those that are read; assigned ids can depend on it. Only calls of
    the last assistant message are open, because later ones may reuse their ids (failure ID-10).
    """

    def __init__(self, wire: str, provider: str | None, respelled: bool = False, before: int = 0) -> None:
        self.messages: list[Message] = []
        self._wire = wire
        self._provider = provider
        self._respelled = respelled
        self._before = before
        self._open = OpenCalls()

    def _context(self) -> Context:
        """Return the context for decoding an assistant message."""
        return Context(self._wire, self._provider, findings=[], respelled=self._respelled)

    def _response(self, choices: list[Choice], context: Context) -> Response:
        """Return the response of an assistant message."""
        return Response(self._wire, self._provider, None, None, choices).with_findings(context.findings)

    def _open_calls(self, blocks: Sequence[Block], wire_ids: list[Any]) -> list[tuple[Any, ToolCall]]:
        """Let the next results answer the calls of these blocks, and return each with its id on the wire.

        ``wire_ids``: see `with_wire_ids`.
        """
        self._open.clear()
        calls = [block for block in blocks if type(block) is ToolCall]
        if not calls:
            return []
        if len(calls) == len(wire_ids):
            opened = list(zip(map(given, wire_ids), calls, strict=True))
        else:  # some of them are repeated, or are not calls
            opened = with_wire_ids(calls, wire_ids)
        self._open.add(opened)
        return opened

    def _add_result(self, result: ToolResult) -> None:
        """Add a result. Adjacent results become one message."""
        last = self.messages[-1] if self.messages else None
        if type(last) is ToolResults:
            last.results.append(result)
        else:
            self.messages.append(ToolResults([result]))

    def _add_divided(
        self,
        blocks: list[Any],
        extra: dict[str, Any],
        is_result: Callable[[Any], bool],
        read_result: Callable[[Any, OpenCalls], ToolResult],
        read_parts: Callable[[list[Any]], list[Part]],
    ) -> None:
        """Add a user's message. Its results become a separate message before its other blocks."""
        results = [block for block in blocks if is_result(block)]
        others = [block for block in blocks if not is_result(block)]
        if results:
            read = [read_result(block, self._open) for block in results]
            self.messages.append(ToolResults(read, {} if others else extra))
        if others or not results:
            self.messages.append(User(read_parts(others), plain=False, extra=extra))
