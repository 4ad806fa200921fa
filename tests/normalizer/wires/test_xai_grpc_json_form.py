"""`json_form` converts protobuf messages like protobuf's own printer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("xai_sdk")

from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from xai_sdk.proto import chat_pb2, usage_pb2

from tests.support.thoroughness import examples
from toolparity.normalizer.wires.xai_grpc.json_form import as_dict, fields_except


def _printed(message: Any) -> Any:
    return MessageToDict(message, preserving_proto_field_name=True)


def _response() -> Any:
    response = chat_pb2.GetChatCompletionResponse(id="r", model="grok", system_fingerprint="fp", citations=["a", "b"])
    response.created.FromJsonString("2026-11-23T10:00:00.125Z")
    response.usage.CopyFrom(usage_pb2.SamplingUsage(completion_tokens=3, prompt_tokens=5))
    output = response.outputs.add(index=1, finish_reason="REASON_STOP")
    output.message.CopyFrom(chat_pb2.CompletionMessage(role="ROLE_ASSISTANT", content="hi"))
    output.message.tool_calls.add(id="c", function=chat_pb2.FunctionCall(name="f", arguments="{}"))
    return response


def test_a_response_with_every_kind_of_field_is_converted_like_by_the_printer() -> None:
    assert as_dict(_response()) == _printed(_response())


def test_what_has_no_text_form_is_converted_like_by_the_printer_or_becomes_its_fields() -> None:
    expected = _printed(_response())
    del expected["outputs"], expected["usage"]
    assert fields_except(_response(), "outputs", "usage") == expected
    output = chat_pb2.CompletionOutput(finish_reason=77)
    assert as_dict(output) == _printed(output) == {"finish_reason": 77}
    request = chat_pb2.GetCompletionsRequest(model="m", temperature=0.1, max_tokens=5)
    assert as_dict(request) == _printed(request)
    response = chat_pb2.GetChatCompletionResponse(id="r", created={"seconds": 10**12})
    assert as_dict(response) == {"id": "r", "created": {"seconds": 10**12}}


@examples(200)
@given(st.binary(max_size=80))
def test_any_message_is_converted_like_by_the_printer(data: bytes) -> None:
    try:
        message = chat_pb2.GetChatCompletionResponse.FromString(data)
        expected = _printed(message)
    except Exception:  # not a message, or one without a JSON form
        return
    assert as_dict(message) == expected
