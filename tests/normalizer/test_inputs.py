"""Whatever holds an answer is read alike: bytes, text, parsed JSON and the SDKs' own objects."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import anthropic
import cohere
import google.genai
import httpx
import ollama
import openai
import pydantic
import pytest
import xai_sdk.chat
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from cohere.core.unchecked_base_model import construct_type as cohere_construct
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response as OpenAIResponse
from openai.types.responses import ResponseStreamEvent
from xai_sdk.proto import chat_pb2

from tests.support.decoding import decoded
from tests.support.emit import LOOKUP, emit_body, emit_stream, scripted_call
from tests.support.wires import JSON_WIRES, WIRES
from toolparity import Reasoning, Response, StreamDecoder, normalize
from toolparity.cassettes.scripts import Say, Think
from toolparity.normalizer.errors import MalformedBody

STEPS = [Think("Hm."), Say("I look."), LOOKUP, scripted_call(('{"a": [1, ', "2]}"), "call_b", "other")]
SPOKEN = [Say("I look."), LOOKUP, scripted_call(('{"a": [1, ', "2]}"), "call_b", "other")]


def told(response: Response) -> tuple[Any, ...]:
    """What has to be the same: the calls, the words, how it ended; not the spelling of arguments."""
    calls = [(c.id, c.name, c.arguments, c.status, c.kind, c.wire_id) for c in response.calls]
    return calls, response.text, [choice.stop for choice in response.choices], response.complete, response.error


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("form", [bytes.decode, bytearray, memoryview], ids=["text", "bytearray", "memoryview"])
def test_a_body_in_any_kind_of_bytes_or_text_is_the_same_response(wire: str, form: Callable[[bytes], Any]) -> None:
    body = emit_body(wire, STEPS)
    response = normalize(body, wire)
    assert normalize(form(body), wire) == response
    assert normalize(form(body)) == response


@pytest.mark.parametrize("form", [bytearray, memoryview])
def test_a_protobuf_message_in_any_kind_of_bytes_is_the_same_response(form: Callable[[bytes], Any]) -> None:
    body = emit_body("xai.grpc", STEPS)
    assert normalize(form(body), "xai.grpc") == normalize(body, "xai.grpc")


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_parsed_json_is_the_same_response(wire: str) -> None:
    body = emit_body(wire, STEPS)
    assert told(normalize(json.loads(body), wire)) == told(normalize(body, wire))
    assert told(normalize(json.loads(body))) == told(normalize(body, wire))


def test_arguments_that_had_no_text_are_spelled_compactly_and_a_finding_says_so() -> None:
    wire = "anthropic.messages"
    body = emit_body(wire, [LOOKUP])
    parsed, exact = normalize(json.loads(body), wire), normalize(body, wire)
    assert [call.arguments_text for call in exact.calls] == ['{"city":"Turin"}']
    assert [call.arguments_text for call in parsed.calls] == ['{"city":"Turin"}']
    assert [finding.code for finding in parsed.findings] == ["arguments-respelled"]
    assert exact.findings == ()


@pytest.mark.thorough(keep=1, per="{wire}")
@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("form", [bytes.decode, bytearray, memoryview], ids=["text", "bytearray", "memoryview"])
def test_a_stream_in_any_kind_of_bytes_or_text_is_the_same_response(wire: str, form: Callable[[bytes], Any]) -> None:
    frames = emit_stream(wire, STEPS)
    decoder = StreamDecoder(wire)
    for frame in frames:
        decoder.feed(form(frame))
    assert decoder.finish() == decoded(wire, frames)


def payloads(wire: str, steps: list[Any]) -> list[Any]:
    """The parsed payload of every event of a stream."""
    lines = b"".join(emit_stream(wire, steps)).splitlines()
    return [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith((b"data: {", b"{"))]


def fed(events: Iterable[Any], wire: str | None = None) -> Response:
    decoder = StreamDecoder(wire)
    for event in events:
        decoder.feed(event)
    return decoder.finish()


@pytest.mark.parametrize("wire", JSON_WIRES)
def test_parsed_events_are_the_same_response(wire: str) -> None:
    expected = told(decoded(wire, emit_stream(wire, STEPS)))
    assert told(fed(payloads(wire, STEPS), wire)) == expected
    assert told(fed(payloads(wire, STEPS))) == expected


@pytest.mark.parametrize(
    ("wire", "model"),
    [
        ("openai.chat", ChatCompletion),
        ("openai.responses", OpenAIResponse),
        ("anthropic.messages", Message),
        ("anthropic.messages", BetaMessage),
        ("cohere.chat", cohere.V2ChatResponse),
    ],
)
@pytest.mark.parametrize("say_which", [True, False])
def test_the_sdks_response_objects_are_the_same_response(wire: str, model: Any, say_which: bool) -> None:
    body = emit_body(wire, STEPS)
    value = json.loads(body)
    thing: Any = model.construct(**value) if wire != "cohere.chat" else cohere_construct(type_=model, object_=value)
    response = normalize(thing, wire if say_which else None)
    assert response.wire == wire
    assert told(response) == told(normalize(body, wire))
    assert [call.id for call in response.calls] == ["call_a", "call_b"]


@pytest.mark.parametrize(
    ("wire", "union"),
    [
        ("openai.chat", ChatCompletionChunk),
        ("openai.responses", ResponseStreamEvent),
        ("anthropic.messages", RawMessageStreamEvent),
        ("anthropic.messages", BetaRawMessageStreamEvent),
        ("cohere.chat", cohere.v2.V2ChatStreamResponse),
    ],
)
@pytest.mark.parametrize("say_which", [True, False])
def test_the_sdks_stream_events_are_the_same_response(wire: str, union: Any, say_which: bool) -> None:
    build: Callable[[Any, Any], Any] = {
        "cohere.chat": lambda type, value: cohere_construct(type_=type, object_=value),
        "anthropic.messages": lambda type, value: anthropic._models.construct_type(type_=type, value=value),
    }.get(wire, lambda type, value: openai._models.construct_type(type_=type, value=value))
    events = [build(union, payload) for payload in payloads(wire, STEPS)]
    assert {type(event).__module__.partition(".")[0] for event in events} == {wire.partition(".")[0]}
    response = fed(events, wire if say_which else None)
    assert response.wire == wire
    assert told(response) == told(decoded(wire, emit_stream(wire, STEPS)))
    assert response.findings == ()


def client(sdk: Any, body: bytes, content_type: str) -> Any:
    """An HTTP client of the SDK whose every request is answered with this body; nothing leaves the machine."""
    # The SDKs changed their HTTP library between versions: take the one they are on.
    factory = getattr(sdk, "DefaultHttpxClient", httpx.Client)
    base = next(cls for cls in factory.__mro__ if cls.__name__ == "Client")
    http = import_module(base.__module__.partition(".")[0])
    answer = http.MockTransport(lambda _: http.Response(200, headers={"content-type": content_type}, content=body))
    return factory(transport=answer)


def answering(sdk: Any, wire: str, steps: list[Any]) -> Any:
    """An HTTP client of the SDK whose every request is answered with the stream."""
    body = b"".join(emit_stream(wire, steps))
    # Anthropic's helper insists on the figures that these streams do without.
    body = body.replace(
        b'"stop_reason": null', b'"stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}'
    )
    body = body.replace(b'"message_delta"', b'"message_delta", "usage": {"output_tokens": 1}')
    return client(sdk, body, "text/event-stream")


def helper_events(wire: str) -> list[Any]:
    """All events that an SDK's stream helper gives, raw ones and derived ones."""
    ask: list[Any] = [{"role": "user", "content": "?"}]
    if wire == "anthropic.messages":
        claude = anthropic.Anthropic(api_key="none", http_client=answering(anthropic, wire, SPOKEN))
        with claude.messages.stream(model="m", max_tokens=9, messages=ask) as message_stream:
            return list(message_stream)
    if wire == "google.interactions":
        answer = httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=b"".join(emit_stream(wire, SPOKEN))
        )
        served = httpx.Client(transport=httpx.MockTransport(lambda _: answer))
        options = google.genai.types.HttpOptions(httpx_client=served)
        with google.genai.Client(api_key="none", http_options=options).interactions.create(
            model="m", input="?", stream=True
        ) as event_stream:
            return list(event_stream)
    if wire == "cohere.chat":
        body = b"".join(emit_stream(wire, SPOKEN))
        command = cohere.ClientV2("none", httpx_client=client(cohere, body, "text/event-stream"))
        return list(command.chat_stream(model="m", messages=ask))
    gpt = openai.OpenAI(api_key="none", http_client=answering(openai, wire, SPOKEN))
    if wire == "openai.chat":
        with gpt.chat.completions.stream(model="m", messages=ask) as chat_stream:
            return list(chat_stream)
    with gpt.responses.stream(model="m", input="?") as response_stream:
        return list(response_stream)


