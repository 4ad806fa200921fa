"""Base of the readers for the history in a request: its messages so far, and the calls that results may answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..conversation import Message, Part, ToolResult, ToolResults, User
from ..model import Block, Choice, Response, ToolCall
from .decode_context import Context


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
        self._open: list[tuple[str | None, ToolCall]] = []  # with their ids on the wire

    def _context(self) -> Context:
        """Return the context for decoding an assistant message."""
        return Context(self._wire, self._provider, findings=[], respelled=self._respelled)

    def _response(self, choices: list[Choice], context: Context) -> Response:
        """Return the response of an assistant message."""
        return Response(self._wire, self._provider, None, None, choices).with_findings(context.findings)

    def _open_calls(self, blocks: list[Block], wire_ids: set[str]) -> None:
        """Let the next results answer the calls of these blocks.

        ``wire_ids``: the ids on the wire; a repeated or missing id differs from the id of the canonical call.
        """
        calls = [block for block in blocks if type(block) is ToolCall]
        self._open = [(call.id if call.id in wire_ids else call.extra.get("id"), call) for call in calls]

    def _answered(self, is_answered: Callable[[str | None, ToolCall], bool]) -> ToolCall | None:
        """Return the first open call for which the function is true, and close it; None if there is none."""
        for index, (wire_id, call) in enumerate(self._open):
            if is_answered(wire_id, call):
                del self._open[index]
                return call
        return None

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
        read_result: Callable[[Any, dict[str, list[ToolCall]]], ToolResult],
        read_parts: Callable[[list[Any]], list[Part]],
    ) -> None:
        """Add a user's message. Its results become a separate message before its other blocks."""
        results = [block for block in blocks if is_result(block)]
        others = [block for block in blocks if not is_result(block)]
        if results:
            waiting: dict[str, list[ToolCall]] = {}
            for id, call in self._open:
                waiting.setdefault(id if isinstance(id, str) else "", []).append(call)
            read = [read_result(block, waiting) for block in results]
            self.messages.append(ToolResults(read, {} if others else extra))
        if others or not results:
            self.messages.append(User(read_parts(others), plain=False, extra=extra))
