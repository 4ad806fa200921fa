"""Base of the request writers of all wires."""

from __future__ import annotations

from typing import Any, Self

from ..conversation import Assistant, Encoded, Message, RawItem, Request, System, ToolResults, User
from ..pairing import answers_at, paired_segment, segment_end
from .fast_history import RegularWriters, write_regular
from .surrogates import are_encodable, replace_in_messages
from .write_context import WriteContext, shallow_copy


class WriterBase:
    """Incremental writer for the messages of a request. Each wire derives its `Writer` from it.

    ``basis``: everything except the messages that the output depends on. It is None if the provider stores a part of
    the history, because the messages can then only be written all at once. ``settled``: whether later messages leave
    the output so far unchanged.
    """

    settled = True
    #: the `ContentWriter` of the wire; a wire without one has no fast path
    _assistant: Any = None

    def __init__(self, request: Request, context: WriteContext, basis: tuple[Any, ...] | None) -> None:
        self.basis = basis
        self._request = request
        self._context = context
        self._written: list[Any] = []  # messages or items of the body

    @classmethod
    def write(cls, request: Request, provider: str | None = None) -> Encoded:
        """Convert a request to a body for a provider, and return it with its losses and aliases."""
        writer = cls(request, provider)  # type: ignore[arg-type, call-arg]
        writer.add(request.messages, 0, len(request.messages))
        return writer.encoded()

    def fork(self, request: Request) -> Self:
        """Return an independent copy, for a request of the same basis that begins with the same messages."""
        other = shallow_copy(self)
        other._request = request
        other._context = self._context.fork()
        if self._assistant is not None:
            other._assistant = self._assistant.fork(other._context)
        other._written = self._written[:]
        return other

    def add(self, messages: list[Message], start: int, stop: int) -> None:
        """Write the messages from index ``start`` up to ``stop``. Both must be boundaries (`pairing.is_boundary`)."""
        general: list[tuple[int, int]] = []  # spans of `_written` to complete
        first = len(self._written)
        if self.basis is None:
            self._write_unstored()
            general.append((0, len(self._written)))
            start = stop
        while start < stop:
            if (writers := self._regular_writers()) is not None:
                start = write_regular(writers, messages, start, stop, self._written)
            if start < stop:
                begun = len(self._written)
                start = self._write_segment(messages, start, stop)
                if general and general[-1][1] == begun:
                    begun = general.pop()[0]
                general.append((begun, len(self._written)))
        self._context.message = None
        if self._assistant is not None and self._assistant.inputs:
            if not are_encodable(self._assistant.inputs):
                general.append((first, len(self._written)))
            self._assistant.inputs = []
        for begun, end in general:
            self._complete(begun, end)

    def _write_segment(self, messages: list[Message], start: int, stop: int) -> int:
        """Write the messages that are paired together with the one at ``start``, and return their end."""
        message, end = messages[start], start + 1
        if type(message) is Assistant and (calls := message.response.calls):
            results = answers_at(end, messages, stop, [call.id for call in calls])
            if results is not None:
                self._write(message, start)
                self._write(results, end)
                return end + 1
        elif type(message) is not ToolResults and (end == stop or type(messages[end]) is not ToolResults):
            self._write(message, start)
            return end
        end = segment_end(messages, start, stop)
        for index, paired in paired_segment(messages, self._context.repaired, start, end):
            self._write(paired, index)
        return end

    def encoded(self) -> Encoded:
        """Return the body with its losses and aliases. Do not use the writer afterwards: the body is not a copy."""
        raise NotImplementedError

    def _regular_writers(self) -> RegularWriters | None:
        """Return the functions of the fast path, or None if no message may take it at this point."""
        if self._assistant is None:
            return None
        return RegularWriters(self._regular_user, self._assistant.regular, self._assistant.regular_results)

    def _regular_user(self, text: str) -> Any | None:
        """Return a user's message of one text, or None if it is not regular."""
        raise NotImplementedError

    def _write_unstored(self) -> None:
        """Write the messages that the provider does not store, if ``basis`` is None."""
        raise NotImplementedError

    def _write(self, message: Message, index: int) -> None:
        """Write a message of any kind. ``index``: its index in the conversation, for losses."""
        self._context.message = index
        if type(message) is Assistant:
            self._write_assistant(message)
        elif type(message) is ToolResults:
            self._write_results(message)
        elif type(message) is User:
            self._write_user(message)
        elif type(message) is System:
            self._write_system(message)
        elif message.wire:  # type: ignore[union-attr]  # an item without one was taken apart; see `WireSpec.flatten`
            self._write_raw(message)  # type: ignore[arg-type]

    def _write_assistant(self, message: Assistant) -> None:
        raise NotImplementedError

    def _write_results(self, message: ToolResults) -> None:
        raise NotImplementedError

    def _write_user(self, message: User) -> None:
        raise NotImplementedError

    def _write_system(self, message: System) -> None:
        raise NotImplementedError

    def _write_raw(self, item: RawItem) -> None:
        if item.wire == self._context.wire:
            self._written.append(item.raw)
        else:
            self._context.lose("opaque", f"an item of {item.wire} was left out")

    def _complete(self, begun: int, end: int) -> None:
        """Complete this span of `_written`, which comes from the general path: replace lone surrogates."""
        replace_in_messages(self._written, begun, end, self._context)
