"""Every member that a request can have arrives on every wire, or is reported as lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as AnthropicRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as ChatRequest
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as ResponsesRequest
from openai.types.responses.response_input_param import ResponseInputItemParam
from xai_sdk.proto import chat_pb2

from tests.history.request_members import Change, alternatives, changes
from tests.history.talks import PROVIDERS
from tests.thoroughness import sampled
from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.registry import wire_name

#: The type of the requests of each wire's SDK.
REQUESTS: dict[str, Any] = {
    "openai.chat": ChatRequest,
    "openai.responses": ResponsesRequest,
    "anthropic.messages": AnthropicRequest,
    "xai.grpc": chat_pb2.GetCompletionsRequest.DESCRIPTOR,
}
#: Loss codes that state that a message, a part or a tool was left out as a whole.
_WHOLE = frozenset(
    ("empty", "hosted-tool", "media", "opaque", "orphan", "reasoning", "server-tool", "unsigned-reasoning")
)
#: Members that no other wire has to represent, with the reason. They survive on their own wire.
_INTERNAL = {
    "status": "the state of an item: the calls of a history are complete",
    "id": "the provider's id of an item; calls are identified by their call id",
    "type": "another spelling of the default type",
}
#: Values that mean the same as leaving the member out, and why.
_ALIKE = {
    "detail=auto": "the default",
    "is_error=False": "the default",
    "strict=False": "the default of all wires but openai.responses",
    "logprobs=False": "the default",
    ".response_format=dict": "the default, text",
    ".text.format=dict": "the default, text",
    "execution=server": "the default",
    "(ShellCall).status=completed": "the default",
    "function.parameters=a parameters": "not a schema: the function is declared without parameters",
    "functions[].parameters=dict": "without parameters, a function has none",
    "function.parameters=dict": "without parameters, a function has none",
    ".messages=list": "the roles system and developer, which mean the same",
    "(ResponseFunctionToolCallParam).id=a id": "not an id that OpenAI made, which it refuses",
    "(ResponseCustomToolCallParam).id=a id": "not an id that OpenAI made, which it refuses",
    "(ResponseReasoningItemParam).content=list": "the same text as the summary, which other wires get",
}
#: Members whose loss codes have other names.
_CODES = {"citations": "annotations", "tool_choice": "tool-choice"}
_FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
_CALLS = {each["type"]: each for each in alternatives(ResponseInputItemParam) if "call_id" in each and "type" in each}


def of_chat(body: dict[str, Any]) -> dict[str, Any]:
    """Add the calls to which results refer, and the tools to which a choice refers."""
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "call_1", "type": "function", "function": function}
    needed: dict[str, Any] = {
        "tool": [{"role": "assistant", "content": None, "tool_calls": [call]}],
        "function": [{"role": "assistant", "content": None, "function_call": function}],
    }
    body["messages"] = [
        {"role": "user", "content": "hi"},
        *(each for message in body["messages"] for each in (*needed.get(message["role"], ()), message)),
    ]
    if "function_call" in body:
        body.setdefault("functions", [{"name": "f", "parameters": {}}])
    elif "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}])
    return body


def of_responses(body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(body.get("input"), list):
        user = {"role": "user", "content": "hi"}
        body["input"] = [user, *(each for item in body["input"] for each in (*_call_of(item), item))]
        for item in body["input"]:
            if item.get("type") == "function_call_output":
                item.setdefault("call_id", "call_1")
    if "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{**_FUNCTION, "strict": False}])
    return body


def _call_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the call whose result an item is."""
    kind = item.get("type") or ""
    call = _CALLS.get(kind.removesuffix("_output")) if kind.endswith("_output") else None
    return [deepcopy(call)] if call else []


def of_anthropic(body: dict[str, Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    for message in body["messages"]:
        content = message.get("content")
        kind = content[0].get("type", "") if isinstance(content, list) else ""
        if kind == "tool_result":
            use = {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}
            messages.append({"role": "assistant", "content": [use]})
        elif kind.endswith(("tool_use", "thinking", "tool_result")):
            message["role"] = "assistant"
        if kind.endswith("_tool_result"):
            name = kind.removesuffix("_tool_result")
            content.insert(0, {"type": "server_tool_use", "id": "call_1", "name": name, "input": {}})
        messages.append(message)
    body["messages"] = messages
    if "tool_choice" in body:
        body.setdefault("tools", [{"name": "f", "input_schema": {"type": "object", "properties": {}}}])
    return body


def of_xai(body: dict[str, Any]) -> dict[str, Any]:
    body.setdefault("model", "grok-4-fast")
    if "tool_choice" in body or "parallel_tool_calls" in body:
        body.setdefault("tools", [{"function": {"name": "f", "parameters": "{}"}}])
    return body


#: What a value of the request's type needs to be a conversation, for each wire.
CONTEXTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "openai.chat": of_chat,
    "openai.responses": of_responses,
    "anthropic.messages": of_anthropic,
    "xai.grpc": of_xai,
}


def silent(wire: str, target: str, cases: list[Change]) -> Iterator[str]:
    """Yield the members whose value changes neither the written request nor its losses."""
    for case in cases:
        bodies = [CONTEXTS[wire](deepcopy(value)) for value in (case.before, case.after)]
        before, after = (_written(body, wire, target) for body in bodies)
        same = before.losses == after.losses and str(before.body) == str(after.body)
        if same and bodies[0] != bodies[1] and not _is_explained(case, before, other=wire != target):
            yield case.path


def _written(body: Any, wire: str, target: str) -> Encoded:
    request = read_request(body, wire_name(wire), provider=PROVIDERS[wire])
    return write_request(request, wire_name(target), provider=PROVIDERS[target])


def _is_explained(case: Change, before: Encoded, *, other: bool) -> bool:
    """Return whether the member states nothing, or a loss states that what contains it was left out."""
    containing = re.findall(r"\.(\w+)", case.path)
    names = {*containing, *(_CODES[member] for member in containing if member in _CODES)}
    reported = " ".join(f"{loss.code} {loss.message}" for loss in before.losses)
    return (
        case.path.endswith(tuple(_ALIKE))
        or (other and containing[-1] in _INTERNAL)
        or any(loss.code in _WHOLE for loss in before.losses)
        or any(re.search(rf"\b{name}\b", reported) for name in names)
    )


@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("wire", REQUESTS)
def test_a_member_arrives_or_is_reported(wire: str, target: str) -> None:
    cases = sampled(list(changes(REQUESTS[wire])), 200)
    assert len(cases) > 100
    assert list(silent(wire, target, cases)) == []
