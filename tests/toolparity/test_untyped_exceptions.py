"""Item 9: whatever comes in, every public entry point gives a value or raises a typed error."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import openai.types.chat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2

from tests.support.answers import GRPC
from tests.support.damage import places
from tests.support.thoroughness import is_thorough
from tests.support.wires import BYTE_WIRES, WIRES
from tests.toolparity import entry_points as entrances
from toolparity import StreamDecoder, normalize, select
from toolparity.cassettes.sources import Problem, read
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.requests import check_request, read_request, write_request
from toolparity.textmode import TextReader

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 4_000 if os.environ.get("TOOLPARITY_EVERY_RECORDING") else 120 if is_thorough() else 30
USE = b'{"type":"message","id":"m","content":[{"type":"%s","id":"a","name":"f","input":%s}],"stop_reason":"tool_use"}'
fuzzed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "toolparity")


@pytest.mark.parametrize("entrance", [entrances.bodies, entrances.streams, entrances.messages, entrances.requests])
def test_item_9_every_entry_point_gives_a_value_or_a_typed_error(entrance: Callable[[Random], None]) -> None:
    @fuzzed
    @given(st.integers(0, 2**32))
    def holds(seed: int) -> None:
        entrance(Random(seed))

    holds()


def test_item_9_every_file_gives_exchanges_or_problems(tmp_path: Path) -> None:
    seeds = [path for path in sorted((ROOT / "cassettes" / "examples").iterdir()) if path.suffix == ".yaml"]

    @settings(fuzzed, max_examples=EXAMPLES // 4)
    @given(st.integers(0, 2**32))
    def holds(seed: int) -> None:
        entrances.files(Random(seed), tmp_path, seeds)

    holds()


@pytest.mark.thorough(keep=10)
@pytest.mark.parametrize("kind", [b"tool_use", b"server_tool_use", b"mcp_tool_use", b"unheard_of"])
@pytest.mark.parametrize(
    "given_input", [b'{"a": "\xff"}', b'{"\xc3": 1}', b'"\xed\xa0\x80"', b"\xff", b'{"a": ["\xf0\x9f"]}']
)
@pytest.mark.parametrize("declared", [None, ["f"]])
def test_item_9_invalid_utf_8_in_an_input(kind: bytes, given_input: bytes, declared: Any) -> None:
    body = USE % (kind, given_input)
    try:
        response = normalize(body, "anthropic.messages", request=declared)
    except MalformedBody:
        assert given_input == b"\xff"  # outside of a string it is not JSON at all
        return
    if kind != b"tool_use":
        return
    assert "corrupt-text" in {finding.code for finding in response.findings}
    (call,) = response.calls
    kept = select(response).kept
    assert len(kept) == (given_input[:1] == b"{")
    assert "\ufffd" in call.arguments_text


def test_item_9_invalid_utf_8_in_a_request_of_the_messages_api() -> None:
    call = b'{"type":"tool_use","id":"a","name":"f","input":{"x":"\xff"}}'
    body = b'{"model":"m","messages":[{"role":"assistant","content":[' + call + b"]}]}"
    (turn,) = read_request(body, "anthropic.messages").messages
    assert turn.response.calls[0].arguments == {"x": "\ufffd"}  # type: ignore[union-attr]


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 253402300800, -62135596801])
@pytest.mark.parametrize("nanos", [0, -1, 2**31 - 1])
def test_item_9_a_timestamp_out_of_range(seconds: int, nanos: int) -> None:
    message = chat_pb2.GetChatCompletionResponse()
    message.CopyFrom(next(iter(GRPC.values())))
    message.created.seconds, message.created.nanos = seconds, nanos
    kept = {"seconds": seconds, "nanos": nanos} if nanos else {"seconds": seconds}
    assert normalize(message.SerializeToString(), "xai.grpc").extra["created"] == kept
    chunk = chat_pb2.GetChatCompletionChunk(created=message.created)
    decoder = StreamDecoder("xai.grpc")
    decoder.feed(chunk)
    assert decoder.finish().extra["created"] == kept


def test_item_9_a_lone_surrogate_in_an_sdk_object() -> None:
    body = {"id": "c", "choices": [{"index": 0, "message": {"content": "\ud800"}, "finish_reason": "stop"}]}
    completion = openai.types.chat.ChatCompletion.construct(**body)  # type: ignore[arg-type]
    assert normalize(completion).text == "\ud800"


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("value", [object(), {1, 2}, float("inf"), b"x"])
def test_item_9_a_parsed_request_with_values_that_are_not_json(wire: str, value: Any) -> None:
    request = entrances.hurt(Random(1), entrances.REQUESTS[wire])
    for member in ("messages", "input", "contents"):
        for message in request.get(member) or ():
            message["tool_calls"] = message["toolCalls"] = message["arguments"] = [{"function": value}]
    entrances.tried(read_request, request, wire)
    entrances.tried(check_request, request, wire)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("wire", WIRES)
def test_item_9_a_request_with_any_member_of_another_type(wire: str) -> None:
    """Each member in turn is given every strange value, and a nesting beyond the depth of Python's recursion.

    In the plain run, each member is given one value of six, and the next one the following.
    """
    deep: Any = {}
    for _ in range(480):
        deep = {"type": "object", "anyOf": [deep]}
    for number, (*path, last) in enumerate(places(entrances.REQUESTS[wire])):
        values = [*entrances.strange_values(), deep]
        for value in values if is_thorough() else values[number % 6 :: 6]:
            request = copy.deepcopy(entrances.REQUESTS[wire])
            holder: Any = request
            for key in path:
                holder = holder[key]
            holder[last] = value
            entrances.tried(check_request, request, wire)
            read = entrances.tried(read_request, request, wire)
            if read is not None:
                entrances.tried(write_request, read, wire)


def test_item_9_a_number_too_large_for_protobuf_is_a_loss() -> None:
    request = read_request({"messages": [], "temperature": 10**400}, "openai.chat")
    encoded = write_request(request, "xai.grpc")
    assert [loss.code for loss in encoded.losses] == ["param"]


def test_item_9_a_request_nested_beyond_every_limit() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    tool = {"type": "function", "function": {"name": "f", "parameters": deep}}
    request = read_request({"messages": [], "tools": [tool]}, "openai.chat")
    with pytest.raises(MalformedBody, match="nested too deep"):
        write_request(request, "xai.grpc")


def test_item_9_a_har_file_with_invalid_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "made.har"
    path.write_bytes(b'{"log": {"\xed": 1, "entries": []}}')
    (found,) = read(path)
    assert isinstance(found, Problem)


@pytest.mark.parametrize(
    "tools", ["get_weather", b"\xff", "[1]", "[" * 100_000, {"tools": 5}, {"tools": [5]}, 7, [[1]]]
)
def test_item_9_invalid_tools_for_a_text_reader(tools: Any) -> None:
    entrances.tried(lambda: TextReader("hermes", StreamDecoder("openai.chat"), tools=tools))


def test_item_9_a_schema_that_is_not_json_in_a_protobuf_request() -> None:
    tool = chat_pb2.Tool(function=chat_pb2.Function(name="f", parameters="{x"))
    with pytest.raises(MalformedBody, match="not JSON"):
        TextReader("hermes", StreamDecoder("xai.grpc"), tools=chat_pb2.GetCompletionsRequest(tools=[tool]))


@pytest.mark.parametrize("wire", BYTE_WIRES)
@pytest.mark.parametrize("body", [b"junk", "", [], None, 7, b"[]"])
def test_item_9_a_request_that_is_not_an_object_breaks_a_rule(wire: Any, body: object) -> None:
    assert check_request(body, wire)
