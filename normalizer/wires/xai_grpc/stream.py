"""Streamed GetChatCompletionChunk messages into canonical events and, at their end, one response.

An accumulator of its own: the SDK's overwrites what is set with what is unset and extends lists, so that calls vanish
or double (failures XAI-09, XAI-10).
"""

from __future__ import annotations

from typing import Any

from ...arguments import Balance
from ...events import BlockDelta, BlockReset, BlockStart, ChoiceStop, Event, UsageUpdate
from ...model import Response, Stop
from ..common import Context, StreamBase
from .decode import called, keep_unknown
from .outputs import Called, Output, choices, finished, usage
from .proto import ROLE_TOOL, STOPS, TYPE_CLIENT, TYPE_UNSET, as_dict, chunk_from, finish_name, rest


class _Growing:
    """One call while its pieces arrive: joined only when asked, so that the cost stays linear (failure DOS-01)."""

    __slots__ = ("_balance", "_checked", "_parts", "call", "length")

    def __init__(self, call: Called) -> None:
        self.call = call
        self.set(call.text)

    def set(self, text: str) -> None:
        """All of the argument text so far."""
        self._parts = [text]
        self.length = len(text)
        self._balance = Balance()
        self._checked = 0

    def add(self, text: str) -> None:
        """The next piece of the argument text."""
        self._parts.append(text)
        self.length += len(text)

    @property
    def text(self) -> str:
        """The argument text so far."""
        if len(self._parts) > 1:
            self._feed()
            self._parts = ["".join(self._parts)]
            self._checked = 1
        return self._parts[0]

    @property
    def whole(self) -> bool:
        """Whether the argument text closes every bracket that it opened."""
        self._feed()
        return self._balance.closed

    def _feed(self) -> None:
        for part in self._parts[self._checked :]:
            self._balance.feed(part)
        self._checked = len(self._parts)

    def repeats(self, text: str) -> bool:
        """Whether this text says again what stands there already, instead of continuing it."""
        if len(text) >= self.length:
            return text == self.text
        return text[0] == "{" and self.whole and self.text.startswith(text)

    def finished(self) -> Called:
        """The call with all of its text."""
        self.call.text = self.text
        return self.call


