"""How the emulated Chat service of xAI spells what scripts say, and how it refuses, keeps and breaks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import grpc
import pytest
import xai_sdk
from xai_sdk.chat import tool, user
from xai_sdk.proto import chat_pb2, chat_pb2_grpc
from xai_sdk.tools import code_execution, web_search, x_search

from tests.cassettes.emulated.library import LIBRARY
from toolparity import StreamDecoder
from toolparity.cassettes.emulated.servers import Servers, running

INCLUDE: list[Any] = ["web_search_call_output", "x_search_call_output", "code_execution_call_output"]
NO_RETRIES = [("grpc.enable_retries", 0)]
_HOSTED = {"web_search": web_search, "x_search": x_search, "code_execution": code_execution}


@pytest.fixture(scope="module")
def own() -> Iterator[Servers]:
    with running(LIBRARY) as up:
        yield up


@pytest.fixture(scope="module")
def sdk(own: Servers) -> Iterator[xai_sdk.Client]:
    with client(own) as made:
        yield made


def client(servers: Servers, key: str = "any") -> xai_sdk.Client:
    host = {"api_host": servers.grpc_address, "use_insecure_channel": True, "channel_options": NO_RETRIES}
    return xai_sdk.Client(api_key=key, timeout=20, **host)


def chat(sdk: Any, id: str, **more: Any) -> Any:
    script = LIBRARY[id]
    tools = [tool(offer.name, offer.description, offer.parameters) for offer in script.tools]
    tools += [_HOSTED[name]() for name in script.hosted]
    asked = {"model": "grok-4-fast", "messages": [user(script.ask)], "tools": tools or None}
    return sdk.chat.create(**{**asked, **more})


def plain(sdk: xai_sdk.Client, id: str, **more: Any) -> Any:
    return chat(sdk, id, **more).sample().proto


def streamed(sdk: xai_sdk.Client, id: str, **more: Any) -> list[Any]:
    return [chunk.proto for _, chunk in chat(sdk, id, **more).stream()]


def refusal(call: Any) -> Any:
    with pytest.raises(grpc.RpcError) as told:
        call()
    return told.value


def test_an_answer_carries_its_head_its_usage_and_the_settings(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "calls", max_tokens=50)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made.id)
    assert made.model == "grok-4-fast-reasoning"
    assert re.fullmatch("fp_[0-9a-f]{10}", made.system_fingerprint)
    assert made.created.seconds > 1_767_225_600
    (output,) = made.outputs
    assert (output.index, output.finish_reason, output.message.role) == (0, 4, chat_pb2.ROLE_ASSISTANT)
    assert output.message.content == "First this."
    assert [call.function.arguments for call in output.message.tool_calls] == ['{"what":"a"}', '{"what":"b"}']
    for call in output.message.tool_calls:
        assert re.fullmatch(r"call_\d{8}", call.id)
        assert call.type == chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL
        assert call.status == chat_pb2.TOOL_CALL_STATUS_COMPLETED
    usage = made.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens + usage.reasoning_tokens
    assert usage.prompt_text_tokens == usage.prompt_tokens > usage.cached_prompt_text_tokens > 0
    assert usage.cost_in_usd_ticks > 0
    assert (made.settings.max_tokens, made.settings.parallel_tool_calls) == (50, True)
    assert [one.function.name for one in made.settings.tools] == ["look"]


def test_words_come_in_pieces_and_calls_whole(sdk: xai_sdk.Client) -> None:
    chunks = streamed(sdk, "calls")
    texts = [chunk.outputs[0].delta.content for chunk in chunks if chunk.outputs[0].delta.content]
    assert "".join(texts) == "First this."
    assert len(texts) > 1
    calls = [call for chunk in chunks for call in chunk.outputs[0].delta.tool_calls]
    assert list(calls) == list(plain(sdk, "calls").outputs[0].message.tool_calls)
    assert [chunk.outputs[0].finish_reason for chunk in chunks] == [0] * (len(chunks) - 1) + [4]
    assert all(chunk.created.nanos for chunk in chunks)
    counted = [chunk.usage.completion_tokens for chunk in chunks]
    assert counted == sorted(counted)
    assert chunks[-1].usage == plain(sdk, "calls").usage


def test_pieces_are_as_the_script_wants_them(sdk: xai_sdk.Client) -> None:
    def texts(id: str) -> list[str]:
        return [c.outputs[0].delta.content for c in streamed(sdk, id) if c.outputs[0].delta.content]

    assert texts("letters") == list("First this.")
    assert texts("whole") == ["First this."]


def test_a_scripts_own_id_stands_on_the_wire(sdk: xai_sdk.Client) -> None:
    assert plain(sdk, "own-id").outputs[0].message.tool_calls[0].id == "my-own-1"


def test_a_call_of_xais_own_leaves_its_place_to_a_result_that_is_not_sent(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "searches")
    assert [(o.index, o.finish_reason) for o in made.outputs] == [(0, 4), (2, 3)]
    (call,) = made.outputs[0].message.tool_calls
    assert (call.type, call.function.name) == (chat_pb2.TOOL_CALL_TYPE_WEB_SEARCH_TOOL, "web_search")
    assert made.outputs[1].message.content == "In 1758. So it is said."
    assert list(made.citations) == ["https://example.com/a", "https://example.org/b"]
    assert [chunk.outputs[0].index for chunk in streamed(sdk, "searches") if chunk.outputs[0].finish_reason] == [0, 2]


def test_what_was_run_and_looked_at_is_told_at_the_end_of_a_stream(sdk: xai_sdk.Client) -> None:
    made, (*before, last) = plain(sdk, "searches"), streamed(sdk, "searches")
    assert last.usage == made.usage
    assert list(last.usage.server_side_tools_used) == [1]
    assert list(last.citations) == list(made.citations)
    assert not any(chunk.citations or chunk.usage.server_side_tools_used for chunk in before)


def test_two_searches_stand_in_one_output_and_take_two_places(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "searches-twice")
    assert [(o.index, len(o.message.tool_calls), o.finish_reason) for o in made.outputs] == [(0, 2, 4), (3, 1, 4)]
    assert len(made.usage.server_side_tools_used) == 2


def test_a_result_that_was_asked_for_repeats_its_call(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "searches", include=INCLUDE)
    announced, result, text = made.outputs
    assert (announced.index, result.index, text.index) == (0, 1, 2)
    assert (result.message.role, result.finish_reason) == (chat_pb2.ROLE_TOOL, 0)
    assert list(result.message.tool_calls) == list(announced.message.tool_calls)
    assert (result.message.content, bool(result.message.encrypted_content)) == ("", True)
    chunks = streamed(sdk, "searches", include=INCLUDE)
    calls = [call for chunk in chunks for call in chunk.outputs[0].delta.tool_calls]
    assert [call.status for call in calls] == [0, chat_pb2.TOOL_CALL_STATUS_COMPLETED]
    (told,) = [chunk for chunk in chunks if chunk.outputs[0].delta.role == chat_pb2.ROLE_TOOL]
    assert (told.model, told.usage.prompt_tokens, told.usage.cost_in_usd_ticks > 0) == ("", 0, True)


def test_code_prints_into_its_result(sdk: xai_sdk.Client) -> None:
    result = plain(sdk, "runs", include=INCLUDE).outputs[1].message
    assert result.content == '{"stdout":"4\\n","stderr":"","output_files":{},"error":"","ret":""}'
    failed = plain(sdk, "crashes", include=INCLUDE).outputs
    assert [o.index for o in failed] == [0, 1, 2]
    assert failed[1].message.tool_calls[0].status == chat_pb2.TOOL_CALL_STATUS_FAILED
    assert failed[1].message.tool_calls[0].error_message == "unavailable"
    assert failed[2].finish_reason == 3


def test_a_search_on_x_goes_by_another_name(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "reads-x")
    call = made.outputs[0].message.tool_calls[0]
    assert (call.type, call.function.name) == (chat_pb2.TOOL_CALL_TYPE_X_SEARCH_TOOL, "x_keyword_search")
    assert list(made.usage.server_side_tools_used) == [2]


def test_reasoning_is_counted_shown_by_some_models_and_encrypted_for_who_asks(sdk: xai_sdk.Client) -> None:
    counted = plain(sdk, "thinks")
    assert counted.usage.reasoning_tokens > 0
    message = counted.outputs[0].message
    assert (message.reasoning_content, message.encrypted_content) == ("", "")
    shown = plain(sdk, "thinks", model="grok-4.6")
    assert shown.outputs[0].message.reasoning_content == "Let me see first."
    assert shown.outputs[0].message.tool_calls[0].id.startswith("call-")
    kept = plain(sdk, "thinks", use_encrypted_content=True).outputs[0].message.encrypted_content
    assert len(kept) > 100
    chunks = streamed(sdk, "thinks", use_encrypted_content=True)
    assert "".join(chunk.outputs[0].delta.encrypted_content for chunk in chunks) == kept
    chunks = streamed(sdk, "thinks", model="grok-4.6")
    assert "".join(chunk.outputs[0].delta.reasoning_content for chunk in chunks) == "Let me see first."
    assert plain(sdk, "thinks", model="grok-4-fast-non-reasoning").usage.reasoning_tokens == 0


def test_no_call_is_made_where_calls_are_forbidden_and_one_where_several_are(sdk: xai_sdk.Client) -> None:
    none = plain(sdk, "calls", tool_choice="none").outputs[0]
    assert (list(none.message.tool_calls), none.finish_reason) == ([], 3)
    one = plain(sdk, "calls", parallel_tool_calls=False)
    assert [call.function.arguments for call in one.outputs[0].message.tool_calls] == ['{"what":"a"}']
    assert not one.settings.parallel_tool_calls


def test_cut_arguments_end_at_the_limit(own: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAI_SDK_DISABLE_SENSITIVE_TELEMETRY_ATTRIBUTES", "1")
    from toolparity.cassettes.scripts import Round, Script, ScriptedCall

    cut = Script("cut", "cut", [Round([ScriptedCall("look", arguments_text='{"wh')], "Play cut.", "length")])
    with running({"cut": cut}) as servers, client(servers) as sdk:
        (output,) = sdk.chat.create(model="grok-4-fast", messages=[user("Play cut.")]).sample().proto.outputs
    assert output.finish_reason == 1
    assert output.message.tool_calls[0].status == chat_pb2.TOOL_CALL_STATUS_INCOMPLETE


REFUSALS = {
    "rate_limit": (grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many requests"),
    "overloaded": (grpc.StatusCode.UNAVAILABLE, "at capacity"),
    "server_error": (grpc.StatusCode.INTERNAL, "Internal"),
    "authentication": (grpc.StatusCode.UNAUTHENTICATED, "API key"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_script_refuses_in_xais_words(sdk: xai_sdk.Client, kind: str) -> None:
    code, words = REFUSALS[kind]
    for told in (refusal(lambda: plain(sdk, kind)), refusal(lambda: streamed(sdk, kind))):
        assert told.code() is code
        assert words in told.details()
        trailing = dict(told.trailing_metadata() or ())
        assert trailing.get("retry-after") == ("3" if kind == "rate_limit" else None)


def test_a_key_is_needed_and_has_to_be_known(own: Servers) -> None:
    with client(own, "invalid-key") as sdk:
        told = refusal(lambda: plain(sdk, "said"))
    assert told.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "Incorrect API key provided: in***ey" in told.details()
    with grpc.insecure_channel(own.grpc_address) as channel:
        stub = chat_pb2_grpc.ChatStub(channel)
        told = refusal(lambda: stub.GetCompletion(chat_pb2.GetCompletionsRequest(model="grok-4-fast"), timeout=20))
    assert told.code() is grpc.StatusCode.UNAUTHENTICATED


def test_a_request_against_the_rules_is_refused(sdk: xai_sdk.Client) -> None:
    assert (
        refusal(lambda: plain(sdk, "said", messages=[user("Play what is not there.")])).code().name
        == "INVALID_ARGUMENT"
    )
    reserved = refusal(lambda: plain(sdk, "said", tools=[tool("tool_search", "mine", {"type": "object"})]))
    assert (reserved.code().name, "reserved" in reserved.details()) == ("INVALID_ARGUMENT", True)
    with pytest.warns(PendingDeprecationWarning, match="sample_batch"):
        assert refusal(lambda: chat(sdk, "said").sample_batch(2)).code().name == "INVALID_ARGUMENT"


def test_a_model_that_is_not_there_is_not_found(sdk: xai_sdk.Client) -> None:
    told = refusal(lambda: plain(sdk, "said", model="no-such-model"))
    assert told.code() is grpc.StatusCode.NOT_FOUND
    assert "The model no-such-model does not exist" in told.details()


@pytest.mark.parametrize("kind", ["overloaded", "server_error"])
def test_the_service_can_fail_in_the_midst_of_a_stream(sdk: xai_sdk.Client, kind: str) -> None:
    heard: list[str] = []

    def listen() -> None:
        for _, chunk in chat(sdk, f"late-{kind}").stream():
            heard.append(chunk.content)

    assert refusal(listen).code() is REFUSALS[kind][0]
    assert "".join(heard) == "First this."
    assert refusal(lambda: plain(sdk, f"late-{kind}")).code() is REFUSALS[kind][0]


def test_a_stream_can_end_without_its_last_chunk(sdk: xai_sdk.Client) -> None:
    decoder = StreamDecoder("xai.grpc")
    for chunk in streamed(sdk, "late-cut"):
        decoder.feed(chunk)
    response = decoder.finish()
    assert not response.complete
    assert response.choices[0].text == "First this."


def test_a_connection_can_break(sdk: xai_sdk.Client) -> None:
    for told in (refusal(lambda: streamed(sdk, "late-reset")), refusal(lambda: plain(sdk, "late-reset"))):
        assert (told.code(), told.details()) == (grpc.StatusCode.UNAVAILABLE, "Socket closed")


def test_an_answer_comes_later_to_who_asks_for_that(sdk: xai_sdk.Client) -> None:
    later = chat(sdk, "calls").defer(timeout=timedelta(seconds=20), interval=timedelta(milliseconds=1))
    assert later.proto == plain(sdk, "calls")
    assert refusal(lambda: chat(sdk, "rate_limit").defer()).code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_stored_answer_is_gone_on_from_read_again_and_deleted(sdk: xai_sdk.Client) -> None:
    first = plain(sdk, "goes-on", store_messages=True)
    call = first.outputs[0].message.tool_calls[0]
    answer = chat_pb2.Message(role=chat_pb2.ROLE_TOOL, content=[chat_pb2.Content(text="found")], tool_call_id=call.id)
    second = plain(sdk, "goes-on", messages=[answer], previous_response_id=first.id, store_messages=True)
    assert second.outputs[0].message.content == "It was found."
    third = plain(sdk, "goes-on", messages=[user("And then?")], previous_response_id=second.id)
    assert third.outputs[0].message.content == "Nothing more."
    (again,) = sdk.chat.get_stored_completion(first.id)
    assert again.proto == first
    assert sdk.chat.delete_stored_completion(first.id) == first.id
    assert refusal(lambda: sdk.chat.get_stored_completion(first.id)).code() is grpc.StatusCode.NOT_FOUND


def test_what_no_script_can_tell_is_not_offered(sdk: xai_sdk.Client) -> None:
    assert refusal(lambda: chat(sdk, "said").compact()).code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_request_beyond_the_limit_of_grpc_is_read(sdk: xai_sdk.Client) -> None:
    """Without an option, a server of gRPC takes 4 MiB."""
    asked = user(LIBRARY["said"].ask)
    long = chat_pb2.Message(role=chat_pb2.ROLE_SYSTEM, content=[chat_pb2.Content(text="word " * 900_000)])
    assert plain(sdk, "said", messages=[long, asked]).outputs[0].message.content == "Just words, some of them."


def test_an_answer_that_was_not_stored_cannot_be_gone_on_from(sdk: xai_sdk.Client) -> None:
    first = plain(sdk, "said")
    told = refusal(lambda: plain(sdk, "said", messages=[user("More?")], previous_response_id=first.id))
    assert told.code() is grpc.StatusCode.NOT_FOUND


def test_the_asynchronous_sdk_hears_the_same(own: Servers, sdk: xai_sdk.Client) -> None:
    host = {"api_host": own.grpc_address, "use_insecure_channel": True, "channel_options": NO_RETRIES}

    async def listen() -> tuple[Any, list[Any], Any]:
        other = xai_sdk.AsyncClient(api_key="any", timeout=20, **host)
        try:
            chunks = [chunk.proto async for _, chunk in chat(other, "calls").stream()]
            whole = (await chat(other, "calls").sample()).proto
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await chat(other, "rate_limit").sample()
        finally:
            await other.close()
        return whole, chunks, told.value.code()

    whole, chunks, code = asyncio.run(listen())
    assert (whole, chunks) == (plain(sdk, "calls"), streamed(sdk, "calls"))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
