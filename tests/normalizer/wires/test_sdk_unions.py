"""The installed SDKs are the field's living specification: what they name, our tables name.

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
from openai.types import chat, responses
from openai.types.chat import chat_completion, chat_completion_chunk
from xai_sdk.proto import chat_pb2, sample_pb2

from tests.support import sdk_types
from tests.support.sdk_types import Model
from toolparity import Response, StreamDecoder, normalize
from toolparity.normalizer.json_codec import text as json_text
from toolparity.normalizer.wires import stop_words
from toolparity.normalizer.wires.anthropic_messages import blocks as anthropic_blocks
from toolparity.normalizer.wires.anthropic_messages import routing as anthropic_routing
from toolparity.normalizer.wires.anthropic_messages import schema as anthropic
from toolparity.normalizer.wires.anthropic_messages import stream_state as anthropic_stream_state
from toolparity.normalizer.wires.cohere_chat import schema as cohere_schema
from toolparity.normalizer.wires.google_gemini import blocks as gemini_blocks
from toolparity.normalizer.wires.google_gemini import schema as gemini
from toolparity.normalizer.wires.google_interactions import blocks as google_blocks
from toolparity.normalizer.wires.google_interactions import request_params as google_params
from toolparity.normalizer.wires.google_interactions import schema as google
from toolparity.normalizer.wires.google_interactions import stream_state as google_stream_state
from toolparity.normalizer.wires.openai_chat import schema as openai_chat
from toolparity.normalizer.wires.openai_responses import blocks as responses_items
from toolparity.normalizer.wires.openai_responses import schema as openai_responses
from toolparity.normalizer.wires.openai_responses import stream_events as responses_events
from toolparity.normalizer.wires.xai_grpc import schema as xai

# The package's face has a function of this name, so the module is asked for by its own.
responses_decode = import_module("toolparity.normalizer.wires.openai_responses.decode")


def structs_of(union: Any) -> dict[str, Any]:
    """The structs of a union in a wire's schema, by tag."""
    return {struct.__struct_config__.tag: struct for struct in union.__args__}


def names_of(struct: Any) -> set[str]:
    """The members that a struct names, as they are called on the wire (and its tag field)."""
    tag_field = struct.__struct_config__.tag_field
    return {f.encode_name for f in struct_fields(struct)} | ({tag_field} if tag_field else set())


def lacking(model: Model, struct: Any, label: str = "") -> Iterator[str]:
    """One line for each member of an SDK's model that our struct does not name."""
    for member in sorted(sdk_types.members(model) - names_of(struct)):
        yield f"{label or model.__name__}.{member} is not named by {struct.__module__}.{struct.__name__}"


def lacking_union(union: Any, ours: Any, where: str) -> Iterator[str]:
    """One line for each tag of an SDK's union, and for each of its members, that our union does not name."""
    known = structs_of(ours)
    for model in sdk_types.models(union):
        for tag in sorted(sdk_types.tags(model)):
            if tag in known:
                yield from lacking(model, known[tag], tag)
            else:
                yield f"type {tag!r} ({model.__name__}) is not named by {where}"


def unnamed(values: Iterable[str], table: Set[str], where: str) -> Iterator[str]:
    """One line for each value that a table does not name."""
    for value in sorted(set(values) - table):
        yield f"{value!r} is not named by {where}"


def expect_none(gaps: Iterable[str]) -> None:
    """Fails with the whole list, readable."""
    found = list(dict.fromkeys(gaps))
    if found:
        pytest.fail("the installed SDK knows what no table here names:\n  " + "\n  ".join(found), pytrace=False)


# anthropic.messages


@pytest.mark.parametrize("union", [stable.ContentBlock, beta.BetaContentBlock], ids=["stable", "beta"])
def test_every_content_block_of_anthropic_and_each_of_its_members_is_named(union: Any) -> None:
    expect_none(lacking_union(union, anthropic.Block, "anthropic_messages.schema.Block"))


@pytest.mark.parametrize(
    "event", [stable.RawContentBlockStartEvent, beta.BetaRawContentBlockStartEvent], ids=["stable", "beta"]
)
def test_every_content_block_that_a_stream_of_anthropic_starts_is_named(event: Model) -> None:
    union = event.model_fields["content_block"].annotation
    expect_none(lacking_union(union, anthropic.Block, "anthropic_messages.schema.Block"))


