"""xAI's Chat service: answers and chunks as protobuf messages in the format of recorded traffic, and gRPC errors.

The details of a gRPC error are the text in ``error`` on xAI's REST endpoints: users report the same texts for both. No
recording shows which metadata the service sends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from xai_sdk.proto import chat_pb2, sample_pb2

from ..scripts import Part, Refuse, Say, ScriptedCall, ServerCall, Think
from . import xai_rest
from .script_player import Play, ProviderRefusal
from .xai_steps import OutputStep, TokenMeter, included, newest, outcome, reasons, result, shows, steps, tool_call

#: HTTP status -> gRPC status.
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    404: grpc.StatusCode.NOT_FOUND,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
}
#: The service's defaults for request members.
_DEFAULTS = {"parallel_tool_calls": True, "temperature": 0.7, "top_p": 0.95}
_BETWEEN = 17_000_000  # nanoseconds from chunk to chunk
_IN_PROGRESS: int = chat_pb2.TOOL_CALL_STATUS_IN_PROGRESS
_INCOMPLETE: int = chat_pb2.TOOL_CALL_STATUS_INCOMPLETE
_COMPLETED: int = chat_pb2.TOOL_CALL_STATUS_COMPLETED
_MAX_LEN: int = sample_pb2.REASON_MAX_LEN
_STOP: int = sample_pb2.REASON_STOP
_TOOL_CALLS: int = sample_pb2.REASON_TOOL_CALLS


def answer(play: Play) -> Any:
    """Return the GetChatCompletionResponse."""
    meter = TokenMeter(play)
    outputs = []
    all_steps = steps(play.parts)
    for step in all_steps:
        outputs.append(
            chat_pb2.CompletionOutput(
                index=step.index, finish_reason=_finish(play, step, all_steps), message=_message(play, step, meter)
            )
        )
        for number, (place, part) in enumerate(step.served):
            meter.run(part)
            if included(play, part):
                message = chat_pb2.CompletionMessage(**result(play, place, part))
                outputs.append(chat_pb2.CompletionOutput(index=step.index + 1 + number, message=message))
    return chat_pb2.GetChatCompletionResponse(
        **_head(play),
        outputs=outputs,
        created=_moment(play, 0),
        usage=meter.total(),
        citations=_citations(play),
        settings=_settings(play),
    )


def events(play: Play) -> Iterator[Any]:
    """Yield the GetChatCompletionChunk messages.

    Raises ConnectionReset or ProviderRefusal where the script breaks the connection or makes the service fail.
    """
    stream = _Stream(play)
    all_steps = steps(play.streamed_parts)
    for step in all_steps:
        yield from stream.step(step)
        last = step is all_steps[-1]
        if play.fault is None or not last:
            finish = _finish(play, step, all_steps)
            if finish is not None:
                yield stream.end(step, finish, last)
        for number, (place, part) in enumerate(step.served):
            stream.meter.run(part)
            if included(play, part):
                yield stream.result(step.index + 1 + number, place, part)
    if (refused := play.failure()) is not None:
        raise refused


def error(refused: ProviderRefusal) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    """Return the status, details and trailing metadata of an error."""
    status, headers, body = xai_rest.error(refused)
    return _CODES.get(status, grpc.StatusCode.INVALID_ARGUMENT), body["error"], tuple(headers.items())


def headers(play: Play) -> dict[str, str]:
    """Return the initial metadata of an answer."""
    return {"x-request-id": play.uuid("request")}


class _Stream:
    """Builds the chunks of one answer."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._sent = 0
        self.meter = TokenMeter(play)

    def step(self, step: OutputStep) -> Iterator[Any]:
        """Yield the chunks of a step: texts in fragments, each call in one chunk."""
        beside = _encrypted(self._play, step)
        for place, part in step.parts:
            for delta in self._deltas(place, part):
                if "reasoning_content" in delta:
                    yield self._chunk(step.index, delta)
                else:
                    yield self._chunk(step.index, delta | beside)
                    beside = {}
        if beside:
            yield self._chunk(step.index, beside)

    def _deltas(self, place: int, part: Part) -> Iterator[dict[str, Any]]:
        play = self._play
        if isinstance(part, Think):
            if reasons(play) and (part.withheld or not shows(play)):
                self.meter.think(part.text)
            elif reasons(play):
                for piece in play.pieces(part.text):
                    self.meter.think(piece)
                    yield {"reasoning_content": piece}
        elif isinstance(part, (Say, Refuse)):
            for piece in play.pieces(part.text):
                self.meter.write(piece)
                yield {"content": piece}
        else:
            # The stream announces a server call as in progress only if it also sends the result with the final status.
            announced = isinstance(part, ServerCall) and included(play, part)
            call = tool_call(play, place, part, _IN_PROGRESS if announced else _status(play, part))
            self.meter.write(call.function.arguments)
            yield {"tool_calls": [call]}

    def end(self, step: OutputStep, finish: int, last: bool) -> Any:
        """Return the chunk that ends a step. ``last``: it ends the answer, too."""
        return self._chunk(step.index, {}, finish, last)

    def result(self, index: int, place: int, part: ServerCall) -> Any:
        """Return the chunk with the result of a server call. It omits most members of other chunks."""
        delta = chat_pb2.Delta(**result(self._play, place, part))
        output = chat_pb2.CompletionOutputChunk(index=index, delta=delta)
        return chat_pb2.GetChatCompletionChunk(id=_head(self._play)["id"], outputs=[output], usage=self.meter.cost())

    def _chunk(self, index: int, delta: dict[str, Any], finish: int | None = None, last: bool = False) -> Any:
        self._sent += 1
        output = chat_pb2.CompletionOutputChunk(
            index=index, finish_reason=finish, delta=chat_pb2.Delta(role=chat_pb2.ROLE_ASSISTANT, **delta)
        )
        return chat_pb2.GetChatCompletionChunk(
            **_head(self._play),
            outputs=[output],
            created=None if newest(self._play) else _moment(self._play, self._sent),
            usage=self.meter.total() if last else self.meter.so_far(),
            citations=_citations(self._play) if last else None,
        )


