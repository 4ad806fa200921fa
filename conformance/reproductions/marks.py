"""Finds the bytes of the calls that a failure is about in the text of the response.

The normalizer shows which piece of a stream has which part of a call; a search in that piece finds the name and the
argument text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.events import BlockDelta, BlockReset, BlockStart
from toolparity.normalizer.model import ServerToolCall, ToolCall
from toolparity.reports.results import Result, Verdict

from ..subjects import SubjectExchange
from ..subjects.reference import read_answer
from .output import call_text
from .response import CaseResponse
from .same import same_calls

_CALLS = ("tool_call", "server_tool_call")


class Marked(NamedTuple):
    """A text with marked parts.

    ``parts``: the text in pieces; every second one is marked, starting with the second. ``kind``: "lost" if the marked
    calls are expected and not in the output, "unexpected" if they are in the output and not expected, "" without marks.
    """

    parts: list[str]
    kind: Literal["", "lost", "unexpected"]


class _WireCall:
    """A call on the wire. ``fragments``: number of the piece, and a text in it: the name, or argument text."""

    def __init__(self, name: str) -> None:
        self.name, self.arguments = name, ""
        self.fragments: list[tuple[int, str]] = []

    def add(self, piece: int, text: str, *, name: bool = False, replace: bool = False) -> None:
        if name:
            self.name = text
        else:
            self.arguments = text if replace else self.arguments + text
        if text:
            self.fragments.append((piece, text))


def marked(result: Result, verdict: Verdict, response: CaseResponse) -> Marked:
    """Return the text of the response with its lost calls marked, or those that must not run."""
    parts = response.parts
    whole = b"".join(parts).decode("utf-8", "replace")
    if verdict.effect in ("misreported", "malformed"):
        return Marked([whole], "")  # the failure is not about a call
    kind: Literal["lost", "unexpected"] = "unexpected" if verdict.effect in ("executed", "duplicated") else "lost"
    try:
        on_wire = list(_wire_calls(response))
    except ToolparityError:
        return Marked([whole], "")
    expected = response.expected.calls
    output = result.rounds[verdict.round or 0].calls
    if kind == "lost":
        chosen = _matching(on_wire, _missing(list(map(str, expected)), output))
    else:
        may_run = [str(expected[index]) for index in response.expected.runnable]
        chosen = _matching(on_wire, _missing(output, may_run))
    spans = sorted(_spans([piece.decode("utf-8", "replace") for piece in parts], on_wire, chosen))
    return Marked(_cut(whole, spans), kind) if spans else Marked([whole], "")


def _missing(texts: Sequence[str], among: Sequence[str]) -> list[str]:
    """Return the calls that the other list does not have, as texts."""
    left, missing = list(among), []
    for text in texts:
        same = next((one for one in left if same_calls([text], [one])), None)
        if same is None:
            missing.append(text)
        else:
            left.remove(same)
    return missing


def _matching(on_wire: Sequence[_WireCall], texts: Iterable[str]) -> list[_WireCall]:
    """Return the calls on the wire that are these texts: with the same arguments, or else with the same name."""
    chosen: list[_WireCall] = []
    for text in texts:
        name = text.partition("(")[0]
        free = [call for call in on_wire if call not in chosen and call.name == name]
        same = next((call for call in free if same_calls([call_text(call.name, call.arguments)], [text])), None)
        chosen += [same] if same is not None else free[:1]
    return chosen


def _wire_calls(response: CaseResponse) -> Iterator[_WireCall]:
    """Return the calls of the response in the order of the wire. Raises ToolparityError."""
    traffic = response.traffic
    if traffic.stream and traffic.status < 400:
        return iter(_streamed(response).values())
    exchange = SubjectExchange(
        wire=response.surface.wire,
        provider=response.provider,
        stream=traffic.stream,
        pieces=traffic.pieces,
        request=traffic.request,
        status=traffic.status,
    )
    return _plain(exchange)


def _plain(exchange: SubjectExchange) -> Iterator[_WireCall]:
    for choice in read_answer(exchange).choices:
        for block in choice.blocks:
            if isinstance(block, ToolCall | ServerToolCall):
                call = _WireCall(block.name)
                call.add(0, block.name, name=True)
                call.add(0, block.arguments_text or "")
                yield call


def _streamed(response: CaseResponse) -> dict[tuple[int, int], _WireCall]:
    traffic = response.traffic
    decoder = StreamDecoder(response.surface.wire, provider=response.provider, request=traffic.request)
    calls: dict[tuple[int, int], _WireCall] = {}
    for number, piece in enumerate(traffic.pieces):
        for event in decoder.feed(piece):
            if isinstance(event, BlockStart) and event.block in _CALLS:
                call = calls[event.choice, event.key] = _WireCall("")
                call.add(number, event.name or "", name=True)
            elif isinstance(event, BlockDelta | BlockReset) and (event.choice, event.key) in calls:
                calls[event.choice, event.key].add(number, event.text, replace=isinstance(event, BlockReset))
    return calls


def _spans(
    pieces: Sequence[str], on_wire: Sequence[_WireCall], chosen: Sequence[_WireCall]
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of the chosen calls in the text of all pieces."""
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece))
    after = [0] * len(pieces)  # the place behind the last part that was found in each piece
    for call in on_wire:
        for number, text in call.fragments:
            start, end = _find(pieces[number], text, after[number])
            if start < 0:
                continue
            after[number] = end
            if call in chosen:
                yield starts[number] + start, starts[number] + end


def _find(piece: str, text: str, after: int) -> tuple[int, int]:
    """Return start and end of a text in a piece: as a JSON string, or as JSON itself; (-1, -1) if it is not there."""
    for form in (json.dumps(text, ensure_ascii=False), json.dumps(text), text):
        at = piece.find(form, after)
        if at >= 0:
            return at, at + len(form)
    return -1, -1


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    parts, last = [], 0
    for start, end in spans:
        if start >= last:
            parts += [text[last:start], text[start:end]]
            last = end
    return [*parts, text[last:]]
