"""The installed SDKs are a living specification: what they name, the tables of the wires name.

When an SDK is updated and knows something new, these tests list it, one line each, with the table that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from importlib import import_module
from typing import Any, Literal

import anthropic.types as stable
import cohere.types as cohere_types
import openai.types.beta as openai_beta
import pytest
from anthropic import BaseModel as AnthropicModel
from anthropic.types import beta
from cohere import v2 as cohere_v2
from google.genai import interactions
from google.genai import types as gemini_types
from msgspec.structs import fields as struct_fields
from openai.types import chat, realtime, responses
from openai.types.chat import chat_completion, chat_completion_chunk
from xai_sdk.proto import chat_pb2, sample_pb2

from tests.support import sdk_types
from tests.support.decoding import codes, decode_stream
from tests.support.sdk_types import Model
from toolparity import normalize
from toolparity.normalizer.json_codec import text as json_text
from toolparity.normalizer.sessions import Session
from toolparity.normalizer.wires import stop_words
from toolparity.normalizer.wires.anthropic_messages import blocks as anthropic_blocks
from toolparity.normalizer.wires.anthropic_messages import routing as anthropic_routing
from toolparity.normalizer.wires.anthropic_messages import schema as anthropic
from toolparity.normalizer.wires.anthropic_messages import stream_state as anthropic_stream_state
from toolparity.normalizer.wires.cohere_chat import schema as cohere
from toolparity.normalizer.wires.google_gemini import blocks as gemini_blocks
from toolparity.normalizer.wires.google_gemini import schema as gemini
from toolparity.normalizer.wires.google_interactions import blocks as google_blocks
from toolparity.normalizer.wires.google_interactions import request_params as google_params
from toolparity.normalizer.wires.google_interactions import schema as google
from toolparity.normalizer.wires.google_interactions import stream_state as google_stream_state
from toolparity.normalizer.wires.openai_chat import schema as openai_chat
from toolparity.normalizer.wires.openai_responses import blocks as responses_items
from toolparity.normalizer.wires.openai_responses import schema as openai_responses
from toolparity.normalizer.wires.xai_grpc import schema as xai

# The package exports a function of this name, so this imports the module by its path.
responses_decode = import_module("toolparity.normalizer.wires.openai_responses.decode")

#: Members that the SDK of Google adds to a response.
ADDED_BY_GOOGLE = {"sdkHttpResponse", "parsed", "automaticFunctionCallingHistory"}
#: What the SDK of Interactions calls a type that it does not know.
UNKNOWN = "UNKNOWN"


def structs_of(union: Any) -> dict[str, Any]:
    """The structs of a union in a wire's schema, by tag."""
    return {struct.__struct_config__.tag: struct for struct in union.__args__}


def names_of(struct: Any) -> set[str]:
    """The members that a struct names, as they are called on the wire (and its tag field)."""
    tag_field = struct.__struct_config__.tag_field
    return {f.encode_name for f in struct_fields(struct)} | ({tag_field} if tag_field else set())


def lacking(model: Model, struct: Any, label: str = "") -> Iterator[str]:
    """One line for each member of an SDK's model that our struct does not name."""
    for member in sorted(sdk_types.members(model) - names_of(struct) - ADDED_BY_GOOGLE):
        yield f"{label or model.__name__}.{member} is not named by {struct.__module__}.{struct.__name__}"


def lacking_union(union: Any, ours: Any) -> Iterator[str]:
    """One line for each tag of an SDK's union, and for each of its members, that our union does not name."""
    known = structs_of(ours)
    for model in sdk_types.models(union):
        for tag in sorted(sdk_types.tags(model) - {UNKNOWN}):
            if tag in known:
                yield from lacking(model, known[tag], tag)
            else:
                yield f"type {tag!r} ({model.__name__}) is not named by {next(iter(known.values())).__module__}"


def unnamed(values: Iterable[str], table: Set[str], where: str) -> Iterator[str]:
    """One line for each value that a table does not name."""
    for value in sorted(set(values) - table):
        yield f"{value!r} is not named by {where}"