#: The wires whose SDKs have helpers for streams that give all members: Gemini's has none, and Ollama's has no ids.
HELPED_WIRES = [wire for wire in JSON_WIRES if wire not in ("google.gemini", "ollama.chat")]


@pytest.mark.parametrize("wire", HELPED_WIRES)
@pytest.mark.parametrize("say_which", [True, False])
def test_the_events_of_the_sdks_stream_helpers_are_the_same_response(wire: str, say_which: bool) -> None:
    events = helper_events(wire)
    assert len(events) >= len(payloads(wire, SPOKEN))
    response = fed(events, wire if say_which else None)
    assert told(response) == told(decoded(wire, emit_stream(wire, SPOKEN)))
    assert response.findings == ()
    assert [call.arguments_text for call in response.calls] == ['{"city":"Turin"}', '{"a": [1, 2]}']


class Forecast(pydantic.BaseModel):
    """Something a caller asks the SDK to parse answers into."""

    sky: str


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses"])
def test_what_an_sdk_parsed_for_its_caller_is_no_part_of_the_answer(wire: str) -> None:
    body = emit_body(wire, [Say('{"sky": "blue"}')], "end_turn")
    ask: list[Any] = [{"role": "user", "content": "?"}]
    gpt = openai.OpenAI(api_key="none", http_client=client(openai, body, "application/json"))
    if wire == "openai.chat":
        parsed: Any = gpt.chat.completions.parse(model="m", messages=ask, response_format=Forecast)
        assert parsed.choices[0].message.parsed.sky == "blue"
    else:
        parsed = gpt.responses.parse(model="m", input="?", text_format=Forecast)
        assert parsed.output_parsed.sky == "blue"
    assert normalize(parsed) == normalize(body, wire)
    assert normalize(parsed).findings == ()


