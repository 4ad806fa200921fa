"""An answer in any container is read alike: bytes, text, parsed JSON and the SDKs' own objects."""

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
from tests.support.wires import JSON_WIRES
from toolparity import Reasoning, Response, StreamDecoder, normalize
from toolparity.cassettes.scripts import Part, Say, Think
from toolparity.normalizer.errors import MalformedBody

TEXT_AND_CALLS: list[Part] = [Say("I look."), LOOKUP, scripted_call(('{"a": [1, ', "2]}"), "call_b", "other")]
STEPS: list[Part] = [Think("Hm."), *TEXT_AND_CALLS]
#: The wire that the caller names, or none.
NAMED = pytest.mark.parametrize("named", [True, False])


def facts(response: Response) -> tuple[Any, ...]:
    """What has to be the same: the calls, the words, how it ended; not the form of arguments."""
    calls = [(c.id, c.name, c.arguments, c.status, c.kind, c.wire_id) for c in response.calls]
    stops = [choice.stop for choice in response.choices]
    return response.wire, calls, response.text, stops, response.complete, response.error


@pytest.mark.parametrize("wire", [*JSON_WIRES, "xai.grpc"])
def test_a_body_and_a_stream_in_any_kind_of_bytes_or_text_are_the_same_response(wire: str) -> None:
    body, frames = emit_body(wire, STEPS), emit_stream(wire, STEPS)
    forms: list[Callable[[bytes], Any]] = [bytearray, memoryview, *([bytes.decode] if wire != "xai.grpc" else [])]
    for form in forms:
        assert normalize(form(body), wire) == normalize(body, wire)
        assert fed(map(form, frames), wire) == decoded(wire, frames)
        assert wire == "xai.grpc" or normalize(form(body)) == normalize(body, wire)


def payloads(wire: str, steps: list[Any]) -> list[Any]:
    """The parsed payload of every event of a stream."""
    lines = b"".join(emit_stream(wire, steps)).splitlines()
    return [json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith((b"data: {", b"{"))]


def fed(events: Iterable[Any], wire: str | None = None) -> Response:
    decoder = StreamDecoder(wire)
    for event in events:
        decoder.feed(event)
    return decoder.finish()


@NAMED
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_parsed_json_and_parsed_events_are_the_same_response(wire: str, named: bool) -> None:
    body = emit_body(wire, STEPS)
    name = wire if named else None
    assert facts(normalize(json.loads(body), name)) == facts(normalize(body, wire))
    assert facts(fed(payloads(wire, STEPS), name)) == facts(decoded(wire, emit_stream(wire, STEPS)))


def test_arguments_without_a_text_are_written_compactly_with_a_finding() -> None:
    body = emit_body("anthropic.messages", [LOOKUP])
    parsed, exact = normalize(json.loads(body)), normalize(body)
    assert [call.arguments_text for call in (*exact.calls, *parsed.calls)] == ['{"city":"Turin"}', '{"city":"Turin"}']
    assert [[finding.code for finding in found.findings] for found in (exact, parsed)] == [[], ["arguments-respelled"]]


@pytest.mark.parametrize(
    ("wire", "model"),
    [
        *(("openai.chat", ChatCompletion), ("openai.responses", OpenAIResponse)),
        *(("anthropic.messages", model) for model in (Message, BetaMessage)),
        ("cohere.chat", cohere.V2ChatResponse),
    ],
)
@NAMED
def test_the_sdks_response_objects_are_the_same_response(wire: str, model: Any, named: bool) -> None:
    body = emit_body(wire, STEPS)
    value = json.loads(body)
    thing: Any = model.construct(**value) if wire != "cohere.chat" else cohere_construct(type_=model, object_=value)
    response = normalize(thing, wire if named else None)
    assert facts(response) == facts(normalize(body, wire))
    assert [call.id for call in response.calls] == ["call_a", "call_b"]


@pytest.mark.parametrize(
    ("wire", "union"),
    [
        *(("openai.chat", ChatCompletionChunk), ("openai.responses", ResponseStreamEvent)),
        *(("anthropic.messages", union) for union in (RawMessageStreamEvent, BetaRawMessageStreamEvent)),
        ("cohere.chat", cohere.v2.V2ChatStreamResponse),
    ],
)
@NAMED
def test_the_sdks_stream_events_are_the_same_response(wire: str, union: Any, named: bool) -> None:
    build: Callable[[Any, Any], Any] = {
        "cohere.chat": lambda type, value: cohere_construct(type_=type, object_=value),
        "anthropic.messages": lambda type, value: anthropic._models.construct_type(type_=type, value=value),
    }.get(wire, lambda type, value: openai._models.construct_type(type_=type, value=value))
    events = [build(union, payload) for payload in payloads(wire, STEPS)]
    assert {type(event).__module__.partition(".")[0] for event in events} == {wire.partition(".")[0]}
    response = fed(events, wire if named else None)
    assert facts(response) == facts(decoded(wire, emit_stream(wire, STEPS)))
    assert response.findings == ()


def client(sdk: Any, body: bytes, content_type: str = "text/event-stream") -> Any:
    """An HTTP client of the SDK whose every request is answered with this body; nothing leaves the machine."""
    # The SDKs changed their HTTP library between versions: take the one they are on.
    factory = getattr(sdk, "DefaultHttpxClient", httpx.Client)
    base = next(cls for cls in factory.__mro__ if cls.__name__ == "Client")
    http = import_module(base.__module__.partition(".")[0])
    answer = http.MockTransport(lambda _: http.Response(200, headers={"content-type": content_type}, content=body))
    return factory(transport=answer)