def tags_of(union: Any) -> set[str]:
    return {tag for model in sdk_types.models(union) for tag in sdk_types.tags(model)} - {UNKNOWN}


def literals_of(model: Model, member: str) -> set[str]:
    return sdk_types.literals(model.model_fields[member].annotation)


def expect_none(gaps: Iterable[str]) -> None:
    """Fail with the whole list, readable."""
    found = list(dict.fromkeys(gaps))
    if found:
        pytest.fail("the installed SDK knows what no table here names:\n  " + "\n  ".join(found), pytrace=False)


#: Unions of blocks, items, steps and contents in an SDK, with the union of our schema.
UNIONS: dict[str, tuple[Any, Any]] = {
    "anthropic blocks": (stable.ContentBlock, anthropic.Block),
    "anthropic beta blocks": (beta.BetaContentBlock, anthropic.Block),
    **{
        f"{event.__name__}": (event.model_fields["content_block"].annotation, anthropic.Block)
        for event in (stable.RawContentBlockStartEvent, beta.BetaRawContentBlockStartEvent)
    },
    "interactions steps": (interactions.Step, google.Step),
    "interactions contents": (interactions.Content, google.Content),
    "responses items": (responses.ResponseOutputItem, openai_responses.AnyItem),
    "responses beta items": (openai_beta.BetaResponseOutputItem, openai_responses.AnyItem),
    "cohere contents": (cohere_types.AssistantMessageResponseContentItem, cohere.Content),
}


@pytest.mark.parametrize("name", UNIONS)
def test_every_type_of_a_union_and_each_of_its_members_is_named(name: str) -> None:
    expect_none(lacking_union(*UNIONS[name]))


#: Structs of our schema, each with the models of an SDK of which it names all members.
MODELS: list[tuple[Any, list[Any]]] = [
    (anthropic.Message, [stable.Message, beta.BetaMessage]),
    (google.Interaction, [interactions.Interaction, interactions.InteractionSseEventInteraction]),
    (openai_responses.Body, [responses.Response, openai_beta.BetaResponse]),
    (openai_chat.Body, [chat.ChatCompletion, chat.ChatCompletionChunk]),
    (openai_chat.Choice, [chat_completion.Choice, chat_completion_chunk.Choice]),
    (openai_chat.ChatMessage, [chat.ChatCompletionMessage, chat_completion_chunk.ChoiceDelta]),
    (cohere.Body, [cohere_v2.V2ChatResponse, cohere_types.NonStreamedChatResponse]),
    (cohere.Message, [cohere_types.AssistantMessageResponse]),
    (cohere.Call, [cohere_types.ToolCallV2]),
    (cohere.Function, [cohere_types.ToolCallV2Function]),
    (cohere.CallV1, [cohere_types.ToolCall]),
    (cohere.CallDelta, [cohere_types.ToolCallDelta]),
    (gemini.GenerateContent, [gemini_types.GenerateContentResponse]),
    *(
        (getattr(gemini, name), [getattr(gemini_types, name)])
        for name in ("Candidate", "Content", "Part", "FunctionCall")
    ),
]


@pytest.mark.parametrize(("struct", "models"), MODELS)
def test_every_member_of_a_model_is_named(struct: Any, models: list[Model]) -> None:
    expect_none(line for model in models for line in lacking(model, struct))


@pytest.mark.parametrize("model", [chat.ChatCompletionMessage, chat_completion_chunk.ChoiceDelta])
def test_every_kind_of_tool_call_of_openai_chat_and_each_of_its_members_is_named(model: Model) -> None:
    (legacy,) = sdk_types.member_models(model, "function_call")
    gaps = [*lacking(legacy, openai_chat.Function)]
    for call in sdk_types.member_models(model, "tool_calls"):
        gaps += lacking(call, openai_chat.Call)
        for kind, struct in (("function", openai_chat.Function), ("custom", openai_chat.Custom)):
            if kind in call.model_fields:
                gaps += (line for inner in sdk_types.member_models(call, kind) for line in lacking(inner, struct))
    expect_none(gaps)