@pytest.mark.parametrize(
    "union", [stable.RawMessageStreamEvent, beta.BetaRawMessageStreamEvent], ids=["stable", "beta"]
)
def test_every_member_of_a_raw_event_of_anthropic_and_of_its_deltas_is_named(union: Any) -> None:
    def gaps() -> Iterator[str]:
        for event in sdk_types.models(union):
            yield from lacking(event, anthropic.Event)
            if "delta" in event.model_fields:
                for delta in sdk_types.member_models(event, "delta"):
                    yield from lacking(delta, anthropic.Delta)

    expect_none(gaps())


@pytest.mark.parametrize(
    "union", [stable.RawMessageStreamEvent, beta.BetaRawMessageStreamEvent], ids=["stable", "beta"]
)
def test_a_raw_event_of_anthropic_is_no_unknown_event(union: Any) -> None:
    def gaps() -> Iterator[str]:
        for event in sdk_types.models(union):
            for tag in sdk_types.tags(event):
                decoder = StreamDecoder("anthropic.messages")
                decoder.feed(f'data: {{"type":"{tag}"}}\n\n'.encode())
                if any(f.code == "unknown-event" for f in decoder.finish().findings):
                    yield f"event {tag!r} is not named by anthropic_messages.stream.Stream.event"

    expect_none(gaps())


@pytest.mark.parametrize("union", [stable.RawContentBlockDelta, beta.BetaRawContentBlockDelta], ids=["stable", "beta"])
def test_every_delta_of_anthropic_is_named(union: Any) -> None:
    deltas = {tag for model in sdk_types.models(union) for tag in sdk_types.tags(model)}
    expect_none(
        unnamed(
            deltas, anthropic_stream_state.TEXT_MEMBERS.keys() | anthropic_routing.WORDLESS.keys(), "anthropic_messages"
        )
    )


def test_every_stop_reason_of_anthropic_is_named() -> None:
    reasons = sdk_types.literals(stable.StopReason) | sdk_types.literals(beta.BetaStopReason)
    expect_none(unnamed(reasons, stop_words.WORDS.keys(), "stop_words.WORDS"))


@pytest.mark.parametrize("model", [stable.Message, beta.BetaMessage], ids=["stable", "beta"])
def test_every_member_of_an_anthropic_message_is_named(model: Model) -> None:
    expect_none(lacking(model, anthropic.Message))


@pytest.mark.parametrize("model", [stable.ServerToolUseBlock, beta.BetaServerToolUseBlock], ids=["stable", "beta"])
def test_every_server_tool_of_anthropic_is_a_canonical_one(model: Model) -> None:
    names = sdk_types.literals(model.model_fields["name"].annotation)
    canonical = {anthropic_blocks._TOOLS.get(name, name) for name in names}
    expect_none(unnamed(canonical, set(anthropic.RESULTS.values()), "anthropic_messages.schema.RESULTS"))


# google.interactions


def test_every_step_and_content_of_interactions_and_each_of_its_members_is_named() -> None:
    steps = lacking_union(interactions.Step, google.Step, "google_interactions.schema.Step")
    contents = lacking_union(interactions.Content, google.Content, "google_interactions.schema.Content")
    gaps = (*steps, *contents)
    expect_none(line for line in gaps if "'UNKNOWN'" not in line)  # the SDK's types for those it does not know


def test_every_stream_event_of_interactions_and_each_of_its_members_is_named() -> None:
    def gaps() -> Iterator[str]:
        for event in sdk_types.models(interactions.InteractionSSEEvent):
            if event.model_fields["event_type"].annotation is not Literal["UNKNOWN"]:
                yield from lacking(event, google.Event)

    expect_none(gaps())


