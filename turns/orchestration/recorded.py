"""The outside of a recorded turn: a provider with the recorded answers, and the recorded results of its tools."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import AsyncIterator
from copy import copy
from typing import Any, Self

from msgspec import Struct, field
from msgspec.structs import replace

from toolparity.normalizer import events as stream
from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.model import Error, Response, ToolCall

from ..block_rows import ROW_TYPES
from ..execution.executor import FinishedCall, RunCall
from ..execution.tool_results import failure
from ..machine.inputs import (
    AddNote,
    AnswerFailed,
    AnswerReceived,
    BlockEnded,
    BlockExtended,
    BlockReplaced,
    BlockStarted,
    CallDecided,
    CallSettled,
    Cancel,
    Input,
    ResultSupplied,
    Resume,
    Retry,
)
from ..machine.state import TurnState
from ..result_texts import failures_in
from ..retry_after import with_retry_after
from ..secrets import kind_and_status
from .boundary import Boundary
from .recording import initial_state, input_of, lines_of

_BLOCKS = {row: block for block, row in ROW_TYPES.items()}
_NOT_RECORDED = "the recording does not contain this run of a tool"


class RecordedAnswer(Struct, frozen=True):
    """The blocks of one answer as they arrived, its end, and the time of that (see `Segment`)."""

    blocks: list[Input]
    end: AnswerReceived | AnswerFailed
    at: float


class Segment(Struct):
    """The part of a recording that one process made: from ``state`` until the turn was over or the process ended.

    ``decisions``: the decisions made while the turn ran, and ``later``: those after it waited. ``requests``: None if
    the recording contains none. ``times``: by call, when it had its result, in seconds since the recording began.
    ``failovers``: the provider that failed and the one that continued, each with its wire, name and model.
    """

    state: TurnState
    events: list[dict[str, Any]] = field(default_factory=list)
    answers: list[RecordedAnswer] = field(default_factory=list)
    requests: list[Request] | None = None
    settled: dict[str, FinishedCall] = field(default_factory=dict)
    runs: dict[tuple[str, str], deque[FinishedCall]] = field(default_factory=lambda: defaultdict(deque))
    substitutes: dict[str, tuple[str, str]] = field(default_factory=dict)  # call id -> (the tool that ran, why)
    decisions: dict[str, CallDecided] = field(default_factory=dict)
    later: dict[str, CallDecided | ResultSupplied] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    failovers: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    is_cancelled: bool = False


def segments_of(recording: bytes) -> list[Segment]:
    """Return the segments of a recording. Raises InvalidState for an invalid one."""
    readers: list[_Reader] = []
    for number, line in lines_of(recording):
        if number == 0 or "begins" in line:
            readers.append(_Reader(Segment(initial_state(line))))
        elif "request" in line:
            segment = readers[-1].segment
            segment.requests = [*(segment.requests or []), json_codec.convert(line["request"], Request)]
        elif "run" in line:
            finished = json_codec.convert(line["run"], FinishedCall)
            readers[-1].segment.runs[finished.call.id, finished.call.name].append(finished)
        else:
            readers[-1].add(input_of(line, number), line.get("events") or [], line.get("at") or 0.0)
    return [reader.segment for reader in readers]


class _Reader(Struct):
    """Reads the steps of a segment."""

    segment: Segment
    blocks: list[Input] = field(default_factory=list)
    failure: Error | None = None  # of the answer that is asked again
    demanded: float | None = None
    has_waited: bool = False

    def add(self, input: Input, events: list[dict[str, Any]], at: float) -> None:
        """Add a step. After the turn was cancelled, which no program repeats, its steps are left out."""
        segment = self.segment
        if isinstance(input, Cancel):
            segment.is_cancelled = True
        if segment.is_cancelled:
            return
        segment.events += events
        self.has_waited = self.has_waited or (isinstance(input, Resume) and bool(segment.answers))
        if isinstance(input, (BlockStarted, BlockExtended, BlockReplaced, BlockEnded)):
            self.blocks.append(input)
        elif isinstance(input, (AnswerReceived, AnswerFailed)):
            self._answered(input, at)
        elif isinstance(input, AddNote):
            self._note(input)
        elif isinstance(input, Retry):
            # The coordinator or the backoff replaced the failure of the answer. Its note has the reason.
            error = self.failure or Error("Incomplete", "the answer broke off")
            partial = Response(segment.state.wire, segment.state.request.provider, None, None, [], usage=input.usage)
            response = replace(partial, complete=False) if input.usage is not None else None
            self._answered(AnswerFailed(error, response, self.demanded), at)
        elif isinstance(input, CallDecided):
            (segment.later if self.has_waited else segment.decisions)[input.call_id] = input
        elif isinstance(input, ResultSupplied):
            segment.later[input.call_id] = input
        elif isinstance(input, CallSettled):
            call = ToolCall(input.call_id, input.result.name or "", {}, "")
            segment.settled[input.call_id] = FinishedCall(call, input.result, input.outcome)
            segment.times[input.call_id] = at

    def _answered(self, end: AnswerReceived | AnswerFailed, at: float) -> None:
        if isinstance(end, AnswerReceived) and end.original is not None:  # listeners changed it, and will do so again
            ids = [call.id for call in end.original.calls]
            starts = [block for block in self.blocks if isinstance(block, BlockStarted)]
            added = [start.key for start in starts if start.block_type == "tool_use" and start.id not in ids]
            self.blocks = [block for block in self.blocks if getattr(block, "key", None) not in added]
            end = replace(end, response=end.original)
        self.segment.answers.append(RecordedAnswer(self.blocks, end, at))
        self.blocks, self.failure, self.demanded = [], None, None

    def _note(self, note: AddNote) -> None:
        data = note.data
        call = data.get("call_id") or data.get("call")
        if note.note in ("recovery", "fallback") and call is not None:
            self.segment.substitutes[call] = data["tool"], data["why"]
        elif note.note in ("recovery", "retry", "failover", "instructed"):
            kind, status = kind_and_status(data["why"])
            fell_over = True if note.note == "failover" else None
            self.failure, self.demanded = Error(kind, "", status, fell_over), data.get("demanded")
            if fell_over:
                self.segment.failovers.append((data["from"], data["to"]))


class NotRecorded(Exception):
    """The recording contains no answer to this request."""

    status = 404  # so that the request is not repeated


class RecordedClock:
    """The clock of a repeated turn: the recorded time of the last answer or result that it received."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        return self._now

    def advance(self, at: float) -> None:
        """Set the time, unless it is later already."""
        self._now = max(self._now, at)


