"""Assembly of streamed blocks: starts, fragments, ends, stop reason, usage and the response, once for all wires.

A wire's Stream says what its events mean. ``fragment`` names the block of an event that only continues a text, and
`BlockStream.run` merges such events. ``apply`` processes every other event, with the methods of `BlockStream`.
``convert`` converts a finished block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..errors import MalformedBody, SeveralBodies, TooManyCalls
from ..events import BlockDelta, BlockStart, BlockStop, ChoiceStop, Event, UsageUpdate
from ..model import Block, Choice, Reasoning, Response, Stop, ToolCall, Usage
from .call_builder import MAX_CALLS, CallBuilder
from .calls import NO_ARGUMENTS
from .decode_context import Context
from .delta_template import DeltaTemplate
from .limits import Boundary, Limits
from .misplaced_arguments import requires_arguments
from .registry import spec
from .schema import UNFIT, Reader
from .stop_reason import CUTS, effective_stop
from .stop_words import reason_of
from .stream_base import StreamBase

#: The index of a block, and kind and text of a fragment; the text is None for an event that is not a fragment.
Fragment = tuple[Any, Any, str | None]
NO_FRAGMENT: Fragment = (None, None, None)
_by_index = attrgetter("index")
#: The form of the fragments is learned once a block has more than this number, because most blocks have fewer.
_FEW = 8


class BlockState(Struct, eq=False):
    """A block of a stream in progress.

    ``kind``: the kind of the fragments that it takes. ``index``: its index on the wire. ``start``: the object of its
    start event. ``before``: the earlier block with the same index. ``implied``: a delta created the block, without a
    start event. ``doubtful``: the block may lack its arguments, or may have those of another call.
    ``contested``: two calls began under one index before either had arguments or an end, so that neither runs.
    ``block``: the index of its canonical block, -1 if it has none. ``choice``: the index of its choice. ``parts``: the
    fragments of its text or arguments.
    """

    kind: Any
    index: Any
    key: int
    start: Any = None
    before: Any = None
    implied: bool = False
    stopped: bool = False
    doubtful: bool = False
    contested: bool = False
    block: int = -1
    choice: int = 0
    parts: list[str] = []

    def takes(self, kind: Any) -> bool:
        """Report whether a delta of this kind belongs to the block."""
        return bool(self.kind == kind)

    def attach(self, kind: Any, text: str) -> bool:
        """Keep a text that gives no event, such as a signature. Return False if the block has no such texts."""
        return False

    @property
    def type(self) -> str:
        """The type of the block on the wire."""
        return str(self.kind)

    def header(self) -> tuple[str, str | None, str | None]:
        """Return the canonical type of the block, and the id and the name of a call."""
        raise NotImplementedError

    def sealed(self) -> Reasoning | None:
        """Return the signature or the encrypted content of reasoning, without its text; None if there is none."""
        return None

    @property
    def is_client_call(self) -> bool:
        """Whether the block is a client call."""
        return self.header()[0] == "tool_call"

    def initial(self) -> str:
        """Return the argument text in the start event; empty if there is none, or if the block is not a call."""
        return ""

    @property
    def has_no_initial(self) -> bool:
        """Whether the start event has no arguments."""
        return self.initial().strip() in NO_ARGUMENTS


B = TypeVar("B", bound=BlockState)


class BlockStream(StreamBase, Generic[B]):
    """Base of the streams whose events start, continue and end blocks.

    ``reader``: the reader of events of any type. ``decode_event``: a faster parser of frequent events. ``fragments``:
    its structs that lack members which ``apply`` needs. ``noun``: the term for a block in findings. ``terminator``: the
    payload that ends a stream without being an event. ``most``: the maximum number of blocks. ``fills_stopped``:
    whether the start of an implied block may come after its end. ``repeats_bytes``: the fragments of a block differ
    only in their text, and ``fragment`` keeps nothing else.
    """

    reader: Reader[Any]
    decode_event: Callable[[bytes], Any]
    fragments: frozenset[type[Struct]] = frozenset()
    state_type: type[B]
    noun = "content block"
    terminator: bytes | None = b"[DONE]"
    most: float = MAX_CALLS
    fills_stopped = False
    repeats_bytes = False

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.decode_event = type(self).decode_event  # an attribute of the instance is found faster
        self._few = _FEW if self.repeats_bytes else math.inf
        self.has_ends = spec(context.wire).blocks_end
        self.blocks: list[B] = []  # in the order of their starts
        self.by_index: dict[Any, B] = {}  # the last block of each index
        self.id: str | None = None
        self.model: str | None = None
        self.started = False
        self.ended = False
        self.terminated = False  # whether the terminator came after content
        self.stop: str | None = None
        self._has_stop = False  # whether an end event had a stop reason
        self.usage: Usage | None = None
        self.extra: dict[str, Any] = {}
        self.has_misplaced = False  # whether arguments came for a block that takes none

    # What a wire defines

    def fragment(self, event: Any) -> Fragment:
        """Return index, kind and text of an event that has nothing but more text; `NO_FRAGMENT` for any other."""
        raise NotImplementedError

    def apply(self, event: Any, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process an event that is not a fragment of a block that has begun. ``data``: its JSON."""
        raise NotImplementedError

    def convert(self, builder: CallBuilder, state: B, blocks: list[Block], cut: bool) -> None:
        """Append the canonical form of a block. ``cut``: the response was cut inside this block."""
        raise NotImplementedError

    def repeats(self, held: B, kind: Any, start: Any) -> bool:
        """Report whether a start event only repeats that of the last block with its index.

        It does if that block has neither an end nor deltas, and has the same start. The start of a call has the same id
        and name, and no other arguments.
        """
        if held.stopped or held.parts:
            return False
        again = self.state_type(kind, held.index, -1, start)
        block_type, id, _ = again.header()
        if not block_type.endswith("tool_call"):
            return bool(held.kind == kind and held.start == start)
        same = held.has_no_initial or again.has_no_initial or held.initial() == again.initial()
        return bool(id) and held.header() == again.header() and same

    def report_reused(self, index: Any, start: Any) -> None:
        """Report a start event whose index already has a block."""
        self._context.find("index-reused", f"a second {self.label(index)}")

    def begins_with(self, kind: Any) -> bool:
        """Report whether a block may begin with a delta of this kind, without a start event."""
        return False

    def misplaced(self, kind: Any, index: int | None, placed: B | None, out: list[Event]) -> B:
        """Return the block for a delta whose index has no block that takes it. ``placed``: the block of the index."""
        raise NotImplementedError

    def doubted(self, states: list[B], blocks: list[Block]) -> Iterable[B]:
        """Return the blocks whose calls must not run, because arguments may be missing."""
        return ()

    # Events

    def run(self, payloads: list[bytes], out: list[Event]) -> DeltaTemplate | None:
        """See `StreamBase.run`. Consecutive fragments of a block that has begun give one delta."""
        blocks, decode = self.by_index, self.decode_event
        target: B | None = None  # the block of the last fragment
        start, only = 0, ""  # the number of its fragments before this run, and the text of the first one in it if alone
        for data in payloads:
            try:
                event = decode(data)
            except UNFIT:
                event = self.parse(data)
            else:
                index, kind, text = self.fragment(event)
                if text and (state := blocks.get(index)) is not None:
                    if state.kind == kind:
                        if state is target:
                            only = ""
                        else:
                            if target is not None and self.emits:
                                whole = only or "".join(target.parts[start:])
                                out.append(BlockDelta(target.choice, target.key, whole))
                            target, start, only = state, len(state.parts), text
                        state.parts.append(text)
                        continue
                    if state.attach(kind, text):
                        continue
                if type(event) in self.fragments:
                    event = self.parse(data)
            if target is not None and self.emits:
                out.append(BlockDelta(target.choice, target.key, only or "".join(target.parts[start:])))
            target = None
            if event is None:
                self.take(None, data, out)
            else:
                try:
                    self.apply(event, None, data, out)
                except SeveralBodies:
                    raise
                except MalformedBody:
                    self.fail_undecodable(data, out)
            decode = self.decode_event  # the event may have changed it
        if target is not None:
            if self.emits:
                out.append(BlockDelta(target.choice, target.key, only or "".join(target.parts[start:])))
            if start > self._few and len(payloads) == 1:
                return self.learn(payloads[0], only, target.parts, target.choice, target.key)
        return None

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one event. Raises MalformedBody if its data is not a JSON object."""
        if data == self.terminator:
            self.terminated = bool(self.blocks)
            self.terminate()
            return
        event = self.reader.read(data, self._notes)
        if self._notes:
            self._context.report_notes(self._notes)
        self.apply(event, name, data, out)

    def parse(self, data: bytes) -> Any:
        """Return an event that ``decode_event`` does not parse, None if it does not fit the strict schema."""
        strict = self.reader.strict
        if strict is self.decode_event or data == self.terminator:
            return None
        try:
            return strict(data)
        except UNFIT:
            return None

    def terminate(self) -> None:
        """Process the terminator."""

    def unknown(self, label: str, event: Any) -> None:
        """Report an event of an unknown type, and keep it. Raises SeveralBodies if it belongs to another response."""
        self.check_known(event)
        self._context.find("unknown-event", label)
        self.extra.setdefault("events", []).append(event)

    # Blocks

    def at(self, index: Any) -> B | None:
        """Return the last block of an index, or the last block of all if ``index`` is None; None if there is none."""
        if index is None:
            return self.blocks[-1] if self.blocks else None
        return self.by_index.get(index)

    def open(self, kind: Any, start: Any, index: Any, out: list[Event]) -> B:
        """Return the block of a start event: a new one, or the one that earlier deltas implied or that it repeats."""
        if index is None:
            index = len(self.blocks)
        held = self.by_index.get(index)
        if held is not None:
            if held.implied and held.kind == kind and (self.fills_stopped or not held.stopped):
                held.start, held.implied = start, False
                return held
            if self.repeats(held, kind, start):
                self.report_repeated(f"start of {self.label(index)}", held.is_client_call)
                if held.has_no_initial:
                    held.start = start
                return held
            if self.names(held, kind, start):
                self.extend(held, None if held.parts else held.initial(), out)
                held.start = start
                return held
            self.report_reused(index, start)
        state = self.by_index[index] = self.add(kind, start, index, out, held)
        if held is not None and self.has_ends and self._contests(held, state):
            held.contested = state.contested = True
        return state

    def _contests(self, held: B, state: B) -> bool:
        """Report whether a call begins under the index of another one that has neither arguments nor an end.

        A start that repeats one under another index begins no call.
        """
        if held.stopped or held.parts or not (held.is_client_call and state.is_client_call):
            return False
        if not (held.has_no_initial and state.has_no_initial):
            return False
        id = held.header()[1]
        return not any(block.header()[1] == id for block in self.blocks if block is not held)

    def names(self, held: B, kind: Any, start: Any) -> bool:
        """Report whether a start event only gives a call the name that it lacks."""
        again = self.state_type(kind, held.index, held.key, start)
        (block_type, id, name), (again_type, again_id, late) = held.header(), again.header()
        if not (block_type == again_type == "tool_call" and id and id == again_id and late and not name):
            return False
        return again.initial().strip() in NO_ARGUMENTS

    def imply(self, kind: Any, start: Any, index: Any, out: list[Event], before: B | None = None) -> B:
        """Return a new block that a delta begins. It does not replace the block that its index already has."""
        if index is None:
            index = len(self.blocks)
        return self.add(kind, start, index, out, before, True)

    def add(
        self, kind: Any, start: Any, index: Any, out: list[Event], before: B | None = None, implied: bool = False
    ) -> B:
        """Add a block, and emit its start. Raises TooManyCalls for more blocks than any response has."""
        self.check_number()
        key = len(self.blocks)
        state = self.state_type(kind, index, key, start, before, implied)
        self.blocks.append(state)
        out.append(BlockStart(state.choice, key, *state.header()))
        return state

    def check_number(self) -> None:
        """Raise TooManyCalls if no further block may begin."""
        if len(self.blocks) >= self.most:
            raise TooManyCalls(f"more than {MAX_CALLS} {self.noun}s", hint="the stream is not a valid response")

    def holder(self, kind: Any, index: int | None, label: str | None, out: list[Event]) -> B:
        """Return the block that a delta belongs to: the last one of its index that takes its kind, or another one.

        Nothing shows which call the arguments under another index belong to. Calls that may lack them do not run.
        ``label``: the delta in findings.
        """
        placed = earlier = self.at(index)
        while earlier is not None:
            if earlier.takes(kind):
                return earlier
            earlier = earlier.before
        if placed is not None or not self.begins_with(kind):
            short = self.noun.split()[-1]
            where = f"where no {short} was started" if placed is None else f"which is a {placed.type} {short}"
            self._context.find_once("delta-misplaced", f"{label} under index {index}, {where}")
        return self.misplaced(kind, index, placed, out)

    def extend(self, state: B, text: str | None, out: list[Event]) -> None:
        """Append a fragment to a block."""
        if text:
            state.parts.append(text)
            out.append(BlockDelta(state.choice, state.key, text))

    def label(self, index: Any) -> str:
        """Return the block of an index in findings."""
        return f"{self.noun} {index}"

    def ended_by(self, index: Any) -> B | None:
        """Return the block that an end event ends. Report an end without a start, and one that repeats another."""
        last = state = self.at(index)
        while state is not None and state.stopped:
            state = state.before
        if last is None:
            if self.begins_with(None):
                return None  # it had no content
            self._context.find_once("event-missing", f"{self.label(index)} has an end and no start")
        elif state is None:
            self.report_repeated(f"end of {self.label(index)}", last.is_client_call)
        return state

    def close(self, state: B | None, out: list[Event]) -> None:
        """End a block. Arguments that came with its start are emitted first (XLAT-03)."""
        if state is not None:
            state.stopped = True
            if not state.parts and (text := state.initial()):
                out.append(BlockDelta(state.choice, state.key, text))
            out.append(BlockStop(state.choice, state.key, state.sealed()))

    def starts_again(self, event: str, id: str | None = None) -> bool:
        """Report whether the response has started before, and report its second start.

        ``id``: the id of the response that starts. Raises SeveralBodies if it is another one.
        """
        if self.id or self.ended or self.failed or self.terminated:
            self.check_same(Boundary(id, begins=True))
        again, self.started = self.started, True
        if again:
            self.report_repeated(event, False)
        return again

    def end(self, raw: str | None, out: list[Event]) -> None:
        """Record the stop reason of an end event. The last one counts; one that differs repeats nothing (FIN-11)."""
        if raw:
            self._report_second_end(self._has_stop and raw == self.stop)
            if raw != self.stop:
                out.append(ChoiceStop(0, Stop(reason_of(raw), raw)))
            self.stop, self._has_stop = raw, True

    def ends(self) -> None:
        """Record the event that ends the response."""
        self._report_second_end(self.ended)
        self.ended = True

    def _report_second_end(self, is_second: bool) -> None:
        if is_second:
            self.report_repeated("end of the response", any(state.is_client_call for state in self.blocks))

    def report_missing(self) -> None:
        """Report a response without start event, and its indexes without end event, except for a block that was cut."""
        if self.blocks and not self.started:
            self._context.find_once("event-missing", "the response has no start")
        if self.has_ends and False in [state.stopped for state in self.blocks]:
            ended = {state.index for state in self.blocks if state.stopped}
            cut = self.blocks[-1] if self.stop and reason_of(self.stop) in CUTS else None
            for state in self.blocks:
                if state.index not in ended and state is not cut:
                    self._context.find_once("event-missing", f"{self.label(state.index)} has a start and no end")

    def count(self, figures: Usage | None, out: list[Event]) -> None:
        """Record the usage so far. The last one counts."""
        if figures is not None:
            self.usage = figures
            out.append(UsageUpdate(figures))

    # The response

    def limits(self) -> Limits:
        """See `StreamBase.limits`."""
        return Limits({self.id} if self.id else frozenset(), ended=self.ended or self.terminated, failed=self.failed)

    def finish(self) -> Response:
        """Return the response. It is incomplete after an error, or without its terminal event (TERM-01)."""
        complete = self.is_complete()
        choice = self.choice(CallBuilder.of(self._context, 0, self.id), complete)
        choices = [choice] if choice.blocks or complete or self.stop is not None else []
        return self._response(self.id, self.model, choices, self.usage, complete, self.extra)

    def is_complete(self) -> bool:
        """Report whether the response is complete. A stream that broke off gives a finding."""
        complete = self.is_whole
        self._report_incomplete(complete)
        return complete

    @property
    def is_whole(self) -> bool:
        """See `StreamBase.is_whole`."""
        return self.ended and self._error is None

    def choice(self, builder: CallBuilder, complete: bool) -> Choice:
        """Return the choice of the stream."""
        raw = self.stop
        reason = reason_of(raw) if raw else None
        blocks = self.converted(builder, complete, reason in CUTS)
        return Choice(0, blocks, effective_stop(builder, reason, raw), self.beside())

    def beside(self) -> dict[str, Any]:
        """Return the members of the message that no block represents."""
        return {}

    def in_order(self) -> list[B]:
        """Return the blocks by index, or in the order of their starts if two have the same index."""
        return sorted(self.blocks, key=_by_index) if 1 < len(self.by_index) == len(self.blocks) else self.blocks

    def converted(self, builder: CallBuilder, complete: bool, cut_last: bool) -> list[Block]:
        """Return the canonical blocks. ``cut_last``: the response was cut inside the last one."""
        if complete:
            self.report_missing()
        states = self.in_order()
        last = len(states) - 1 if cut_last else -1
        blocks: list[Block] = []
        for number, state in enumerate(states):
            cut = number == last or (not state.stopped and (not complete or self.lacks_arguments(state)))
            self.convert(builder, state, blocks, cut)
        doubted = (*self.doubted(states, blocks), *self._contested(states)) if ToolCall in map(type, blocks) else ()
        for state in doubted:
            block = blocks[state.block]
            if type(block) is ToolCall and block.status == "complete":
                blocks[state.block] = self.truncated(block, state.block)
        return blocks

    def _contested(self, states: list[B]) -> list[B]:
        return [state for state in states if state.contested and state.block >= 0]

    def lacks_arguments(self, state: B) -> bool:
        """Report whether a call without an end got no arguments although its tool requires some (INC-31)."""
        block_type, id, name = state.header()
        blank = not "".join(state.parts).strip() and state.initial().strip() in NO_ARGUMENTS
        if block_type != "tool_call" or not blank:
            return False
        self._context.find("arguments-missing", f"{name} ({id})", 0)
        return requires_arguments(self._context, name)

    def truncated(self, call: ToolCall, index: int) -> ToolCall:
        """Return a call that may lack its arguments, so that it does not run. ``index``: the index of its block."""
        message = f"{call.name} ({call.id}): arguments have the index of another {self.noun.split()[-1]}"
        self._context.find("arguments-misplaced", message, 0, index)
        return replace(call, status="truncated", arguments=None)
