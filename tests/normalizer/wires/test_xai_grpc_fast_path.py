"""The fast path of complete xAI responses returns what the general path returns, and leaves the others to it.

`json_form` converts protobuf messages like protobuf's own printer.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2, usage_pb2

from tests.normalizer.recorded.rows import rows
from tests.support.events import grpc_output, grpc_response, tool_call
from tests.support.thoroughness import examples
from toolparity import normalize
from toolparity.normalizer.wires.xai_grpc import decode, decode_fast, schema
from toolparity.normalizer.wires.xai_grpc.json_form import as_dict, fields_except

CALL = tool_call('{"a": 1}', "c1", "look", status=schema.COMPLETED)
OTHER = tool_call('{"a": 2}', "c2", "find", status=schema.COMPLETED)
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "reasoning_tokens": 1, "total_tokens": 6}
REGULAR: dict[str, dict[str, Any]] = {
    "text": {"finish": "REASON_STOP", "content": "é \U0001f600"},
    "nothing": {"finish": "REASON_STOP"},
    "cut text": {"finish": "REASON_MAX_LEN", "content": "a"},
    "reasoning": {"finish": "REASON_STOP", "content": "a", "reasoning_content": "r", "encrypted_content": "e"},
    "encrypted": {"finish": "REASON_STOP", "content": "a", "encrypted_content": "e"},
    "calls": {"finish": "REASON_TOOL_CALLS", "tool_calls": [CALL, OTHER]},
    "text and a call": {"finish": "REASON_TOOL_CALLS", "content": '{"a": 1}', "tool_calls": [CALL]},
}
OTHERS: dict[str, list[dict[str, Any]]] = {
    "no finish": [{"content": "a"}],
    "two outputs": [REGULAR["calls"], {"finish": "REASON_STOP", "content": "b"}],
    "stop word of another end": [{"finish": "REASON_STOP", "tool_calls": [CALL]}],
    "calls announced": [{"finish": "REASON_TOOL_CALLS"}],
    "time limit": [{"finish": "REASON_TIME_LIMIT", "content": "a"}],
    "role of a result": [{"finish": "REASON_STOP", "role": schema.ROLE_TOOL, "content": "a"}],
    "one id twice": [{"finish": "REASON_TOOL_CALLS", "tool_calls": [CALL, CALL]}],
    "no arguments": [{"finish": "REASON_TOOL_CALLS", "tool_calls": [tool_call("{}", "c1", "look", status=1)]}],
    "invalid arguments": [{"finish": "REASON_TOOL_CALLS", "tool_calls": [tool_call("[1", "c1", "look", status=1)]}],
    "in progress": [{"finish": "REASON_TOOL_CALLS", "tool_calls": [tool_call('{"a":1}', "c1", "look")]}],
    "server call": [{"finish": "REASON_STOP", "tool_calls": [tool_call("{}", "s1", "web_search", type=2)]}],
    "citations": [{"finish": "REASON_STOP", "content": "a", "citations": [{"id": "1", "start_index": 1}]}],
}


def is_regular(data: bytes) -> bool:
    taken: list[Any] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decode, "decode_regular", lambda *given: taken.append(decode_fast.decode_regular(*given)))
        normalize(data, "xai.grpc")
    return taken != [None]


def assert_same(data: bytes, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decode, "decode_regular", lambda message, context: None)
        general = normalize(data, "xai.grpc", **options)
    response = normalize(data, "xai.grpc", **options)
    assert (response, response.findings) == (general, general.findings)


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("options", [{}, {"provider": "azure"}, {"request": ["look"]}])
def test_a_regular_response_is_the_same_on_both_paths(name: str, options: dict[str, Any]) -> None:
    created = {"seconds": 1_763_000_000, "nanos": 5 * (name == "text")}
    data = grpc_response(grpc_output(**REGULAR[name]), usage=USAGE, created=created, system_fingerprint="f")
    assert is_regular(data)
    assert_same(data, **options)


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_response_takes_the_general_path(name: str) -> None:
    data = grpc_response(*(grpc_output(index, **output) for index, output in enumerate(OTHERS[name])))
    assert not is_regular(data)
    assert_same(data)


def test_unknown_fields_and_several_requested_choices_take_the_general_path() -> None:
    unknown = b"\xfa\x3e\x03new"  # field 1007
    call = type(CALL).FromString(CALL.SerializeToString() + unknown)
    data = grpc_response(grpc_output(finish="REASON_TOOL_CALLS", tool_calls=[call]))
    for each in (data, grpc_response(grpc_output(**REGULAR["text"])) + unknown):
        assert not is_regular(each)
        assert [finding.code for finding in normalize(each, "xai.grpc").findings] == ["unknown-member"]
    data = grpc_response(grpc_output(1, **REGULAR["text"]))
    assert_same(data, request={"n": 2})
    assert normalize(data, "xai.grpc", request={"n": 2}).choices[0].index == 1


@pytest.mark.parametrize("seconds", [-62_135_596_800, -1, 1, 253_402_300_799, 253_402_300_800])
def test_the_time_of_creation_is_that_of_protobuf_json(seconds: int) -> None:
    message = chat_pb2.GetChatCompletionResponse(created={"seconds": seconds})
    has_text = seconds < 253_402_300_800
    expected = message.created.ToJsonString() if has_text else {"seconds": seconds}
    assert schema.as_dict(message)["created"] == expected


def test_every_recorded_response_is_the_same_on_both_paths(recordings: Path) -> None:
    bodies = [base64.b64decode(row.frames[0]) for row in rows(recordings, "xai.grpc") if not row.stream and row.frames]
    assert bodies
    for body in bodies:
        assert_same(body)


def printed(message: Any) -> Any:
    return MessageToDict(message, preserving_proto_field_name=True)


def full_response() -> Any:
    response = chat_pb2.GetChatCompletionResponse(id="r", model="grok", system_fingerprint="fp", citations=["a", "b"])
    response.created.FromJsonString("2026-11-23T10:00:00.125Z")
    response.usage.CopyFrom(usage_pb2.SamplingUsage(completion_tokens=3, prompt_tokens=5))
    output = response.outputs.add(index=1, finish_reason="REASON_STOP")
    output.message.CopyFrom(chat_pb2.CompletionMessage(role="ROLE_ASSISTANT", content="hi"))
    output.message.tool_calls.add(id="c", function=chat_pb2.FunctionCall(name="f", arguments="{}"))
    return response


def test_every_kind_of_field_is_converted_like_by_the_printer_or_becomes_its_fields() -> None:
    expected = printed(full_response())
    assert as_dict(full_response()) == expected
    del expected["outputs"], expected["usage"]
    assert fields_except(full_response(), "outputs", "usage") == expected
    output = chat_pb2.CompletionOutput(finish_reason=77)
    assert as_dict(output) == printed(output) == {"finish_reason": 77}
    request = chat_pb2.GetCompletionsRequest(model="m", temperature=0.1, max_tokens=5)
    assert as_dict(request) == printed(request)
    response = chat_pb2.GetChatCompletionResponse(id="r", created={"seconds": 10**12})
    assert as_dict(response) == {"id": "r", "created": {"seconds": 10**12}}


@examples(200)
@given(st.binary(max_size=80))
def test_any_message_is_converted_like_by_the_printer(data: bytes) -> None:
    try:
        message = chat_pb2.GetChatCompletionResponse.FromString(data)
        expected = printed(message)
    except Exception:  # not a message, or one without a JSON form
        return
    assert as_dict(message) == expected
