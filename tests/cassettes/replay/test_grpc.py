"""Faults of gRPC calls, the rules of requests, and the journal."""

from __future__ import annotations

import base64
import json
from typing import Any

import grpc
import pytest
from xai_sdk.proto import chat_pb2

from .conftest import Server, sent_body

pytestmark = pytest.mark.service("cassettes/replay", "cassettes/emulated")


def call(server: Server, data: bytes, stream: bool, fault: str | None = None, **metadata: str) -> list[Any]:
    method = "GetCompletionChunk" if stream else "GetCompletion"
    kind = chat_pb2.GetChatCompletionChunk if stream else chat_pb2.GetChatCompletionResponse
    sent = [(name.replace("_", "-"), value) for name, value in metadata.items()]
    if fault is not None:
        sent.append(("x-toolparity-fault", fault))
    with grpc.insecure_channel(server.servers.grpc_address) as channel:
        make = channel.unary_stream if stream else channel.unary_unary
        made = make(f"/xai_api.Chat/{method}", request_serializer=None, response_deserializer=kind.FromString)
        found = made(data, timeout=2, metadata=sent)
        return list(found) if stream else [found]


def recorded_request(stream: bool, scenario: str = "parallel-three") -> bytes:
    return base64.b64decode(json.loads(sent_body("xai.grpc", stream, scenario))["serialized"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("status=429", "RESOURCE_EXHAUSTED", "Too many requests"),
        ("status=401", "UNAUTHENTICATED", "No API key"),
        ("html=502", "UNAVAILABLE", "502"),
        ("malformed", "INTERNAL", "deserializing"),
        ("cut=10", "UNAVAILABLE", ""),
        ("reset=10", "UNAVAILABLE", "reset by peer"),
        ("reset", "UNAVAILABLE", "reset by peer"),
        ("hang=10", "DEADLINE_EXCEEDED", ""),
        ("bogus", "INVALID_ARGUMENT", "unknown fault: 'bogus'"),
    ],
)
def test_a_call_fails_as_the_fault_orders(server: Server, fault: str, code: str, message: str, stream: bool) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        call(server, recorded_request(stream), stream, fault)
    assert failed.value.code().name == code  # type: ignore[attr-defined]
    assert message in failed.value.details()  # type: ignore[attr-defined]


def test_a_stream_breaks_after_the_messages_that_fit(server: Server) -> None:
    whole = call(server, recorded_request(True), True)
    fitting = sum(message.ByteSize() for message in whole[:3])
    arrived = call(server, recorded_request(True), True, f"end={fitting}")
    assert arrived == whole[:3]
    assert call(server, recorded_request(True), True, "empty") == []
    assert call(server, recorded_request(False), False, "empty")[0] == chat_pb2.GetChatCompletionResponse()


def test_a_fault_for_a_number_of_times_lets_the_next_call_succeed(server: Server) -> None:
    with pytest.raises(grpc.RpcError):
        call(server, recorded_request(False), False, "status=503;times=1")
    assert call(server, recorded_request(False), False, "status=503;times=1")[0].outputs
    assert [entry.status for entry in server.journal.entries] == ["OK", "UNAVAILABLE"]


def test_a_result_without_its_call_is_refused(server: Server) -> None:
    request = chat_pb2.GetCompletionsRequest(model="grok-4-fast")
    request.messages.add(role=chat_pb2.ROLE_TOOL, tool_call_id="call_1").content.add(text="21")
    with pytest.raises(grpc.RpcError) as refused:
        call(server, request.SerializeToString(), False, x_toolparity_scenario="text-only")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT  # type: ignore[attr-defined]
    assert "breaks the rule" in str(server.journal.entries[0].why)
