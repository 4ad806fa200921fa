"""Whatever comes in, every public entry point returns a value or raises a typed error."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic.types
import cohere
import ollama
import openai.types.chat
import openai.types.responses
import pytest
from cohere.core.unchecked_base_model import construct_type
from google.genai import interactions
from google.genai import types as gemini
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2

from tests.support import emit
from tests.support.damage import STRANGE, garbled, hurt, places
from tests.support.thoroughness import is_thorough
from tests.support.wires import BYTE_WIRES, WIRES
from toolparity import Response, StreamDecoder, ToolparityError, normalize, select
from toolparity.cassettes.sources import read
from toolparity.normalizer import json_codec
from toolparity.normalizer.answers import answer, strip
from toolparity.normalizer.detect import detect_body, detect_event
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.repair import strip_name, unwrap_arguments, unwrap_fields, unwrap_parallel
from toolparity.normalizer.requests import RequestWriter, check_request, read_request, write_request
from toolparity.textmode import DIALECTS, TextReader, read_response, report

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 4_000 if os.environ.get("TOOLPARITY_EVERY_RECORDING") else 120 if is_thorough() else 30
REQUESTS: dict[str, Any] = json.loads((ROOT / "tests/normalizer/history/full_requests.json").read_text("utf-8"))
#: How an SDK builds its object of a body. boto3 returns plain dictionaries.
BUILDERS: dict[str, Callable[[Any], Any]] = {
    "openai.chat": lambda body: openai.types.chat.ChatCompletion.construct(**body),
    "openai.responses": lambda body: openai.types.responses.Response.construct(**body),
    "anthropic.messages": lambda body: anthropic.types.Message.construct(**body),
    "google.gemini": lambda body: gemini.GenerateContentResponse.model_construct(**body),
    "google.interactions": lambda body: interactions.Interaction.model_construct(**body),
    "cohere.chat": lambda body: construct_type(type_=cohere.V2ChatResponse, object_=body),
    "ollama.chat": lambda body: ollama.ChatResponse.model_construct(**body),
    "bedrock.converse": dict,
}
#: What a request declares, in the forms that `request` takes.
DECLARED: list[Any] = [
    None,
    ["f", "weather"],
    {"tools": [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "name": "patch"}], "n": 2},
    [{"name": "f", "input_schema": {}}],
]
#: Values that callers pass as parsed JSON, and some that JSON cannot hold.
VALUES: list[Any] = [*STRANGE, 2**70, "\x00", float("nan"), float("inf"), b"x", {1: 2}, object(), {1, 2}]
USE = b'{"type":"message","id":"m","content":[{"type":"%s","id":"a","name":"f","input":%s}],"stop_reason":"tool_use"}'
fuzzed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "toolparity")


def tried(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a call returns, None where it raises a typed error. Any other exception passes."""
    try:
        return call(*arguments, **options)
    except ToolparityError:
        return None


def streamed(wire: str | None, pieces: list[Any], request: Any) -> Response:
    decoder = StreamDecoder(wire, request=request)
    for piece in pieces:
        decoder.feed(piece)
    return decoder.finish()


def act(response: Response | None) -> None:
    """Do everything that a caller does with a response."""
    if response is None:
        return
    json_codec.encode(response)
    report(response)
    tried(read_response, response)
    for choice in response.choices[:2]:
        for policy in ("first", "all", "batch"):
            selection = select(response, policy, choice=choice.index)
            tried(answer, response, selection, {ref.id: {"x": 1} for ref in selection.kept[:1]})
            tried(strip, response, selection)
    for call in response.calls:
        unwrap_arguments(call)
        unwrap_fields(call, {"properties": {"a": {"type": "object"}}})
        unwrap_parallel(call, ["f"])
        strip_name(call, ["f"])


def as_json(tree: Any) -> str | None:
    try:
        return json.dumps(tree)
    except (TypeError, ValueError):
        return None