def test_every_stream_event_of_interactions_is_known() -> None:
    def gaps() -> Iterator[str]:
        for event in sdk_types.models(interactions.InteractionSSEEvent):
            for kind in sdk_types.literals(event.model_fields["event_type"].annotation) - {"UNKNOWN"}:
                decoder = StreamDecoder("google.interactions")
                decoder.feed(json_text({"event_type": kind, "interaction": {"id": "v"}}))
                if any(f.code == "unknown-event" for f in decoder.finish().findings):
                    yield f"event {kind!r} is not named by google_interactions.stream.Stream.event"

    expect_none(gaps())


def test_every_delta_of_interactions_and_each_of_its_members_is_named() -> None:
    def gaps() -> Iterator[str]:
        for delta in sdk_types.models(interactions.StepDeltaData):
            for tag in sdk_types.tags(delta) - {"UNKNOWN"}:
                yield from lacking(delta, google.Delta, tag)
                yield from unnamed(
                    [tag], google_stream_state.IMPLIED.keys(), "google_interactions.stream_state.IMPLIED"
                )

    expect_none(gaps())


def test_every_member_of_an_interaction_is_named() -> None:
    expect_none(lacking(interactions.Interaction, google.Interaction))
    expect_none(lacking(interactions.InteractionSseEventInteraction, google.Interaction))


def test_every_status_of_an_interaction_is_named() -> None:
    statuses = sdk_types.literals(interactions.Interaction.model_fields["status"].annotation)
    expect_none(unnamed(statuses, stop_words.WORDS.keys() | google_blocks.UNFINISHED, "stop_words.WORDS"))


def test_every_member_of_a_generation_config_is_named() -> None:
    members = sdk_types.members(interactions.GenerationConfig) - {"tool_choice"}
    expect_none(unnamed(members, google_params.GENERATION, "google_interactions.request_params.GENERATION"))


# openai.responses


@pytest.mark.parametrize(
    "union", [responses.ResponseOutputItem, openai_beta.BetaResponseOutputItem], ids=["stable", "beta"]
)
def test_every_output_item_and_each_of_its_members_is_named(union: Any) -> None:
    expect_none(lacking_union(union, openai_responses.AnyItem, "openai_responses.schema.AnyItem"))


def test_every_output_item_that_is_named_is_also_converted() -> None:
    convertible = {
        openai_responses.FunctionCall,
        openai_responses.MessageItem,
        openai_responses.ReasoningItem,
        *responses_items._OTHERS,
        *openai_responses.RESULTS,
    }
    named = structs_of(openai_responses.AnyItem)
    expect_none(f"{tag} is read but not converted" for tag, struct in named.items() if struct not in convertible)


@pytest.mark.parametrize(
    "model",
    [responses.ResponseOutputMessage, openai_beta.BetaResponseOutputMessage],
    ids=["stable", "beta"],
)
def test_every_content_part_of_a_message_and_each_of_its_members_is_named(model: Model) -> None:
    parts = sdk_types.member_models(model, "content")
    assert len(parts) >= 2
    expect_none(line for part in parts for line in lacking(part, openai_responses.Part))


RESPONSE_EVENTS = [
    pytest.param(responses.ResponseStreamEvent, id="stable"),
    pytest.param(openai_beta.BetaResponseStreamEvent, id="beta"),
    pytest.param(responses.ResponsesServerEvent, id="websocket"),
    pytest.param(openai_beta.BetaResponsesServerEvent, id="beta websocket"),
]


@pytest.mark.parametrize("union", RESPONSE_EVENTS)
def test_every_stream_event_of_responses_is_named(union: Any) -> None:
    named = (
        responses_events.DELTAS.keys()
        | responses_events.DONES.keys()
        | responses_events.TERMINAL.keys()
        | responses_events.BEGINNING
        | responses_events.PROGRESS
        | {"response.output_item.added", "response.output_item.done", "error"}
    )
    kinds = {tag for model in sdk_types.models(union) for tag in sdk_types.tags(model)}
    expect_none(unnamed(kinds, named, "openai_responses.events (DELTAS, DONES, TERMINAL, BEGINNING, PROGRESS)"))


@pytest.mark.parametrize("union", RESPONSE_EVENTS)
def test_every_member_of_a_stream_event_of_responses_is_named(union: Any) -> None:
    expect_none(line for model in sdk_types.models(union) for line in lacking(model, openai_responses.Event))