class _Open:
    """One output while it arrives."""

    __slots__ = (
        "by_id",
        "calls",
        "citations",
        "content",
        "encrypted",
        "extra",
        "finish",
        "index",
        "keys",
        "reasoning",
        "role",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.role = 0
        self.finish = 0
        self.content: list[str] = []
        self.reasoning: list[str] = []
        self.encrypted: list[str] = []
        self.citations: list[Any] = []
        self.calls: list[_Growing] = []
        self.by_id: dict[str, _Growing] = {}
        self.extra: dict[str, Any] = {}
        self.keys: dict[str, int] = {}


class Stream(StreamBase):
    """Feed it one serialized message at a time."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._outputs: dict[int, _Open] = {}
        self._id = ""
        self._model = ""
        self._usage: Any = None
        self._extra: dict[str, Any] = {}
        self._keys = 0

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Take one message. Raises MalformedBody where the bytes are none."""
        chunk = chunk_from(data)
        self._id = self._id or chunk.id
        self._model = self._model or chunk.model
        for delta in chunk.outputs:
            opened = self._outputs.get(delta.index)
            if opened is None:
                opened = self._outputs[delta.index] = _Open(delta.index)
            self._delta(opened, delta, out)
        figures = usage(chunk.usage)
        if figures is not None:
            self._usage = figures
            out.append(UsageUpdate(figures))
        extra = rest(chunk, "id", "model", "outputs", "usage")
        citations = extra.pop("citations", None)
        if citations:
            self._extra.setdefault("citations", []).extend(citations)
        self._extra.update(extra)
        keep_unknown(self._context, chunk, self._extra)

    def _delta(self, opened: _Open, output: Any, out: list[Event]) -> None:
        delta = output.delta
        # An unset enum never overwrites a set one.
        opened.role = delta.role or opened.role
        if delta.reasoning_content:
            opened.reasoning.append(delta.reasoning_content)
            self._say(opened, "reasoning", delta.reasoning_content, out)
        if delta.encrypted_content:
            opened.encrypted.append(delta.encrypted_content)
        if delta.content:
            opened.content.append(delta.content)
            if opened.role != ROLE_TOOL:
                self._say(opened, "text", delta.content, out)
        opened.citations.extend(as_dict(citation) for citation in delta.citations)
        for call in delta.tool_calls:
            self._call(opened, called(call), out)
        if output.finish_reason:
            if output.finish_reason != opened.finish:
                reason = STOPS.get(output.finish_reason, "unknown")
                out.append(ChoiceStop(0, Stop(reason, finish_name(output.finish_reason))))
            opened.finish = output.finish_reason
        opened.extra.update(rest(output, "finish_reason", "index", "delta"))
        keep_unknown(self._context, output, opened.extra)
        keep_unknown(self._context, delta, opened.extra)

    def _key(self, opened: _Open, block: str, out: list[Event], id: str | None = None, name: str | None = None) -> int:
        place = f"{block}:{id}" if id else block
        key = opened.keys.get(place)
        if key is None:
            key = opened.keys[place] = self._keys
            self._keys += 1
            out.append(BlockStart(self._choice(opened), key, block, id, name))
        return key

    def _choice(self, opened: _Open) -> int:
        return opened.index if self._context.declared.n > 1 else 0

    def _say(self, opened: _Open, block: str, text: str, out: list[Event]) -> None:
        key = self._key(opened, block, out)
        out.append(BlockDelta(self._choice(opened), key, text))

    def _call(self, opened: _Open, call: Called, out: list[Event]) -> None:
        """The same id again is the same call; neither id nor name is a continuation (failure XAI-10)."""
        known = self._known(opened, call)
        if known is None:
            opened.calls.append(grown := _Growing(call))
            if call.id:
                opened.by_id[call.id] = grown
            if opened.role != ROLE_TOOL:
                key = self._key(opened, _shown(call), out, call.id or f"#{len(opened.calls)}", call.name)
                if call.text:
                    out.append(BlockDelta(self._choice(opened), key, call.text))
            return
        told = known.call
        told.status = call.status or told.status
        told.type = told.type or call.type
        told.name = told.name or call.name
        told.error = told.error or call.error
        text = call.text
        if not text or known.repeats(text):
            return
        key = self._key(opened, _shown(told), out, told.id or f"#{len(opened.calls)}", told.name)
        if 0 < known.length < len(text) and text.startswith(known.text):
            known.set(text)
            out.append(BlockReset(self._choice(opened), key, text))
        else:
            known.add(text)
            out.append(BlockDelta(self._choice(opened), key, text))

    def _known(self, opened: _Open, call: Called) -> _Growing | None:
        if call.id:
            known = opened.by_id.get(call.id)
            return None if known is None or _another(known, call) else known
        return opened.calls[-1] if opened.calls and not call.name else None

    def finish(self) -> Response:
        """The response; incomplete where no output ever got a finish reason."""
        context = self._context
        outputs = [
            Output(
                opened.index,
                opened.role,
                "".join(opened.content),
                "".join(opened.reasoning),
                "".join(opened.encrypted),
                [grown.finished() for grown in opened.calls],
                opened.citations,
                opened.finish,
                opened.extra,
            )
            for opened in sorted(self._outputs.values(), key=lambda o: o.index)
        ]
        complete = finished(outputs) and self._error is None
        if not complete and self._error is None:
            context.find("stream-incomplete")
        return Response(
            context.wire,
            context.provider or "xai",
            self._id or None,
            self._model or None,
            choices(context, outputs, self._id, complete),
            self._usage,
            self._error,
            complete,
            self._extra,
        ).with_findings(context.findings)


def _shown(call: Called) -> str:
    return "tool_call" if call.type in (TYPE_CLIENT, TYPE_UNSET) else "server_tool_call"


def _another(known: _Growing, call: Called) -> bool:
    """Whether a call under an id that was seen is another one (ID-09): another name, or other whole arguments."""
    if not call.name or not known.call.name:
        return False
    if call.name != known.call.name:
        return True
    news = call.text
    if news[:1] != "{" or not known.whole:
        return False
    told = known.text
    return not news.startswith(told) and not told.startswith(news)