def _message(play: Play, step: OutputStep, meter: TokenMeter) -> Any:
    calls = []
    for place, part in step.parts:
        if isinstance(part, (ScriptedCall, ServerCall)):
            call = tool_call(play, place, part, _status(play, part))
            meter.write(call.function.arguments)
            calls.append(call)
        elif isinstance(part, Think) and reasons(play):
            meter.think(part.text)
        elif not isinstance(part, Think):
            meter.write(part.text)
    return chat_pb2.CompletionMessage(
        role=chat_pb2.ROLE_ASSISTANT,
        content=step.said,
        reasoning_content=step.thought if shows(play) else None,
        tool_calls=calls,
        **_encrypted(play, step),
    )


def _encrypted(play: Play, step: OutputStep) -> dict[str, Any]:
    """Return the step's encrypted reasoning as a message member, an empty dict unless the request asks for it."""
    if not (step.parts and reasons(play) and play.body.use_encrypted_content):
        return {}
    return {"encrypted_content": play.opaque(f"thought {step.index}", 400)}


def _status(play: Play, part: ScriptedCall | ServerCall) -> int:
    if isinstance(part, ServerCall):
        return outcome(part)
    cut = play.round.ending == "length" and part is play.parts[-1]
    return _INCOMPLETE if cut else _COMPLETED


def _finish(play: Play, step: OutputStep, all_steps: list[OutputStep]) -> int | None:
    if step is not all_steps[-1]:
        return None if newest(play) else _TOOL_CALLS
    if play.round.ending == "length":
        return _MAX_LEN
    return _TOOL_CALLS if step.calls else _STOP


def _head(play: Play) -> dict[str, Any]:
    return {
        "id": play.uuid("answer"),
        "model": xai_rest.answering(play.model),
        "system_fingerprint": "fp_" + play.hex("fingerprint", 16 if newest(play) else 10),
    }


def _moment(play: Play, chunk: int) -> Timestamp:
    nanos = int(play.hex("nanos", 7), 16) + chunk * _BETWEEN
    return Timestamp(seconds=play.created + nanos // 1_000_000_000, nanos=nanos % 1_000_000_000)


def _citations(play: Play) -> list[str]:
    """Return the URLs of all hits, without duplicates."""
    hits = [hit.url for part in play.parts if isinstance(part, ServerCall) for hit in part.hits]
    return list(dict.fromkeys(hits))


def _settings(play: Play) -> Any:
    """Return the request's settings, with the service's defaults for those that are missing."""
    request = play.body
    settings = chat_pb2.RequestSettings()
    for field in settings.DESCRIPTOR.fields:
        if any(field.name == field_set.name for field_set, _ in request.ListFields()):
            value = getattr(request, field.name)
            if field.is_repeated:
                getattr(settings, field.name).extend(value)
            elif field.message_type is not None:
                getattr(settings, field.name).CopyFrom(value)
            else:
                setattr(settings, field.name, value)
        elif field.name in _DEFAULTS:
            setattr(settings, field.name, _DEFAULTS[field.name])
    return settings