@pytest.mark.parametrize("model", [responses.ResponseOutputMessage, openai_beta.BetaResponseOutputMessage])
def test_every_content_part_of_a_message_and_each_of_its_members_is_named(model: Model) -> None:
    parts = sdk_types.member_models(model, "content")
    assert len(parts) >= 2
    expect_none(line for part in parts for line in lacking(part, openai_responses.Part))


def test_every_output_item_that_is_named_is_also_converted() -> None:
    items = (openai_responses.FunctionCall, openai_responses.MessageItem, openai_responses.ReasoningItem)
    convertible = {*items, *responses_items._OTHERS, *openai_responses.RESULTS}
    named = structs_of(openai_responses.AnyItem)
    expect_none(f"{tag} is read but not converted" for tag, struct in named.items() if struct not in convertible)


#: Unions of stream events, with the wire, its struct for all of them, and the members that hold its type.
EVENTS: dict[str, tuple[Any, str, Any]] = {
    "anthropic": (stable.RawMessageStreamEvent, "anthropic.messages", anthropic.Event),
    "anthropic beta": (beta.BetaRawMessageStreamEvent, "anthropic.messages", anthropic.Event),
    "interactions": (interactions.InteractionSSEEvent, "google.interactions", google.Event),
    "responses": (responses.ResponseStreamEvent, "openai.responses", openai_responses.Event),
    "responses beta": (openai_beta.BetaResponseStreamEvent, "openai.responses", openai_responses.Event),
    "responses websocket": (responses.ResponsesServerEvent, "openai.responses", openai_responses.Event),
    "responses beta websocket": (openai_beta.BetaResponsesServerEvent, "openai.responses", openai_responses.Event),
    "cohere": (cohere_v2.V2ChatStreamResponse, "cohere.chat", cohere.Event),
    "cohere version 1": (cohere_types.StreamedChatResponse, "cohere.chat", cohere.Event),
}


@pytest.mark.parametrize("name", EVENTS)
def test_every_stream_event_is_known_and_each_of_its_members_is_named(name: str) -> None:
    union, wire, struct = EVENTS[name]

    def gaps() -> Iterator[str]:
        for event in sdk_types.models(union):
            member = "event_type" if "event_type" in event.model_fields else "type"
            kinds = literals_of(event, member)
            if kinds != {UNKNOWN}:
                yield from lacking(event, struct)
            for kind in kinds - {UNKNOWN}:
                payload = {member: kind} | ({"interaction": {"id": "v"}} if wire == "google.interactions" else {})
                if "unknown-event" in codes(decode_stream(wire, f"data: {json_text(payload)}\n\n".encode())):
                    yield f"the event {kind!r} is unknown on {wire}"

    expect_none(gaps())


@pytest.mark.parametrize("union", [stable.RawContentBlockDelta, beta.BetaRawContentBlockDelta], ids=["stable", "beta"])
def test_every_delta_of_anthropic_and_each_of_its_members_is_named(union: Any) -> None:
    table = anthropic_stream_state.TEXT_MEMBERS.keys() | anthropic_routing.WORDLESS.keys()
    expect_none(unnamed(tags_of(union), table, "anthropic_messages"))
    for event in sdk_types.models(stable.RawMessageStreamEvent | beta.BetaRawMessageStreamEvent):
        if "delta" in event.model_fields:
            deltas = sdk_types.member_models(event, "delta")
            expect_none(line for delta in deltas for line in lacking(delta, anthropic.Delta))


def test_every_delta_of_interactions_and_each_of_its_members_is_named() -> None:
    deltas = [delta for delta in sdk_types.models(interactions.StepDeltaData) if UNKNOWN not in sdk_types.tags(delta)]
    expect_none(line for delta in deltas for line in lacking(delta, google.Delta))
    expect_none(unnamed(tags_of(interactions.StepDeltaData), google_stream_state.IMPLIED.keys(), "IMPLIED"))


