"""Hooks of vcrpy that raise while a call with a stream of requests is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.wrappers_pb2 import StringValue

from toolparity.cassettes.vcr_grpc.recording import CallRecording

from .callers import UNARY, Way, all_at_once, call, chat, of, stream, unary, upload_future
from .conftest import Use
from .servers import Shop, text


class Stop(BaseException):
    """Not an Exception, as sys.exit's is not."""


@pytest.mark.parametrize("error", [ValueError, Stop])
@pytest.mark.parametrize("way", [*UNARY, upload_future, chat, all_at_once])
def test_a_hook_that_raises_does_not_end_the_thread_of_the_channel(
    shop: Shop, use: Use, way: Way, error: type[BaseException]
) -> None:
    """On grpc's own thread an exception becomes the status of the call."""
    raises = iter([True])

    def hook(response: Any) -> Any:
        if next(raises, False):
            raise error("refused by the hook")
        return response

    method = "Say" if way in UNARY else "RecordRoute" if way is upload_future else "RouteChat"
    raised, details, cassette = None, "", None
    try:
        with use(before_record_response=hook) as cassette, grpc.insecure_channel(shop.target) as channel:
            details = way(shop.target, method, "one" if way in UNARY else ["one"]).details
            assert len(cassette) == 0
            assert unary(channel, "Say")(text("home"), timeout=20).value == "home"
    except (ValueError, Stop) as caught:
        raised = caught
    # The status carries the text, unless the client had it already: then closing the cassette raises.
    assert ("refused by the hook" in details) != (raised is not None)
    assert call(shop.target, "Say").code is grpc.StatusCode.OK  # no cassette is open any more


def refuse(response: Any) -> Any:
    raise ValueError("refused by the hook")


def wait(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def test_a_hook_that_raises_while_the_client_asks_for_a_message_does_not_end_the_thread_either(
    shop: Shop, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = CallRecording.reading

    recordings: list[Any] = []

    def overtaken(recording: CallRecording) -> None:
        """Wait before the second read until the call ended: the read does not start, and this thread writes."""
        reading(recording)
        if recordings:
            shop.service.hold.set()
            wait(lambda: recording._status is not None)
        recordings.append(recording)

    monkeypatch.setattr(CallRecording, "reading", overtaken)
    values = []

    def read_on() -> None:
        with use(before_record_response=refuse), grpc.insecure_channel(shop.target) as channel:
            running = of(channel, "stream_stream", "Linger")(iter([text("one")]))
            values.append(next(running).value)
            # The channel's thread must not wait for the lock that a read holds.
            wait(lambda: recordings[0]._order.closed_after is not None and len(running._state.due) == 2)
            values.extend(running)
            values.append(running.code())

    with pytest.raises(ValueError, match="refused by the hook"):
        read_on()
    assert values == ["first one", grpc.StatusCode.OK]


def test_a_hook_that_raises_for_a_cancelled_call_raises_when_the_cassette_closes(shop: Shop, use: Use) -> None:
    def failing() -> Iterator[StringValue]:
        yield text("one")
        raise RuntimeError("the client's own error")

    def failed_call() -> None:
        with use(before_record_response=refuse), grpc.insecure_channel(shop.target) as channel:
            running = of(channel, "stream_stream", "RouteChat")(failing())
            with pytest.raises(grpc.RpcError, match="Exception iterating requests!"):
                list(running)

    with pytest.raises(ValueError, match="refused by the hook"):
        failed_call()


def test_a_hook_that_raises_when_all_else_is_over_is_heard_of_when_the_cassette_is_closed(
    shop: Shop, use: Use, tmp_path: Path
) -> None:
    def refuse_the_cut(response: Any) -> Any:
        if response["grpc"].get("left_by_caller"):
            raise ValueError("refused by the hook")
        return response

    def run() -> None:
        with use(before_record_response=refuse_the_cut):
            call(shop.target, "Say")
            responses = stream(channel, "Held")(text("x"))
            next(responses)

    with grpc.insecure_channel(shop.target) as channel, pytest.raises(ValueError, match="refused by the hook"):
        run()
    assert call(shop.target, "Say").code is grpc.StatusCode.OK  # no cassette is open any more
    assert shop.service.calls == ["Say", "Held", "Say"]
    assert "test.Shop/Say" in (tmp_path / "c.yaml").read_text()
    assert "Held" not in (tmp_path / "c.yaml").read_text()