def helper_events(wire: str) -> list[Any]:
    """All events that an SDK's stream helper gives, raw ones and derived ones."""
    question: list[Any] = [{"role": "user", "content": "?"}]
    body = b"".join(emit_stream(wire, TEXT_AND_CALLS))
    helper: Any
    if wire == "anthropic.messages":
        # Anthropic's helper insists on the figures that these streams do without.
        figures = b'"usage": {"input_tokens": 1, "output_tokens": 1}'
        body = body.replace(b'"stop_reason": null', b'"stop_reason": null, ' + figures)
        body = body.replace(b'"message_delta"', b'"message_delta", ' + figures)
        claude = anthropic.Anthropic(api_key="none", http_client=client(anthropic, body))
        helper = claude.messages.stream(model="m", max_tokens=9, messages=question)
    elif wire == "google.interactions":
        sent = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)
        served = httpx.Client(transport=httpx.MockTransport(lambda _: sent))
        options = google.genai.types.HttpOptions(httpx_client=served)
        gemini = google.genai.Client(api_key="none", http_options=options)
        helper = gemini.interactions.create(model="m", input="?", stream=True)
    elif wire == "cohere.chat":
        co = cohere.ClientV2("none", httpx_client=client(cohere, body))
        return list(co.chat_stream(model="m", messages=question))
    else:
        gpt = openai.OpenAI(api_key="none", http_client=client(openai, body))
        helper = gpt.responses.stream(model="m", input="?")
        if wire == "openai.chat":
            helper = gpt.chat.completions.stream(model="m", messages=question)
    with helper as events:
        return list(events)


#: The wires whose SDKs have helpers for streams that give all members: Gemini's has none, and Ollama's has no ids.
HELPED_WIRES = [wire for wire in JSON_WIRES if wire not in ("google.gemini", "ollama.chat")]


@pytest.mark.thorough(keep=len(HELPED_WIRES))
@pytest.mark.parametrize("wire", HELPED_WIRES)
def test_the_events_of_the_sdks_stream_helpers_are_the_same_response(wire: str) -> None:
    events = helper_events(wire)
    assert len(events) >= len(payloads(wire, TEXT_AND_CALLS))
    for name in (wire, None):
        response = fed(events, name)
        assert facts(response) == facts(decoded(wire, emit_stream(wire, TEXT_AND_CALLS)))
        assert response.findings == ()
        assert [call.arguments_text for call in response.calls] == ['{"city":"Turin"}', '{"a": [1, 2]}']


class Forecast(pydantic.BaseModel):
    """Something a caller asks the SDK to parse answers into."""

    sky: str


@pytest.mark.parametrize("wire", ["openai.chat", "openai.responses"])
def test_the_objects_that_an_sdk_parsed_for_its_caller_are_not_part_of_the_answer(wire: str) -> None:
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


@NAMED
def test_the_messages_of_xai_in_every_form_are_the_same_response(named: bool) -> None:
    wire = "xai.grpc" if named else None
    body, frames = emit_body("xai.grpc", STEPS), emit_stream("xai.grpc", STEPS)
    message = chat_pb2.GetChatCompletionResponse.FromString(body)
    chunks = [chat_pb2.GetChatCompletionChunk.FromString(frame) for frame in frames]
    for form in (message, xai_sdk.chat.Response(message, None)):
        assert normalize(form, wire) == normalize(body, "xai.grpc")
    for forms in (chunks, [xai_sdk.chat.Chunk(each, None) for each in chunks]):
        assert fed(forms, wire) == decoded("xai.grpc", frames)


@pytest.mark.parametrize("thing", [None, 7, 1.5, object(), {1, 2}])
def test_another_value_as_a_body_is_a_typed_error_that_names_what_would_be_one(thing: Any) -> None:
    for attempt in (lambda: normalize(thing, "openai.chat"), lambda: StreamDecoder("openai.chat").feed(thing)):
        with pytest.raises(MalformedBody, match=f"unsupported type: {type(thing).__name__} .*parsed JSON") as caught:
            attempt()
        assert caught.value.body is thing


def test_parsed_json_that_cannot_be_written_is_a_typed_error() -> None:
    with pytest.raises(MalformedBody, match="cannot be written as JSON"):
        normalize({"choices": [], "made": object()}, "openai.chat")


def run(program: str) -> str:
    """The output of a program in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_normalizer_and_reading_json_wires_imports_no_sdk() -> None:
    sdks = {"openai", "anthropic", "xai_sdk", "google.protobuf", "google.genai", "pydantic"}
    others = {*sdks, "grpc", "httpx", "httpx2"}
    program = (
        f"import sys, normalizer; print([*{others} & sys.modules.keys()])\n"
        "import toolparity\n"
        f"for wire, body in { {wire: emit_body(wire, STEPS).decode() for wire in JSON_WIRES} }.items():\n"
        "    print(len(toolparity.normalize(body, wire).calls))\n"
        f"print([*{sdks} & sys.modules.keys()])"
    )
    assert run(program).split() == ["[]", *["2"] * len(JSON_WIRES), "[]"]


@pytest.mark.parametrize("missing", ["xai_sdk", "google.protobuf"])
def test_without_the_xai_extra_the_error_names_how_to_install_it(missing: str) -> None:
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
    events: list[Any] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": reasoning}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "so"}}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    assert fed(events).choices == response.choices


def test_messages_of_other_classes_are_recognized_by_their_protobuf_name() -> None:
    from google.protobuf import descriptor_pool, message_factory

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