def stop_words_of_the_sdks() -> dict[str, set[str]]:
    """The words for the end of an answer, by SDK."""
    (details,) = sdk_types.member_models(responses.Response, "incomplete_details")
    (beta_details,) = sdk_types.member_models(openai_beta.BetaResponse, "incomplete_details")
    enums = (gemini_types.FinishReason, gemini_types.BlockedReason)
    chat_choices = (chat_completion.Choice, chat_completion_chunk.Choice)
    return {
        "anthropic": sdk_types.literals(stable.StopReason) | sdk_types.literals(beta.BetaStopReason),
        "interactions": literals_of(interactions.Interaction, "status") - google_blocks.UNFINISHED,
        "responses": literals_of(details, "reason") | literals_of(beta_details, "reason"),
        "openai.chat": {word for choice in chat_choices for word in literals_of(choice, "finish_reason")},
        "cohere": sdk_types.literals(cohere_types.ChatFinishReason) | sdk_types.literals(cohere_types.FinishReason),
        "gemini": {reason.value.removeprefix("BLOCKED_REASON_") for enum in enums for reason in enum},
    }


def test_every_message_of_a_server_of_sessions_is_known() -> None:
    kinds = [kind for model in sdk_types.models(realtime.RealtimeServerEvent) for kind in sdk_types.tags(model)]
    messages = [("openai.realtime", {"type": kind, "response_id": "r"}) for kind in kinds]
    messages += [("google.live", {name: {}}) for name in sdk_types.members(gemini_types.LiveServerMessage)]
    inside = sdk_types.members(gemini_types.LiveServerContent)
    messages += [("google.live", {"serverContent": {name: {}}}) for name in inside]
    for name, message in messages:
        session = Session(name)
        session.received(message)
        session.finish()
        found = [finding.code for part in (session, *session.responses) for finding in part.findings]
        assert "unknown-event" not in found, message


def test_every_stop_word_is_named() -> None:
    for sdk, words in stop_words_of_the_sdks().items():
        folded = {stop_words.fold(word) for word in words}
        assert folded, sdk
        expect_none(unnamed(folded, stop_words.WORDS.keys(), f"stop_words.WORDS ({sdk})"))


@pytest.mark.parametrize("status", sorted(sdk_types.literals(responses.ResponseStatus)))
def test_every_status_of_a_response_has_its_end(status: str) -> None:
    response = normalize({"object": "response", "id": "resp_1", "status": status, "output": []})
    assert "stop-unknown" not in codes(response) or status == "incomplete"
    assert response.complete is (status not in responses_decode.UNFINISHED)
    assert response.choices[0].stop.raw == status


def test_every_server_tool_and_parameter_is_named() -> None:
    models = (stable.ServerToolUseBlock, beta.BetaServerToolUseBlock)
    canonical = {anthropic_blocks._TOOLS.get(name, name) for model in models for name in literals_of(model, "name")}
    expect_none(unnamed(canonical, set(anthropic.RESULTS.values()), "anthropic_messages.schema.RESULTS"))
    kinds = {kind.value for kind in gemini_types.ToolType} - {"TOOL_TYPE_UNSPECIFIED"}
    expect_none(unnamed(kinds, gemini_blocks.TOOLS.keys(), "google_gemini.blocks.TOOLS"))
    parameters = sdk_types.members(interactions.GenerationConfig) - {"tool_choice"}
    expect_none(unnamed(parameters, google_params.GENERATION, "google_interactions.request_params.GENERATION"))


# xai.grpc


