"""Reading of a response of `openai.responses`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toolparity.normalizer import json_codec

from ...subjects import SubjectExchange
from . import (
    ANYTHING,
    Irregular,
    Json,
    WireBlock,
    WireChoice,
    WireResponse,
    call,
    opaque,
    openai_usage,
    reasoning,
    refusal,
    response_values,
    server_call,
    server_result,
    text_block,
    wire_error,
    without,
)

_TERMINAL = ("response.completed", "response.incomplete", "response.failed")
#: Type of a server call -> canonical tool, member with the arguments, members with the result.
_SERVER: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "web_search_call": ("web_search", "action", ()),
    "x_search_call": ("x_search", "action", ()),
    "file_search_call": ("file_search", "queries", ("results",)),
    "code_interpreter_call": ("code_execution", "code", ("outputs",)),
    "image_generation_call": ("image_generation", "revised_prompt", ("result", "error")),
    "mcp_call": ("mcp", "arguments", ("output", "error")),
}
#: Type of a built-in tool of the client -> kind, member with the arguments.
_CLIENT = {
    "computer_call": ("computer", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}
#: Names of the calls that xAI runs with its own tools, which have the type custom_tool_call.
_OF_XAI = {
    "x_user_search": "x_search",
    "x_keyword_search": "x_search",
    "x_semantic_search": "x_search",
    "x_thread_fetch": "x_search",
}


def response(exchange: SubjectExchange) -> WireResponse:
    """Read the response. Raises Irregular."""
    values = response_values(exchange)
    body, items, ended = assembled(values) if exchange.stream else (values[0], values[0].get("output"), True)
    failure = body.get("error") or next((value for value in values if value.get("type") == "error"), None)
    if items is None or exchange.status >= 400 or (exchange.stream and not body):
        failure = failure if exchange.stream else values[0]
        if failure is None:
            raise Irregular("the body has no output")
        return WireResponse(None, None, [], None, wire_error(failure, exchange.status), {}, failure)
    if any(str(item.get("type")).endswith("_output") for item in items):
        raise Irregular("the response has outputs of calls")
    cut = body.get("status") == "incomplete" or not ended
    texts = _action_texts(exchange, items)
    blocks = [
        block
        for number, item in enumerate(items)
        for block in _blocks(item, texts[number], exchange, cut=cut and item is items[-1])
    ]
    details = body.get("incomplete_details")
    stop = details.get("reason") if isinstance(details, dict) else None
    choice = WireChoice(0, blocks, stop or (body.get("status") if ended and failure is None else ANYTHING))
    error = None if failure is None else wire_error(failure, None)
    kept = without(body, "id", "object", "model", "status", "output", "usage", "error") if ended else {}
    usage = openai_usage(body.get("usage"), input="input_tokens", output="output_tokens")
    return WireResponse(body.get("id"), body.get("model"), [choice], usage, error, kept, values)


def reply(exchange: SubjectExchange) -> list[Json]:
    """Return what the model said, as it must go back. Raises Irregular."""
    values, stream = response_values(exchange), exchange.stream
    items = assembled(values)[1] if stream else values[0].get("output") or []
    if any(item.get("type") == "reasoning" and not item.get("encrypted_content") for item in items):
        raise Irregular("reasoning without state, which the provider may refuse")
    return items


def assembled(events: list[Json]) -> tuple[Json, list[Json], bool]:
    """Return the members of the response, the items, and whether the stream has its terminal event."""
    body: Json = {}
    terminal: Json | None = None
    done: dict[int, Json] = {}
    begun: set[int] = set()
    for event in events:
        kind, index = event.get("type", ""), event.get("output_index", -1)
        if kind in _TERMINAL:
            if terminal is not None:
                raise Irregular("two terminal events")
            terminal = event["response"]
        elif kind in ("response.created", "response.in_progress"):
            body = event["response"]
        elif kind == "response.output_item.added":
            begun.add(index)
        elif kind.endswith(".delta") and index not in begun:
            raise Irregular("a delta without its item")
        elif kind == "response.output_item.done":
            if index in done or index not in begun:
                raise Irregular("an item that ends twice or never began")
            done[index] = event["item"]
    items = [done[index] for index in sorted(done)]
    if terminal is not None:
        if terminal.get("output") != items or begun != done.keys():
            raise Irregular("the terminal event has other items than the stream")
        return terminal, items, True
    if begun - done.keys():
        raise Irregular("the stream ends inside an item")
    return body, items, False


class _ItemTexts(msgspec.Struct):
    action: msgspec.Raw = msgspec.Raw(b"")
    operation: msgspec.Raw = msgspec.Raw(b"")


class _Body(msgspec.Struct):
    output: list[_ItemTexts] = []


class _Event(_Body):
    response: _Body | None = None


def _action_texts(exchange: SubjectExchange, items: list[Json]) -> list[str]:
    """Return the exact text of the action or operation of each item."""
    if not any(isinstance(item.get(key), dict) for item in items for key in ("action", "operation")):
        return [""] * len(items)
    data = exchange.body
    if exchange.stream:
        events = [line.removeprefix(b"data:") for line in data.splitlines() if line.startswith(b"data:")]
        data = next(event for event in reversed(events) if b'"output"' in event)
    body = json_codec.decoder(_Event)(data)
    output = body.response.output if body.response is not None else body.output
    if len(output) != len(items):
        raise Irregular("a stream without its last list of items")
    return [bytes(item.action or item.operation).decode() for item in output]


def _blocks(item: Json, action: str, exchange: SubjectExchange, *, cut: bool) -> Iterator[WireBlock]:
    kind = item.get("type", "")
    if kind == "message":
        yield from _message(item)
    elif kind == "reasoning":
        parts = item.get("content") or item.get("summary") or []
        thoughts = "\n\n".join(part["text"] for part in parts if part.get("text"))
        yield reasoning(thoughts, without(item, "type", "encrypted_content"), encrypted=item.get("encrypted_content"))
    elif kind in ("function_call", "custom_tool_call"):
        yield _call(item, exchange, cut=cut)
    elif kind in _CLIENT and not _is_hosted_shell(item):
        tool, member = _CLIENT[kind]
        rest = {**without(item, "id", "type", "call_id", "caller", member), "member": member}
        yield call(item.get("call_id"), tool, action, rest, kind=tool, cut=cut or _is_cut(item), wire_id=item.get("id"))
    elif kind in _SERVER:
        yield from _server(item, action)
    elif kind == "mcp_approval_request":
        members = {"type": "approval_request", "id": item["id"], "server": item["server_label"], "name": item["name"]}
        rest = without(item, "id", "type", "server_label", "name", "arguments")
        yield WireBlock({**members, "arguments_text": item["arguments"]}, rest)
    elif kind == "mcp_list_tools":
        yield server_result("", "mcp", without(item), {}, failed=item.get("error") is not None)
    elif kind == "compaction":
        yield reasoning("", without(item, "encrypted_content"), encrypted=item.get("encrypted_content"))
    elif kind.endswith("_call"):
        raise Irregular(f"an item of type {kind}")
    else:
        yield opaque(kind, item, {})


def _is_hosted_shell(item: Json) -> bool:
    return (item.get("environment") or {}).get("type") not in (None, "local")


def _is_cut(item: Json) -> bool:
    return item.get("status") == "incomplete"


def _message(item: Json) -> Iterator[WireBlock]:
    rest = without(item, "type", "content", "role")
    if not item.get("content"):
        yield text_block("", [], rest)
    for part in item.get("content") or []:
        source = [rest, without(part, "type", "text", "refusal", "annotations")]
        if part.get("type") == "refusal":
            yield refusal(part["refusal"], source)
        elif part.get("type") == "output_text":
            yield text_block(part["text"], part.get("annotations") or [], source)
        else:
            yield opaque(part.get("type", ""), part, rest)


def _call(item: Json, exchange: SubjectExchange, *, cut: bool) -> WireBlock:
    custom = item["type"] == "custom_tool_call"
    text = item.get("input" if custom else "arguments")
    if (
        not isinstance(text, str)
        or not item.get("name")
        or item.get("status") in ("failed", "cancelled", "in_progress")
    ):
        raise Irregular("a call without a name or argument text, or one that failed")
    if custom and exchange.provider == "xai":
        tools = exchange.request.get("tools") if isinstance(exchange.request, dict) else None
        declared = {tool.get("name") for tool in tools or [] if tool.get("type") == "custom"}
        if not tools:
            raise Irregular("the declared tools are not known")
        if item["name"] not in declared:
            tool = _OF_XAI.get(item["name"], ANYTHING)
            rest = without(item, "id", "name", "input")
            return server_call(item["id"], tool, item["name"], text, item.get("status"), rest)
    rest = without(item, "id", "type", "call_id", "name", "arguments", "input", "namespace", "caller")
    return call(
        item.get("call_id"),
        item["name"],
        text,
        rest,
        kind="custom" if custom else "function",
        cut=_is_cut(item) or (cut and item.get("status") != "completed"),
        wire_id=item.get("id"),
        namespace=item.get("namespace"),
        caller=item.get("caller"),
    )


def _server(item: Json, action: str) -> Iterator[WireBlock]:
    tool, member, results = _SERVER[item["type"]]
    value = item.get(member)
    text = action if isinstance(value, dict) else value if isinstance(value, str) else json_codec.text(value)
    rest = without(item, "id", "name", "status", member, *results)
    status = item.get("status")
    yield server_call(item["id"], tool, item.get("name") or "", text if value is not None else "", status, rest)
    if outcome := {key: item[key] for key in results if item.get(key) is not None}:
        failed = item.get("error") is not None or status == "failed"
        yield server_result(item["id"], tool, outcome, {}, failed=failed)