@pytest.mark.parametrize("model", [responses.Response, openai_beta.BetaResponse], ids=["stable", "beta"])
def test_every_member_of_a_response_is_named(model: Model) -> None:
    expect_none(lacking(model, openai_responses.Body))


@pytest.mark.parametrize("status", sorted(sdk_types.literals(responses.ResponseStatus)))
def test_every_status_of_a_response_says_how_it_ended(status: str) -> None:
    response = normalize({"object": "response", "id": "resp_1", "status": status, "output": []})
    assert "stop-unknown" not in [f.code for f in response.findings] or status == "incomplete"
    assert response.complete is (status not in responses_decode.UNFINISHED)
    assert response.choices[0].stop.raw == status


@pytest.mark.parametrize("model", [responses.Response, openai_beta.BetaResponse], ids=["stable", "beta"])
def test_every_reason_why_a_response_is_incomplete_is_named(model: Model) -> None:
    (details,) = sdk_types.member_models(model, "incomplete_details")
    reasons = sdk_types.literals(details.model_fields["reason"].annotation)
    expect_none(unnamed(reasons, stop_words.WORDS.keys(), "stop_words.WORDS"))


# openai.chat


@pytest.mark.parametrize("model", [chat.ChatCompletion, chat.ChatCompletionChunk], ids=["plain", "streamed"])
def test_every_member_of_a_chat_body_is_named(model: Model) -> None:
    expect_none(lacking(model, openai_chat.Body))


@pytest.mark.parametrize("model", [chat_completion.Choice, chat_completion_chunk.Choice], ids=["plain", "streamed"])
def test_every_member_and_every_finish_reason_of_a_choice_is_named(model: Model) -> None:
    expect_none(lacking(model, openai_chat.Choice))
    reasons = sdk_types.literals(model.model_fields["finish_reason"].annotation)
    expect_none(unnamed(reasons, stop_words.WORDS.keys(), "stop_words.WORDS"))


@pytest.mark.parametrize(
    "model", [chat.ChatCompletionMessage, chat_completion_chunk.ChoiceDelta], ids=["plain", "streamed"]
)
def test_every_member_of_a_message_and_of_its_legacy_call_is_named(model: Model) -> None:
    expect_none(lacking(model, openai_chat.ChatMessage))
    (legacy,) = sdk_types.member_models(model, "function_call")
    expect_none(lacking(legacy, openai_chat.Function))


@pytest.mark.parametrize(
    "model", [chat.ChatCompletionMessage, chat_completion_chunk.ChoiceDelta], ids=["plain", "streamed"]
)
def test_every_kind_of_tool_call_and_each_of_its_members_is_named(model: Model) -> None:
    def gaps() -> Iterator[str]:
        for call in sdk_types.member_models(model, "tool_calls"):
            yield from lacking(call, openai_chat.Call)
            for kind, struct in (("function", openai_chat.Function), ("custom", openai_chat.Custom)):
                if kind in call.model_fields:
                    for inner in sdk_types.member_models(call, kind):
                        yield from lacking(inner, struct)

    expect_none(gaps())


# cohere.chat


def test_every_content_of_cohere_and_each_of_its_members_is_named() -> None:
    union = cohere_types.AssistantMessageResponseContentItem
    expect_none(lacking_union(union, cohere_schema.Content, "cohere_chat.schema.Content"))


@pytest.mark.parametrize(
    ("model", "struct"),
    [
        (cohere_v2.V2ChatResponse, cohere_schema.Body),
        (cohere_types.NonStreamedChatResponse, cohere_schema.Body),
        (cohere_types.AssistantMessageResponse, cohere_schema.Message),
        (cohere_types.ToolCallV2, cohere_schema.Call),
        (cohere_types.ToolCallV2Function, cohere_schema.Function),
        (cohere_types.ToolCall, cohere_schema.CallV1),
        (cohere_types.ToolCallDelta, cohere_schema.CallDelta),
    ],
    ids=lambda given: given.__name__,
)
def test_every_member_of_a_response_of_cohere_is_named(model: Model, struct: Any) -> None:
    expect_none(lacking(model, struct))


