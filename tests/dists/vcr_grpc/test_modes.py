"""Record modes, matchers, filters, hooks and play counts: vcrpy's own, obeyed for gRPC as for HTTP."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import vcr
from google.protobuf.wrappers_pb2 import StringValue
from vcr.errors import CannotOverwriteExistingCassetteException

from toolparity.cassettes import vcr_grpc
from toolparity.cassettes.vcr_grpc.recording import CallRecording

from . import callers
from .callers import STREAM, UNARY, Way, all_at_once, call, chat, of, stream, unary, upload_future
from .conftest import Gone, Use
from .servers import Shop, text


def say(shop: Shop, values: str = "x", **more: Any) -> str:
    (message,) = callers.call(shop.target, "Say", values, **more).messages
    return str(message.value)


@pytest.mark.parametrize("way", [*UNARY, *STREAM])
def test_under_none_an_unknown_call_is_an_error_and_nothing_is_sent(
    shop: Shop, use: Use, unreachable: Gone, way: Any
) -> None:
    with use():
        say(shop, "something else")
    with unreachable(shop), use(record_mode="none"), pytest.raises(CannotOverwriteExistingCassetteException) as raised:
        way(shop.target, "Count" if way in STREAM else "Say")
    assert isinstance(raised.value, vcr_grpc.CallNotRecorded)
    assert "overwrite" not in str(raised.value)
    assert not isinstance(raised.value, grpc.RpcError)  # no one takes it for a status and tries again


def test_once_records_a_new_cassette_and_then_takes_nothing_more(shop: Shop, use: Use) -> None:
    with use(record_mode="once"):
        say(shop)
    with use(record_mode="once") as cassette:
        say(shop)
        with pytest.raises(vcr_grpc.CallNotRecorded):
            say(shop, "new")
    assert (len(cassette), len(shop.service.calls)) == (1, 1)


def test_all_asks_again_and_replaces(shop: Shop, use: Use) -> None:
    for mode, value in (("once", "1"), ("all", "2"), ("none", "2")):
        with use(record_mode=mode) as cassette:
            assert callers.call(shop.target, "Number").messages[0].value == value
    assert len(cassette) == 1


def test_new_episodes_plays_what_is_there_and_records_the_rest(shop: Shop, use: Use) -> None:
    with use():
        say(shop)
    with use(record_mode="new_episodes"):
        say(shop)
        assert say(shop, "new") == "new"
    assert len(shop.service.calls) == 2
    with use(record_mode="none") as cassette:
        say(shop, "new")
        say(shop)
    assert cassette.all_played


def test_each_answer_plays_once_unless_repeats_are_allowed(shop: Shop, use: Use, unreachable: Gone) -> None:
    def number() -> str:
        return str(callers.call(shop.target, "Number").messages[0].value)

    with use():
        assert [number(), number()] == ["1", "2"]
    with unreachable(shop):
        with use(record_mode="none") as cassette:
            assert number() == "1"
            assert (cassette.play_count, cassette.all_played) == (1, False)
            assert number() == "2"
            assert (cassette.play_count, cassette.all_played) == (2, True)
            with pytest.raises(vcr_grpc.CallNotRecorded, match="already played") as raised:
                number()
            assert raised.value.reason == "already_played"
        with use(record_mode="none", allow_playback_repeats=True):
            assert [number(), number(), number()] == ["1", "1", "1"]


@pytest.mark.parametrize("settings", [{"ignore_hosts": ["127.0.0.1"]}, {"ignore_localhost": True}])
@pytest.mark.parametrize("way", [*UNARY, *STREAM])
def test_ignored_hosts_go_to_the_network_unrecorded(shop: Shop, use: Use, way: Any, settings: dict[str, Any]) -> None:
    with use(record_mode="none", **settings) as cassette:
        seen = way(shop.target, "Count" if way in STREAM else "Metadata")
    assert seen.code is grpc.StatusCode.OK
    assert (len(cassette), len(shop.service.calls)) == (0, 1)


def test_hooks_see_requests_and_responses_and_may_change_or_drop_them(shop: Shop, use: Use) -> None:
    def request_hook(request: Any) -> Any:
        request.headers["hooked"] = "yes"
        return None if "secret" in request.body.decode() else request

    def response_hook(response: Any) -> Any:
        response["trailers"]["cost"] = ["0"]
        return response

    with use(before_record_request=request_hook, before_record_response=response_hook) as cassette:
        seen = callers.call(shop.target, "Metadata")
        say(shop, "secret")
    assert ("cost", "3") in seen.trailing
    assert [request.headers["hooked"] for request in cassette.requests] == ["yes"]
    with use(record_mode="none"):
        assert ("cost", "0") in callers.call(shop.target, "Metadata").trailing


def test_headers_filtered_from_the_metadata_reach_the_server_but_no_file(shop: Shop, use: Use, tmp_path: Path) -> None:
    metadata = [("authorization", "Bearer sk-1"), ("trace-bin", b"\x00\x01"), ("x-many", "1"), ("x-many", "2")]
    metadata += [("y-many", "1"), ("y-many", "2"), ("y-bin", b"1"), ("y-bin", b"2")]
    with use(filter_headers=["authorization", ("x-many", "-")]):
        say(shop, metadata=metadata)
    written = (tmp_path / "c.yaml").read_text()
    assert "sk-1" not in written
    with use(record_mode="none", filter_headers=["authorization", ("x-many", "-")]) as cassette:
        say(shop, metadata=metadata)
    kept = {"trace-bin": "AAE=", "x-many": "-", "y-many": "1, 2", "y-bin": "MQ==,Mg=="}
    assert dict(cassette.requests[0].headers) == kept


def test_match_on_decides_what_counts(shop: Shop, use: Use) -> None:
    with use():
        say(shop, "recorded", metadata=(("a", "1"),))
    with use(record_mode="none", match_on=("method", "scheme", "host", "port", "path", "query")):
        assert say(shop, "other", metadata=(("a", "2"),)) == "recorded"
    with use(record_mode="none", match_on=("uri", "headers")), pytest.raises(vcr_grpc.CallNotRecorded, match="headers"):
        say(shop, "other", metadata=(("a", "2"),))


def test_a_decorated_function_and_custom_patches_of_one_use_work_alike(shop: Shop, tmp_path: Path) -> None:
    @vcr.use_cassette(str(tmp_path / "d.yaml"), custom_patches=vcr_grpc.custom_patches(), record_mode="once")
    def number() -> str:
        return str(callers.call(shop.target, "Number").messages[0].value)

    assert [number(), number()] == ["1", "1"]
    assert len(shop.service.calls) == 1


def test_a_miss_shows_the_nearest_recorded_request_and_what_differs(shop: Shop, use: Use) -> None:
    with use():
        callers.iterate(shop.target, "Count", "far away")
        say(shop, "recorded")
        say(shop, "recorded too")
    with use(record_mode="none"), pytest.raises(vcr_grpc.CallNotRecorded) as raised:
        say(shop, "asked")
    responses = str(raised.value)
    assert f"no recorded response for grpc://{shop.target}/test.Shop/Say; nothing was sent" in responses
    assert "interaction 2" in responses
    assert 'the message: recorded "recorded", now "asked"' in responses
    assert raised.value.reason == "no_match"
    with use(record_mode="none"), pytest.raises(vcr_grpc.CallNotRecorded, match=r"uri differs: .*/Number != .*/Say"):
        callers.call(shop.target, "Number", "recorded")


def test_a_miss_in_an_empty_cassette_says_that_it_is_empty(shop: Shop, use: Use) -> None:
    with use(record_mode="none"), pytest.raises(vcr_grpc.CallNotRecorded, match="is empty") as raised:
        say(shop)
    assert raised.value.reason == "cassette_not_found"
    assert shop.service.calls == []


def test_an_ignored_call_with_a_stream_of_requests_reaches_the_server(shop: Shop, use: Use) -> None:
    with grpc.insecure_channel(shop.target) as channel, use(ignore_localhost=True) as cassette:
        assert callers.of(channel, "stream_unary", "RecordRoute")(map(text, "xy"), timeout=5).value == "x - y"
        assert len(cassette) == 0


def test_a_request_that_cannot_be_serialized_is_an_error_of_its_own(shop: Shop, use: Use) -> None:
    async def aio() -> None:
        async with grpc.aio.insecure_channel(shop.target) as channel:
            await channel.unary_unary("/test.Shop/Say")("no bytes")

    with use() as cassette, grpc.insecure_channel(shop.target) as channel:
        with pytest.raises(vcr_grpc.UnserializableRequest, match="str, not to bytes"):
            channel.unary_unary("/test.Shop/Say")("no bytes")
        with pytest.raises(vcr_grpc.UnserializableRequest, match="cannot be serialized"):
            unary(channel, "Say")("no message")
        with pytest.raises(vcr_grpc.UnserializableRequest):
            asyncio.run(aio())
    assert len(cassette) == 0
    assert shop.service.calls == []


def test_an_http_interaction_in_the_place_of_a_call_is_an_error_that_says_so(
    shop: Shop, use: Use, tmp_path: Path
) -> None:
    request = {"method": "POST", "uri": f"grpc://{shop.target}/test.Shop/Say", "body": "{}", "headers": {}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}
    (tmp_path / "c.yaml").write_text(
        json.dumps({"version": 1, "interactions": [{"request": request, "response": response}]})
    )
    with (
        use(record_mode="none", match_on=("uri",)),
        pytest.raises(vcr_grpc.UnreadableInteraction, match=r"c.yaml, interaction 1 .*not recorded from a gRPC call"),
    ):
        say(shop)


# Hooks that raise while a call is recorded


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