@pytest.mark.parametrize("say_which", [True, False])
def test_xais_response_in_every_shape_is_the_same_response(say_which: bool) -> None:
    body = emit_body("xai.grpc", STEPS)
    message = chat_pb2.GetChatCompletionResponse.FromString(body)
    wire = "xai.grpc" if say_which else None
    expected = normalize(body, "xai.grpc")
    assert normalize(message, wire) == expected
    assert normalize(xai_sdk.chat.Response(message, None), wire) == expected


@pytest.mark.parametrize("say_which", [True, False])
def test_xais_chunks_in_every_shape_are_the_same_response(say_which: bool) -> None:
    frames = emit_stream("xai.grpc", STEPS)
    messages = [chat_pb2.GetChatCompletionChunk.FromString(frame) for frame in frames]
    wire = "xai.grpc" if say_which else None
    expected = decoded("xai.grpc", frames)
    assert fed(messages, wire) == expected
    assert fed([xai_sdk.chat.Chunk(message, None) for message in messages], wire) == expected


@pytest.mark.parametrize("thing", [None, 7, 1.5, object(), {1, 2}])
def test_what_is_no_body_is_a_typed_error_that_says_what_would_be_one(thing: Any) -> None:
    for attempt in (lambda: normalize(thing, "openai.chat"), lambda: StreamDecoder("openai.chat").feed(thing)):
        with pytest.raises(MalformedBody, match=f"unsupported type: {type(thing).__name__} .*parsed JSON") as caught:
            attempt()
        assert caught.value.body is thing


def test_parsed_json_that_cannot_be_written_is_a_typed_error() -> None:
    body = {"choices": [], "made": object()}
    with pytest.raises(MalformedBody, match="cannot be written as JSON"):
        normalize(body, "openai.chat")