def sdk_object(wire: str, body: Any) -> Any:
    """Return the SDK's object of a body, None where the SDK cannot build it."""
    try:
        return BUILDERS[wire](body)
    except (TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        return None


parts = st.sampled_from(list(emit.ANSWERS.values()))
wires = st.sampled_from(BYTE_WIRES)
declared = st.sampled_from(DECLARED)


@fuzzed
@given(st.data(), wires, parts, declared)
def test_a_damaged_body_gives_a_response_or_a_typed_error(
    data: st.DataObject, wire: str, parts: Any, request: Any
) -> None:
    body = emit.emit_body(wire, parts)
    tree = data.draw(hurt(json.loads(body), VALUES))
    broken = data.draw(garbled(body))
    for form in filter(None, (tree, broken, bytearray(broken), as_json(tree), sdk_object(wire, tree))):
        act(tried(normalize, form, wire, request=request))
        tried(normalize, form)
        tried(normalize, form, wire, status=500)
    tried(detect_body, broken)
    tried(detect_event, broken)


@fuzzed
@given(st.data(), wires, parts, declared)
def test_a_damaged_stream_gives_a_response_or_a_typed_error(
    data: st.DataObject, wire: str, parts: Any, request: Any
) -> None:
    frames = emit.emit_stream(wire, parts)
    broken = data.draw(garbled(b"".join(frames)))
    pieces = [broken[: len(broken) // 2], broken[len(broken) // 2 :]]
    events = data.draw(hurt([emit.payload(wire, frame) for frame in frames], VALUES))
    for stated in (wire, None):
        act(tried(streamed, stated, pieces, request))
        act(tried(streamed, stated, events, request))
    dialect = data.draw(st.sampled_from([*DIALECTS, None]))
    reader = TextReader(dialect, StreamDecoder(wire, request=request), limit=data.draw(st.sampled_from([None, 1])))
    for piece in pieces:
        tried(reader.feed, piece)
    tried(reader.finish)


@fuzzed
@given(st.data(), parts, declared)
def test_damaged_messages_of_xai_give_a_response_or_a_typed_error(
    data: st.DataObject, parts: Any, request: Any
) -> None:
    message = chat_pb2.GetChatCompletionResponse.FromString(emit.emit_body("xai.grpc", parts))
    act(tried(normalize, data.draw(garbled(message.SerializeToString())), "xai.grpc", request=request))
    message.created.seconds = data.draw(st.sampled_from([2**62, -(2**60), 5]))
    message.created.nanos = data.draw(st.sampled_from([0, -1, 2**31 - 1]))
    act(tried(normalize, message, request=request))
    frames = emit.emit_stream("xai.grpc", parts)
    act(tried(streamed, "xai.grpc", frames, request))
    at = data.draw(st.integers(0, len(frames) - 1))
    act(tried(streamed, "xai.grpc", [*frames[:at], data.draw(garbled(frames[at])), *frames[at + 1 :]], request))


@fuzzed
@given(st.data(), st.sampled_from(WIRES))
def test_a_damaged_request_is_read_checked_and_written_or_refused(data: st.DataObject, wire: str) -> None:
    tree = data.draw(hurt(REQUESTS[wire], VALUES))
    if wire == "xai.grpc":
        body = ParseDict(REQUESTS[wire], chat_pb2.GetCompletionsRequest()).SerializeToString()
    else:
        body = json.dumps(REQUESTS[wire]).encode()
    for form in filter(None, (tree, as_json(tree), data.draw(garbled(body)))):
        tried(check_request, form, wire)
        tried(normalize, emit.emit_body("openai.chat", [emit.LOOKUP]), "openai.chat", request=form)
        request = tried(read_request, form, wire)
        for target in WIRES if request is not None else ():
            tried(write_request, request, target)
            encoded = tried(RequestWriter(target).write, request)
            if encoded is not None:
                tried(check_request, encoded.body, target)
                tried(read_request, encoded.body, target)


def test_a_damaged_file_gives_exchanges_or_problems(tmp_path: Path) -> None:
    examples = [path for path in sorted((ROOT / "cassettes" / "examples").iterdir()) if path.suffix == ".yaml"]

    @settings(fuzzed, max_examples=EXAMPLES // 4)
    @given(st.data(), wires, parts)
    def holds(data: st.DataObject, wire: str, parts: Any) -> None:
        contents = data.draw(st.sampled_from([emit.emit_body(wire, parts), b"".join(emit.emit_stream(wire, parts))]))
        suffix = data.draw(st.sampled_from([".json", ".sse", ".jsonl", ".yaml", ".har", ".jsonl.gz", ""]))
        example = data.draw(st.sampled_from(examples))
        for name, content in ((f"made{suffix}", contents), (example.name, example.read_bytes())):
            (tmp_path / name).write_bytes(data.draw(garbled(content)))
            list(read(tmp_path / name))

    holds()


@pytest.mark.thorough(keep=10)
@pytest.mark.parametrize("kind", [b"tool_use", b"server_tool_use", b"mcp_tool_use", b"unheard_of"])
@pytest.mark.parametrize(
    "given_input", [b'{"a": "\xff"}', b'{"\xc3": 1}', b'"\xed\xa0\x80"', b"\xff", b'{"a": ["\xf0\x9f"]}']
)
@pytest.mark.parametrize("declared", [None, ["f"]])
def test_invalid_utf_8_in_an_input(kind: bytes, given_input: bytes, declared: Any) -> None:
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


def test_invalid_utf_8_in_a_request_of_the_messages_api() -> None:
    call = b'{"type":"tool_use","id":"a","name":"f","input":{"x":"\xff"}}'
    body = b'{"model":"m","messages":[{"role":"assistant","content":[' + call + b"]}]}"
    (turn,) = read_request(body, "anthropic.messages").messages
    assert turn.response.calls[0].arguments == {"x": "\ufffd"}  # type: ignore[union-attr]


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 253402300800, -62135596801])
@pytest.mark.parametrize("nanos", [0, -1, 2**31 - 1])
def test_a_timestamp_out_of_range_is_kept_as_it_is(seconds: int, nanos: int) -> None:
    message = chat_pb2.GetChatCompletionResponse.FromString(emit.emit_body("xai.grpc", [emit.LOOKUP]))
    message.created.seconds, message.created.nanos = seconds, nanos
    kept = {"seconds": seconds, "nanos": nanos} if nanos else {"seconds": seconds}
    assert normalize(message.SerializeToString(), "xai.grpc").extra["created"] == kept
    chunk = chat_pb2.GetChatCompletionChunk(created=message.created)
    assert streamed("xai.grpc", [chunk], None).extra["created"] == kept


def test_a_lone_surrogate_in_an_sdk_object() -> None:
    body = {"id": "c", "choices": [{"index": 0, "message": {"content": "\ud800"}, "finish_reason": "stop"}]}
    completion = openai.types.chat.ChatCompletion.construct(**body)  # type: ignore[arg-type]
    assert normalize(completion).text == "\ud800"


@pytest.mark.parametrize("wire", WIRES)
def test_values_that_are_not_json_in_a_parsed_request_raise_typed_errors(wire: str) -> None:
    for value in (object(), {1, 2}, float("inf"), b"x"):
        request = copy.deepcopy(REQUESTS[wire])
        for member in ("messages", "input", "contents"):
            for message in request.get(member) or ():
                message["tool_calls"] = message["toolCalls"] = message["arguments"] = [{"function": value}]
        tried(read_request, request, wire)
        tried(check_request, request, wire)


@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("wire", WIRES)
def test_a_member_of_another_type_anywhere_in_a_request_raises_typed_errors(wire: str) -> None:
    """Each member in turn gets every value, and a nesting beyond the depth of Python's recursion.

    In the plain run, each member gets one value of twenty, and the next one the following.
    """
    deep: Any = {}
    for _ in range(480):
        deep = {"type": "object", "anyOf": [deep]}
    values = [*VALUES, deep]
    for number, (*path, last) in enumerate(places(REQUESTS[wire])):
        for value in values if is_thorough() else values[number % 20 :: 20]:
            request = copy.deepcopy(REQUESTS[wire])
            holder: Any = request
            for key in path:
                holder = holder[key]
            holder[last] = value
            tried(check_request, request, wire)
            read_back = tried(read_request, request, wire)
            if read_back is not None:
                tried(write_request, read_back, wire)


def test_a_number_too_large_for_protobuf_is_a_loss() -> None:
    request = read_request({"messages": [], "temperature": 10**400}, "openai.chat")
    encoded = write_request(request, "xai.grpc")
    assert [loss.code for loss in encoded.losses] == ["param"]


def test_a_request_nested_beyond_every_limit() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    tool = {"type": "function", "function": {"name": "f", "parameters": deep}}
    request = read_request({"messages": [], "tools": [tool]}, "openai.chat")
    with pytest.raises(MalformedBody, match="nested too deep"):
        write_request(request, "xai.grpc")


@pytest.mark.parametrize(
    "tools", ["get_weather", b"\xff", "[1]", "[" * 100_000, {"tools": 5}, {"tools": [5]}, 7, [[1]]]
)
def test_invalid_tools_for_a_text_reader(tools: Any) -> None:
    tried(lambda: TextReader("hermes", StreamDecoder("openai.chat"), tools=tools))


def test_a_schema_that_is_not_json_in_a_protobuf_request() -> None:
    tool = chat_pb2.Tool(function=chat_pb2.Function(name="f", parameters="{x"))
    with pytest.raises(MalformedBody, match="not JSON"):
        TextReader("hermes", StreamDecoder("xai.grpc"), tools=chat_pb2.GetCompletionsRequest(tools=[tool]))


@pytest.mark.parametrize("wire", BYTE_WIRES)
@pytest.mark.parametrize("body", [b"junk", "", [], None, 7, b"[]"])
def test_a_request_that_is_not_an_object_breaks_a_rule(wire: Any, body: object) -> None:
    assert check_request(body, wire)