@pytest.mark.parametrize("union", [cohere_v2.V2ChatStreamResponse, cohere_types.StreamedChatResponse], ids=["2", "1"])
def test_every_event_of_cohere_and_each_of_its_members_is_named(union: Any) -> None:
    def gaps() -> Iterator[str]:
        for event in sdk_types.models(union):
            yield from lacking(event, cohere_schema.Event)
            member = "type" if "type" in event.model_fields else "event_type"
            for tag in sdk_types.literals(event.model_fields[member].annotation):
                decoder = StreamDecoder("cohere.chat")
                decoder.feed(json_text({member: tag}).encode() + b"\n")
                if any(finding.code == "unknown-event" for finding in decoder.finish().findings):
                    yield f"the event {tag!r} is unknown"

    expect_none(gaps())


@pytest.mark.parametrize("union", [cohere_types.ChatFinishReason, cohere_types.FinishReason], ids=["2", "1"])
def test_every_finish_reason_of_cohere_is_named(union: Any) -> None:
    reasons = {stop_words.fold(reason) for reason in sdk_types.literals(union)}
    assert reasons
    expect_none(unnamed(reasons, stop_words.WORDS.keys(), "stop_words.WORDS"))


# xai.grpc


def test_every_tool_call_type_of_xai_is_told_apart() -> None:
    named = {*xai.SERVER_TOOLS, xai.TYPE_UNSET, xai.TYPE_CLIENT}
    gaps = (name for name, number in chat_pb2.ToolCallType.items() if number not in named)
    expect_none(unnamed(gaps, set(), "xai_grpc.schema.SERVER_TOOLS"))


def test_every_finish_reason_of_xai_is_named() -> None:
    gaps = (name for name, number in sample_pb2.FinishReason.items() if number and number not in xai.STOPS)
    expect_none(unnamed(gaps, set(), "xai_grpc.schema.STOPS"))


def test_every_status_of_a_tool_call_of_xai_is_named() -> None:
    gaps = (name for name, number in chat_pb2.ToolCallStatus.items() if number not in xai.STATUSES)
    expect_none(unnamed(gaps, set(), "xai_grpc.schema.STATUSES"))


def test_the_numbers_that_the_tables_stand_on_are_those_of_xai() -> None:
    assert chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_INVALID") == xai.TYPE_UNSET
    assert chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_CLIENT_SIDE_TOOL") == xai.TYPE_CLIENT
    assert chat_pb2.ToolCallStatus.Value("TOOL_CALL_STATUS_INCOMPLETE") == xai.INCOMPLETE
    assert chat_pb2.ToolCallStatus.Value("TOOL_CALL_STATUS_FAILED") == xai.FAILED
    assert chat_pb2.MessageRole.Value("ROLE_TOOL") == xai.ROLE_TOOL
    assert sample_pb2.FinishReason.Value("REASON_TIME_LIMIT") == xai.TIME_LIMIT


@pytest.mark.parametrize("role", sorted(chat_pb2.MessageRole.keys()))
def test_an_answer_of_xai_is_read_whatever_its_role(role: str) -> None:
    message = chat_pb2.GetChatCompletionResponse(id="r")
    output = message.outputs.add(finish_reason="REASON_STOP")
    output.message.role = role
    output.message.content = "said"
    (choice,) = normalize(message).choices
    assert json_text(choice.blocks).count("said") == 1


# google.gemini

#: Members that the SDK adds to a response.
_ADDED_BY_GOOGLE = {"sdkHttpResponse", "parsed", "automaticFunctionCallingHistory"}


@pytest.mark.parametrize(
    ("model", "struct"),
    [
        (gemini_types.GenerateContentResponse, gemini.GenerateContent),
        (gemini_types.Candidate, gemini.Candidate),
        (gemini_types.Content, gemini.Content),
        (gemini_types.Part, gemini.Part),
        (gemini_types.FunctionCall, gemini.FunctionCall),
    ],
)
def test_every_member_of_a_response_of_gemini_is_named(model: Model, struct: Any) -> None:
    members = {field.alias or name for name, field in model.model_fields.items()} - _ADDED_BY_GOOGLE
    expect_none(unnamed(members, names_of(struct), f"google_gemini.schema.{struct.__name__}"))