def test_every_number_of_an_enum_of_xai_is_named() -> None:
    types = {*xai.SERVER_TOOLS, xai.TYPE_UNSET, xai.TYPE_CLIENT}
    gaps = [name for name, number in chat_pb2.ToolCallType.items() if number not in types]
    gaps += (name for name, number in sample_pb2.FinishReason.items() if number and number not in xai.STOPS)
    gaps += (name for name, number in chat_pb2.ToolCallStatus.items() if number not in xai.STATUSES)
    expect_none(f"{name} is not named by xai_grpc.schema" for name in gaps)
    assert (chat_pb2.TOOL_CALL_TYPE_INVALID, chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL) == (
        xai.TYPE_UNSET,
        xai.TYPE_CLIENT,
    )
    assert (chat_pb2.TOOL_CALL_STATUS_INCOMPLETE, chat_pb2.TOOL_CALL_STATUS_FAILED) == (xai.INCOMPLETE, xai.FAILED)
    assert (chat_pb2.ROLE_TOOL, sample_pb2.REASON_TIME_LIMIT) == (xai.ROLE_TOOL, xai.TIME_LIMIT)


@pytest.mark.parametrize("role", sorted(chat_pb2.MessageRole.keys()))
def test_an_answer_of_xai_is_read_whatever_its_role(role: str) -> None:
    message = chat_pb2.GetChatCompletionResponse(id="r")
    output = message.outputs.add(finish_reason="REASON_STOP")
    output.message.role = role
    output.message.content = "words"
    (choice,) = normalize(message).choices
    assert json_text(choice.blocks).count("words") == 1


def mark(message: Any, seed: list[int]) -> dict[str, str]:
    """Fill every field of a protobuf message with values that can be found again; return value -> place."""
    found: dict[str, str] = {}
    for field in message.DESCRIPTOR.fields:
        place = f"{message.DESCRIPTOR.name}.{field.name}"
        kind = field.message_type.name if field.message_type is not None else None
        taken = field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name)
        if field.enum_type is not None or taken or kind == "SamplingUsage":
            continue  # enums and figures have their own tests
        target = getattr(message, field.name)
        if kind in ("Timestamp", "LogProbs", "RequestSettings", "DebugOutput"):
            target.SetInParent()
            found[f'"{field.name}"'] = place
        elif kind is not None:
            found.update(mark(target.add() if field.is_repeated else target, seed))
        elif field.type == field.TYPE_STRING:
            seed[0] += 1
            value = f"mark-{seed[0]}-"
            if field.is_repeated:
                target.append(value)
            else:
                setattr(message, field.name, value)
            found[value] = place
    return found


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_every_text_and_message_of_an_answer_of_xai_survives(streamed: bool) -> None:
    message = chat_pb2.GetChatCompletionChunk() if streamed else chat_pb2.GetChatCompletionResponse()
    places = mark(message, [0])
    (output,) = message.outputs
    part = output.delta if streamed else output.message
    part.role = chat_pb2.ROLE_ASSISTANT
    for call in part.tool_calls:
        call.type = chat_pb2.TOOL_CALL_TYPE_WEB_SEARCH_TOOL
    response = decode_stream("xai.grpc", [message.SerializeToString()]) if streamed else normalize(message)
    canonical = json_text(response)
    expect_none(f"{place} is lost" for value, place in places.items() if value not in canonical)
    assert len(places) > 10


# the comparison itself


class InventedBlock(AnthropicModel):
    """A block as tomorrow's SDK could name it."""

    type: Literal["mind_reading", "text"]
    text: str
    mood: str | None = None


def test_what_no_table_names_would_be_listed_readably() -> None:
    schema = "toolparity.normalizer.wires.anthropic_messages.schema"
    assert list(lacking_union(stable.TextBlock | InventedBlock, anthropic.Block)) == [
        f"type 'mind_reading' (InventedBlock) is not named by {schema}",
        f"text.mood is not named by {schema}.TextBlock",
    ]
    assert list(unnamed(["end_turn", "bored"], stop_words.WORDS.keys(), "STOPS")) == ["'bored' is not named by STOPS"]
    with pytest.raises(pytest.fail.Exception, match=r"no table here names:\n  a\n  b$"):
        expect_none(["a", "b", "a"])
    assert tags_of(beta.BetaContentBlock) >= {"text", "tool_use", "mcp_tool_use", "compaction"}
    items = sdk_types.block_types()["openai.responses"]
    assert items >= {"function_call", "mcp_approval_request", "program", "compaction"}