class RecordedProvider:
    """A provider that answers with the recorded answers of a turn, in order. ``clock``: returns the recorded time.

    ``call_limit``: the recorded limit, because the provider of the turn may have set it (`NarratingProvider`).
    ``fallback``: the providers that continued the turn, which have the other answers.
    """

    def __init__(self, segment: Segment) -> None:
        request = segment.state.request
        self.wire: str = segment.state.wire
        self.name: str | None = request.provider
        self.model: str | None = request.model
        if segment.failovers:
            self._rename(segment.failovers[0][0])
        self.call_limit = segment.state.settings.limit
        self.clock = RecordedClock()
        self._answers = deque(segment.answers)
        self._choice = segment.state.settings.choice
        self.fallback = [copy(self)._rename(origin) for _, origin in segment.failovers]

    def _rename(self, origin: dict[str, Any]) -> Self:
        self.wire, self.name, self.model = origin["wire"], origin["name"], origin["model"]
        return self

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        """Yield the next recorded answer, as canonical events and a Response."""
        if not self._answers:
            raise NotRecorded("the recording contains no further answer")
        answer = self._answers.popleft()
        for block in answer.blocks:
            for event in self._events(block):
                yield event
        response, headers = answer.end.response, {}
        if answer.end.retry_after is not None:
            headers = {"retry-after": repr(answer.end.retry_after)}
        if response is not None:
            yield with_retry_after(response, headers)
        self.clock.advance(answer.at)
        if isinstance(answer.end, AnswerFailed):
            raise _exception(answer.end.error, headers)

    def _events(self, input: Input) -> list[stream.Event]:
        if isinstance(input, BlockStarted):
            return [stream.BlockStart(self._choice, input.key, _BLOCKS[input.block_type], input.id, input.name)]
        if isinstance(input, BlockExtended):
            return [stream.BlockDelta(self._choice, input.key, input.text)]
        if isinstance(input, BlockReplaced):
            return [stream.BlockReset(self._choice, input.key, input.text)]
        return []  # the end of a block follows from the response


class _Headers(Struct):
    headers: dict[str, str]


def _exception(error: Error, headers: dict[str, str]) -> BaseException:
    """Return an exception that a turn converts to this error."""
    kind = ConnectionError if error.retryable and error.status is None else Exception
    made: Exception = type(error.type, (kind,), {})(error.message)
    made.__dict__.update(status=error.status, response=_Headers(headers))
    return made


class RecordedResults(Boundary):
    """The option ``telemetry`` of a turn whose tools do not run: each run has its recorded result."""

    def __init__(self, segment: Segment, requests: list[Request], clock: RecordedClock) -> None:
        super().__init__(requests.append, lambda finished: None)
        self._clock = clock
        self._segment = segment

    async def execute_tool(self, call: ToolCall, run: RunCall) -> FinishedCall:
        """Return the recorded result, without calling ``run``."""
        self._clock.advance(self._segment.times.get(call.id, 0.0))
        recorded = self._segment.runs.get((call.id, call.name))
        if recorded:
            return recorded.popleft()
        settled = self._segment.settled.get(call.id)
        substitute, why = self._segment.substitutes.get(call.id, (None, ""))
        if settled is None:
            return FinishedCall(call, failure(call, _NOT_RECORDED), "raised")
        if substitute is None:
            own, failures = failures_in(settled.result)
            if call.name == settled.result.name:
                return replace(settled, result=own)
            return FinishedCall(call, failure(call, failures.get(call.name, _NOT_RECORDED)), "raised")
        if substitute == call.name:  # the first part of the result is the note on the fallback
            result = replace(settled.result, parts=settled.result.parts[1:])
            return FinishedCall(call, result, settled.outcome)
        return FinishedCall(call, failure(call, why), "raised")