@pytest.mark.parametrize("enum", [gemini_types.FinishReason, gemini_types.BlockedReason])
def test_every_finish_reason_of_gemini_is_named(enum: Any) -> None:
    words = (reason.value.removeprefix("BLOCKED_REASON_") for reason in enum)
    reasons = {stop_words.fold(word) for word in words}
    expect_none(unnamed(reasons, stop_words.WORDS.keys(), "stop_words.WORDS"))


def test_every_server_tool_of_gemini_has_a_canonical_name() -> None:
    kinds = {kind.value for kind in gemini_types.ToolType} - {"TOOL_TYPE_UNSPECIFIED"}
    expect_none(unnamed(kinds, gemini_blocks.TOOLS.keys(), "google_gemini.blocks.TOOLS"))


def marked(message: Any, seed: list[int]) -> dict[str, str]:
    """Fills every field of a protobuf message with values that can be found again; gives value -> place."""
    found: dict[str, str] = {}
    for field in message.DESCRIPTOR.fields:
        place = f"{message.DESCRIPTOR.name}.{field.name}"
        if field.enum_type is not None:
            continue  # enums have their own tables
        if field.containing_oneof is not None and message.WhichOneof(field.containing_oneof.name):
            continue  # only one of these can be there
        if field.message_type is not None:
            if field.message_type.name in ("Timestamp", "LogProbs", "RequestSettings", "DebugOutput"):
                getattr(message, field.name).SetInParent()
                found[f'"{field.name}"'] = place
                continue
            if field.message_type.name == "SamplingUsage":
                continue  # a figure, not a text: held by the tests of usage
            target = getattr(message, field.name)
            found.update(marked(target.add() if field.is_repeated else target, seed))
        elif field.type == field.TYPE_STRING:
            seed[0] += 1
            value = f"mark-{seed[0]}-"
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
            found[value] = place
    return found


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_every_text_and_message_of_an_answer_of_xai_survives(streamed: bool) -> None:
    message = chat_pb2.GetChatCompletionChunk() if streamed else chat_pb2.GetChatCompletionResponse()
    places = marked(message, [0])
    (output,) = message.outputs
    said = output.delta if streamed else output.message
    said.role = chat_pb2.ROLE_ASSISTANT
    for call in said.tool_calls:
        call.type = chat_pb2.TOOL_CALL_TYPE_WEB_SEARCH_TOOL
    if streamed:
        decoder = StreamDecoder("xai.grpc")
        decoder.feed(message)
        response: Response = decoder.finish()
    else:
        response = normalize(message)
    canonical = json_text(response)
    expect_none(f"{place} is lost" for value, place in places.items() if value not in canonical)
    assert len(places) > 10


# the walk itself


class InventedBlock(AnthropicModel):
    """A block as tomorrow's SDK could name it."""

    type: Literal["mind_reading"]
    thought: str


class GrownTextBlock(AnthropicModel):
    type: Literal["text"]
    text: str
    citations: list[Any] | None = None
    mood: str | None = None


def test_an_invented_type_and_an_invented_member_would_be_listed() -> None:
    invented = stable.TextBlock | InventedBlock | GrownTextBlock
    assert list(lacking_union(invented, anthropic.Block, "anthropic_messages.schema.Block")) == [
        "type 'mind_reading' (InventedBlock) is not named by anthropic_messages.schema.Block",
        "text.mood is not named by toolparity.normalizer.wires.anthropic_messages.schema.TextBlock",
    ]


def test_an_invented_stop_reason_would_be_listed() -> None:
    assert list(unnamed(["end_turn", "bored"], stop_words.WORDS.keys(), "STOPS")) == ["'bored' is not named by STOPS"]


def test_a_list_of_gaps_fails_readably() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"no table here names:\n  a\n  b$"):
        expect_none(["a", "b", "a"])


def test_the_walk_sees_the_unions_whole() -> None:
    walked = {tag for model in sdk_types.models(beta.BetaContentBlock) for tag in sdk_types.tags(model)}
    assert walked >= {"text", "tool_use", "mcp_tool_use", "compaction"}
    items = sdk_types.block_types()["openai.responses"]
    assert items >= {"function_call", "mcp_approval_request", "program", "compaction"}
