"""Calls of the public interface with right names and with typos. mypy reads this file; nothing runs it.

Each typo has a ``type: ignore``. mypy reports one that is not needed, so every typo here is an error to mypy.
"""

from __future__ import annotations

from typing import Any

from toolparity import (
    Policy,
    Request,
    RequestWriter,
    Response,
    Selection,
    StreamDecoder,
    ToolCall,
    Wire,
    check_request,
    normalize,
    read_request,
    select,
    write_request,
)
from toolparity.conformance.subjects import SubjectExchange
from toolparity.normalizer.policies import policy_name
from toolparity.normalizer.requests import with_policy
from toolparity.normalizer.wires.registry import wire_name
from toolparity.textmode import limit_of
from toolparity.turns import Provider, Turn
from toolparity.turns.clients import client


def right(body: Any, response: Response, request: Request, provider: Provider, name: str) -> None:
    wires: tuple[Wire, ...] = ("openai.chat", "openai.responses", "anthropic.messages", "xai.grpc")
    policies: tuple[Policy, ...] = ("first", "all", "batch")
    for wire in wires:
        normalize(body, wire)
        client(wire)
    for policy in policies:
        select(response, policy)
    StreamDecoder("xai.grpc")
    read_request(body, "anthropic.messages")
    write_request(request, "openai.responses")
    encoded = write_request(request)
    StreamDecoder(encoded.wire)
    RequestWriter("openai.chat")
    check_request(body, wire="openai.chat")
    with_policy(request, "first")
    limit_of("batch", 3)
    Turn(provider, policy="batch", on_error="stop", on_all_failed="answer")
    SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[], policy="first")
    normalize(body, wire_name(name))
    select(response, policy_name(name))
    selection: Selection = select(response)
    chosen: Policy = selection.policy
    calls: list[ToolCall] = selection.calls
    print(chosen, calls)


def typos(body: Any, response: Response, request: Request, provider: Provider, name: str) -> None:
    normalize(body, "anthropic.message")  # type: ignore[arg-type]
    normalize(body, wire="openai_chat")  # type: ignore[arg-type]
    normalize(body, name)  # type: ignore[arg-type]
    StreamDecoder("openai.response")  # type: ignore[arg-type]
    select(response, "frist")  # type: ignore[arg-type]
    select(response, policy="ALL")  # type: ignore[arg-type]
    select(response, name)  # type: ignore[arg-type]
    read_request(body, "openai")  # type: ignore[arg-type]
    write_request(request, "anthropic")  # type: ignore[arg-type]
    RequestWriter("xai.rest")  # type: ignore[arg-type]
    check_request(body, "openai.chats")  # type: ignore[arg-type]
    with_policy(request, "one")  # type: ignore[arg-type]
    limit_of("any")  # type: ignore[arg-type]
    client("openai.completions")  # type: ignore[arg-type]
    Turn(provider, policy="parallel")  # type: ignore[arg-type]
    Turn(provider, on_error="halt")  # type: ignore[arg-type]
    SubjectExchange(wire="chat", provider="openai", stream=False, pieces=[])  # type: ignore[arg-type]
    SubjectExchange(wire="openai.chat", provider="openai", stream=False, pieces=[], policy="none")  # type: ignore[arg-type]
    wrong: Wire = "openai-chat"  # type: ignore[assignment]
    bad: Policy = "last"  # type: ignore[assignment]
    print(wrong, bad)
