"""Hooks of vcrpy that raise while a call with a stream of requests is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.wrappers_pb2 import StringValue

from toolparity.cassettes.vcr_grpc.recording import CallRecording

from .callers import text
from .conftest import Use
from .routes import Running, Way, all_at_once, chat, future, of


class Stop(BaseException):
    """Not an Exception, as sys.exit's is not."""


@pytest.mark.parametrize("error", [ValueError, Stop])
@pytest.mark.parametrize("way", [future, chat, all_at_once])
def test_a_hook_that_raises_does_not_end_the_thread_of_the_channel(
    route: Running, use: Use, way: Way, error: type[BaseException]
) -> None:
    raises = iter([True])

    def hook(response: Any) -> Any:
        if next(raises, False):
            raise error("refused by the hook")
        return response

    method = "RecordRoute" if way is future else "RouteChat"
    raised, values = None, []
    try:
        with use(before_record_response=hook), grpc.insecure_channel(route.target) as channel:
            values = way(route.target, method, ["one"])
            assert of(channel, "unary_unary", "GetFeature")(text("home"), timeout=20).value == "at home"
    except (ValueError, Stop) as caught:
        raised = caught
    # The status carries the text, unless the client had it already: then closing the cassette raises.
    assert any("refused by the hook" in str(each) for each in values) != (raised is not None)


def wait(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_a_hook_that_raises_while_the_client_asks_for_a_message_does_not_end_the_thread_either(
    route: Running, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = CallRecording.reading

    recordings: list[Any] = []

    def overtaken(recording: CallRecording) -> None:
        """Wait before the second read until the call ended: the read does not start, and this thread writes."""
        reading(recording)
        if recordings:
            route.service.hold.set()
            wait(lambda: recording._status is not None)
        recordings.append(recording)

    def hook(response: Any) -> Any:
        raise ValueError("refused by the hook")

    monkeypatch.setattr(CallRecording, "reading", overtaken)
    values = []

    def read_on() -> None:
        with use(before_record_response=hook), grpc.insecure_channel(route.target) as channel:
            call = of(channel, "stream_stream", "Linger")(iter([text("one")]))
            values.append(next(call).value)
            # The channel's thread must not wait for the lock that a read holds.
            wait(lambda: recordings[0]._order.closed_after is not None and len(call._state.due) == 2)
            values.extend(call)
            values.append(call.code())

    with pytest.raises(ValueError, match="refused by the hook"):
        read_on()
    assert values == ["first one", grpc.StatusCode.OK]


def test_a_hook_that_raises_for_a_cancelled_call_raises_when_the_cassette_closes(route: Running, use: Use) -> None:
    def hook(response: Any) -> Any:
        raise ValueError("refused by the hook")

    def failing() -> Iterator[StringValue]:
        yield text("one")
        raise RuntimeError("the client's own error")

    def failed_call() -> None:
        with use(before_record_response=hook), grpc.insecure_channel(route.target) as channel:
            call = of(channel, "stream_stream", "RouteChat")(failing())
            with pytest.raises(grpc.RpcError, match="Exception iterating requests!"):
                list(call)

    with pytest.raises(ValueError, match="refused by the hook"):
        failed_call()