def run(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_normalizer_imports_no_sdk() -> None:
    heavy = "('openai', 'anthropic', 'xai_sdk', 'google.protobuf', 'pydantic', 'grpc', 'httpx', 'httpx2')"
    program = f"import sys, normalizer; print([name for name in {heavy} if name in sys.modules])"
    assert run(program) == "[]"


def test_reading_the_wires_of_openai_and_anthropic_imports_no_sdk_either() -> None:
    bodies = {wire: emit_body(wire, STEPS).decode() for wire in JSON_WIRES}
    heavy = "('openai', 'anthropic', 'xai_sdk', 'google.protobuf', 'google.genai', 'pydantic')"
    program = (
        "import sys, toolparity\n"
        f"for wire, body in {bodies!r}.items(): print(len(toolparity.normalize(body, wire).calls))\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run(program).split() == ["2"] * len(JSON_WIRES) + ["[]"]


@pytest.mark.parametrize("missing", ["xai_sdk", "google.protobuf"])
def test_without_the_xai_extra_its_wire_says_how_to_install_it(missing: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import toolparity\n"
        "from toolparity.normalizer.errors import MissingExtra\n"
        "for read in (lambda: toolparity.normalize(b'', 'xai.grpc'), lambda: toolparity.StreamDecoder('xai.grpc')):\n"
        "    try: read()\n"
        "    except MissingExtra as error: print(isinstance(error, ImportError), error)\n"
        "print(len(toolparity.normalize({'choices': []}).choices))"
    )
    first, second, other = run(program).splitlines()
    assert first == second == "True the wire xai.grpc needs xAI's protobuf classes (pip install 'toolparity[xai]')"
    assert other == "0"


def test_every_wire_is_covered_here() -> None:
    assert set(WIRES) == {*JSON_WIRES, "xai.grpc", "bedrock.converse"}


@pytest.mark.parametrize("wire", ["ollama.chat", None])
def test_the_objects_of_ollamas_sdk_lack_the_ids_and_nothing_else(wire: str | None) -> None:
    def shapes(response: Response) -> list[Any]:
        return [response.wire, response.text, *((call.name, call.arguments) for call in response.calls)]

    body = emit_body("ollama.chat", STEPS)
    whole = normalize(ollama.ChatResponse(**json.loads(body)), wire)
    answer = httpx.Response(200, content=b"".join(emit_stream("ollama.chat", STEPS)))
    served = ollama.Client("http://localhost", transport=httpx.MockTransport(lambda _: answer))
    streamed = fed(served.chat("m", [{"role": "user", "content": "?"}], stream=True), wire)
    assert shapes(whole) == shapes(streamed) == shapes(normalize(body, "ollama.chat"))
    assert [finding.code for finding in whole.findings].count("id-missing") == 2


def test_the_objects_of_boto3_are_read_like_the_bytes() -> None:
    """They are plain objects, with bytes where the JSON has base64, and with the metadata of the response."""
    reasoning = {"reasoningContent": {"redactedContent": b"sealed"}}
    answer = {
        "ResponseMetadata": {"RequestId": "req_1", "HTTPStatusCode": 200},
        "output": {"message": {"role": "assistant", "content": [reasoning, {"text": "so"}]}},
        "stopReason": "end_turn",
    }
    response = normalize(answer)
    assert (response.wire, response.id, response.text) == ("bedrock.converse", "req_1", "so")
    assert response.choices[0].blocks[0] == Reasoning("", None, "c2VhbGVk", True)
    decoder = StreamDecoder()
    for event in (
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": reasoning}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "so"}}},
        {"messageStop": {"stopReason": "end_turn"}},
    ):
        decoder.feed(event)
    assert decoder.finish().choices == response.choices


def test_messages_of_own_classes_are_recognized_by_their_protobuf_name() -> None:
    from google.protobuf import descriptor_pool, message_factory
    from xai_sdk.proto import chat_pb2

    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(file: Any) -> None:
        for needed in file.dependencies:
            add(needed)
        if file.name not in added:
            added.add(file.name)
            pool.AddSerializedFile(file.serialized_pb)

    add(chat_pb2.DESCRIPTOR)
    message, request = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"xai_api.{name}"))()
        for name in ("GetChatCompletionResponse", "GetCompletionsRequest")
    )
    assert type(message) is not chat_pb2.GetChatCompletionResponse
    call = message.outputs.add(finish_reason=1).message.tool_calls.add(id="a", type=1)
    call.function.name = "f"
    request.tools.add().function.name = "other"
    response = normalize(message, request=request)
    assert (response.wire, [call.name for call in response.calls]) == ("xai.grpc", ["f"])
    assert "unknown-tool" in [finding.code for finding in response.findings]
