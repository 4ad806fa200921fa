"""The emulated Chat service of xAI encodes scripts, stores answers, refuses and breaks off as xAI does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import grpc
import pytest
import xai_sdk
from xai_sdk.chat import tool, user
from xai_sdk.proto import chat_pb2, chat_pb2_grpc
from xai_sdk.tools import code_execution, web_search, x_search

from tests.cassettes.emulated.script_library import LIBRARY, TEXT
from toolparity.cassettes.emulated.servers import Servers

INCLUDE: list[Any] = ["web_search_call_output", "x_search_call_output", "code_execution_call_output"]
NO_RETRIES = [("grpc.enable_retries", 0)]
_HOSTED = {"web_search": web_search, "x_search": x_search, "code_execution": code_execution}
REFUSALS = {
    "rate_limit": (grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many requests"),
    "overloaded": (grpc.StatusCode.UNAVAILABLE, "at capacity"),
    "server_error": (grpc.StatusCode.INTERNAL, "Internal"),
    "authentication": (grpc.StatusCode.UNAUTHENTICATED, "API key"),
}


@pytest.fixture(scope="module")
def sdk(servers: Servers) -> Iterator[xai_sdk.Client]:
    with client(servers) as made:
        yield made


def client(servers: Servers, key: str = "any", kind: Any = xai_sdk.Client) -> Any:
    host = {"api_host": servers.grpc_address, "use_insecure_channel": True, "channel_options": NO_RETRIES}
    return kind(api_key=key, timeout=20, **host)


def chat(sdk: Any, id: str, **members: Any) -> Any:
    script = LIBRARY[id]
    tools = [tool(offer.name, offer.description, offer.parameters) for offer in script.tools]
    tools += [_HOSTED[name]() for name in script.hosted]
    opening = {"model": "grok-4-fast", "messages": [user(script.ask)], "tools": tools or None}
    return sdk.chat.create(**{**opening, **members})


def plain(sdk: xai_sdk.Client, id: str, **members: Any) -> Any:
    return chat(sdk, id, **members).sample().proto


def streamed(sdk: xai_sdk.Client, id: str, **members: Any) -> list[Any]:
    return [chunk.proto for _, chunk in chat(sdk, id, **members).stream()]


def refusal(call: Callable[[], object]) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def status(call: Callable[[], object]) -> str:
    return str(refusal(call).code().name)


def test_an_answer_has_the_settings_of_its_request_and_the_ids_and_pieces_of_its_script(sdk: xai_sdk.Client) -> None:
    made = plain(sdk, "calls", max_tokens=50)
    assert (made.settings.max_tokens, made.settings.parallel_tool_calls) == (50, True)
    assert [one.function.name for one in made.settings.tools] == ["look"]
    assert not plain(sdk, "calls", parallel_tool_calls=False).settings.parallel_tool_calls
    assert plain(sdk, "own-id").outputs[0].message.tool_calls[0].id == "my-own-1"
    cut = plain(sdk, "cut-arguments").outputs[0]
    assert (cut.finish_reason, cut.message.tool_calls[0].status) == (1, chat_pb2.TOOL_CALL_STATUS_INCOMPLETE)
    texts = [chunk.outputs[0].delta.content for chunk in streamed(sdk, "characters")]
    assert [text for text in texts if text] == list(TEXT)


def test_an_included_result_repeats_its_call(sdk: xai_sdk.Client) -> None:
    announced, result, text = plain(sdk, "searches", include=INCLUDE).outputs
    assert (announced.index, result.index, text.index) == (0, 1, 2)
    assert (result.message.role, result.finish_reason) == (chat_pb2.ROLE_TOOL, 0)
    assert list(result.message.tool_calls) == list(announced.message.tool_calls)
    assert (result.message.content, bool(result.message.encrypted_content)) == ("", True)
    chunks = [chunk.outputs[0].delta for chunk in streamed(sdk, "searches", include=INCLUDE)]
    states = [call.status for delta in chunks for call in delta.tool_calls]
    assert states == [0, chat_pb2.TOOL_CALL_STATUS_COMPLETED]
    ran = plain(sdk, "runs", include=INCLUDE).outputs[1].message
    assert ran.content == '{"stdout":"4\\n","stderr":"","output_files":{},"error":"","ret":""}'
    failed = plain(sdk, "crashes", include=INCLUDE).outputs
    call = failed[1].message.tool_calls[0]
    assert (call.status, call.error_message) == (chat_pb2.TOOL_CALL_STATUS_FAILED, "unavailable")


def test_reasoning_is_counted_shown_by_some_models_and_encrypted_on_request(sdk: xai_sdk.Client) -> None:
    def message(**members: Any) -> Any:
        return plain(sdk, "thinks", **members).outputs[0].message

    def joined(member: str, **members: Any) -> str:
        deltas = [chunk.outputs[0].delta for chunk in streamed(sdk, "thinks", **members)]
        return "".join(getattr(delta, member) for delta in deltas)

    assert plain(sdk, "thinks").usage.reasoning_tokens > 0
    assert (message().reasoning_content, message().encrypted_content) == ("", "")
    shown = message(model="grok-4.6")
    assert shown.tool_calls[0].id.startswith("call-")
    assert joined("reasoning_content", model="grok-4.6") == shown.reasoning_content == "Let me see first."
    kept = message(use_encrypted_content=True).encrypted_content
    assert len(kept) > 100
    assert joined("encrypted_content", use_encrypted_content=True) == kept
    assert plain(sdk, "thinks", model="grok-4-fast-non-reasoning").usage.reasoning_tokens == 0


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_script_refuses_with_xais_status_and_message(servers: Servers, sdk: xai_sdk.Client, kind: str) -> None:
    code, message = REFUSALS[kind]

    async def ask() -> None:
        async with client(servers, kind=xai_sdk.AsyncClient) as other:
            await chat(other, kind).sample()

    for way in (lambda: plain(sdk, kind), lambda: streamed(sdk, kind), lambda: asyncio.run(ask())):
        raised = refusal(way)
        assert (raised.code(), message in raised.details()) == (code, True)
        trailing = dict(raised.trailing_metadata() or ())
        assert trailing.get("retry-after") == ("3" if kind == "rate_limit" else None)


def test_a_missing_and_an_unknown_key_are_refused(servers: Servers) -> None:
    with client(servers, "invalid-key") as sdk:
        raised = refusal(lambda: plain(sdk, "words"))
    assert raised.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "Incorrect API key provided: in***ey" in raised.details()
    with grpc.insecure_channel(servers.grpc_address) as channel:
        stub = chat_pb2_grpc.ChatStub(channel)
        request = chat_pb2.GetCompletionsRequest(model="grok-4-fast")
        assert status(lambda: stub.GetCompletion(request, timeout=20)) == "UNAUTHENTICATED"


def test_a_request_that_breaks_a_rule_is_refused(sdk: xai_sdk.Client) -> None:
    assert status(lambda: plain(sdk, "words", messages=[user("Which way?")])) == "INVALID_ARGUMENT"
    reserved = refusal(lambda: plain(sdk, "words", tools=[tool("tool_search", "mine", {"type": "object"})]))
    assert (reserved.code().name, "reserved" in reserved.details()) == ("INVALID_ARGUMENT", True)
    with pytest.warns(PendingDeprecationWarning, match="sample_batch"):
        assert status(lambda: chat(sdk, "words").sample_batch(2)) == "INVALID_ARGUMENT"
    unknown = refusal(lambda: plain(sdk, "words", model="no-such-model"))
    assert unknown.code() is grpc.StatusCode.NOT_FOUND
    assert "The model no-such-model does not exist" in unknown.details()
    assert status(lambda: chat(sdk, "words").compact()) == "UNIMPLEMENTED"


def test_a_stream_breaks_off_as_the_script_does(sdk: xai_sdk.Client) -> None:
    for kind in ("overloaded", "server_error"):
        for way in (plain, streamed):
            assert refusal(lambda way=way, kind=kind: way(sdk, f"{kind}-1")).code() is REFUSALS[kind][0]  # type: ignore[misc]
    for raised in (refusal(lambda: streamed(sdk, "reset-1")), refusal(lambda: plain(sdk, "reset-1"))):
        assert (raised.code(), raised.details()) == (grpc.StatusCode.UNAVAILABLE, "Socket closed")


def test_a_deferred_answer_comes_later(sdk: xai_sdk.Client) -> None:
    later = chat(sdk, "calls").defer(timeout=timedelta(seconds=20), interval=timedelta(milliseconds=1))
    assert later.proto == plain(sdk, "calls")
    assert status(lambda: chat(sdk, "rate_limit").defer()) == "RESOURCE_EXHAUSTED"


def test_a_stored_answer_is_continued_read_again_and_deleted(sdk: xai_sdk.Client) -> None:
    first = plain(sdk, "continues", store_messages=True)
    call = first.outputs[0].message.tool_calls[0]
    result = chat_pb2.Message(role=chat_pb2.ROLE_TOOL, content=[chat_pb2.Content(text="found")], tool_call_id=call.id)
    second = plain(sdk, "continues", messages=[result], previous_response_id=first.id, store_messages=True)
    assert second.outputs[0].message.content == "It was found."
    third = plain(sdk, "continues", messages=[user("And then?")], previous_response_id=second.id)
    assert third.outputs[0].message.content == "Nothing more."
    (again,) = sdk.chat.get_stored_completion(first.id)
    assert again.proto == first
    assert sdk.chat.delete_stored_completion(first.id) == first.id
    assert status(lambda: sdk.chat.get_stored_completion(first.id)) == "NOT_FOUND"
    unstored = plain(sdk, "words").id
    assert status(lambda: plain(sdk, "words", messages=[user("?")], previous_response_id=unstored)) == "NOT_FOUND"


def test_a_request_beyond_the_default_limit_of_grpc_is_read(sdk: xai_sdk.Client) -> None:
    """Without an option, a server of gRPC takes 4 MiB."""
    long = chat_pb2.Message(role=chat_pb2.ROLE_SYSTEM, content=[chat_pb2.Content(text="word " * 900_000)])
    made = plain(sdk, "words", messages=[long, user(LIBRARY["words"].ask)])
    assert made.outputs[0].message.content == "Just words, some of them."
