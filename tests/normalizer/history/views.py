"""What a request body of any wire says, read without the normalizer: for tests that must not trust its own readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict

from toolparity.normalizer import json_codec


class Said(NamedTuple):
    """One thing that a body says, in order.

    ``kind``: "system", "user", "assistant", "reasoning", "call", "result", "media" or "other". ``text``: the words; of
    a call its argument text. ``failed``: a result's flag, where the wire has one.
    """

    kind: str
    text: str = ""
    id: str = ""
    name: str = ""
    failed: bool = False


def said(wire: str, body: Any) -> list[Said]:
    """All that the body says, in order."""
    return list(_WIRES[wire](body))


def of_kind(wire: str, body: Any, *kinds: str) -> list[Said]:
    """Of that only what is of these kinds."""
    return [one for one in said(wire, body) if one.kind in kinds]


def calls(wire: str, body: Any) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of every call; arguments that are not JSON as they are."""
    return [(one.id, one.name, value(one.text)) for one in of_kind(wire, body, "call")]


def results(wire: str, body: Any) -> list[tuple[str, str]]:
    """Id and words of every result."""
    return [(one.id, one.text) for one in of_kind(wire, body, "result")]


def value(text: str) -> Any:
    """The parsed arguments, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parts(content: Any, kind: str) -> Iterator[Said]:
    if isinstance(content, str):
        yield Said(kind, content)
        return
    for part in content or ():
        if isinstance(part, str):
            yield Said(kind, part)
        elif isinstance(part.get("text"), str):
            yield Said(kind, part["text"])
        elif isinstance(part.get("refusal"), str):
            yield Said(kind, part["refusal"])
        else:
            yield Said("media", json.dumps(part))


def _result(content: Any, id: str, failed: bool = False) -> Iterator[Said]:
    found = list(_parts(content, "result"))
    yield Said("result", "\n".join(one.text for one in found if one.kind == "result"), id, failed=failed)
    yield from (one for one in found if one.kind == "media")


def _chat(body: Any) -> Iterator[Said]:
    waiting: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role in ("tool", "function"):
            # Some clients leave the id out; such a message answers the next call.
            id = message.get("tool_call_id") or (waiting[0] if waiting else "")
            waiting = [other for other in waiting if other != id]
            yield from _result(message["content"], id)
            continue
        waiting = [call["id"] for call in message.get("tool_calls") or () if "id" in call] or waiting
        for member in ("reasoning_content", "reasoning"):
            if message.get(member):
                yield Said("reasoning", message[member])
        yield from _parts(message.get("content"), "system" if role == "developer" else role)
        if message.get("refusal"):
            yield Said("assistant", message["refusal"])
        if message.get("function_call"):
            yield Said("call", message["function_call"]["arguments"], "", message["function_call"]["name"])
        for call in message.get("tool_calls") or ():
            inner = call.get("function") or call["custom"]
            text = inner["input"] if "custom" in call else inner["arguments"]
            yield Said("call", text, call["id"], inner["name"])


#: Calls of the Responses wire that have their own type: their ids are looked at, not what they hold.
_OWN_CALLS = frozenset(("computer_call", "shell_call", "local_shell_call", "apply_patch_call", "tool_search_call"))


def _responses(body: Any) -> Iterator[Said]:
    if body.get("instructions"):
        yield Said("system", body["instructions"])
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message":
            role = item["role"]
            yield from _parts(item["content"], "system" if role == "developer" else role)
        elif kind in ("function_call", "custom_tool_call"):
            text = item["arguments"] if kind == "function_call" else item["input"]
            yield Said("call", text, item["call_id"], item["name"])
        elif kind in _OWN_CALLS and item.get("call_id") and item.get("execution") != "server":
            yield Said("call", "", item["call_id"])
        elif kind.endswith("_output") and item.get("call_id"):
            output = item.get("output", "")
            yield from _result(output if isinstance(output, (str, list)) else json.dumps(output), item["call_id"])
        elif kind == "reasoning":
            yield from (Said("reasoning", part["text"]) for part in item.get("summary") or ())
        else:
            yield Said("other", json.dumps(item), item.get("call_id", ""))


def _anthropic(body: Any) -> Iterator[Said]:
    yield from _parts(body.get("system"), "system")
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = block["type"]
            if kind == "text":
                yield Said(message["role"], block["text"])
            elif kind == "tool_use":
                yield Said("call", json.dumps(block["input"]), block["id"], block["name"])
            elif kind == "tool_result":
                yield from _result(block.get("content"), block["tool_use_id"], bool(block.get("is_error")))
            elif kind == "thinking":
                yield Said("reasoning", block["thinking"])
            elif kind in ("image", "document"):
                yield Said("media", json.dumps(block))
            else:
                yield Said("other", json.dumps(block))


def _xai(body: Any) -> Iterator[Said]:
    plain = MessageToDict(body, preserving_proto_field_name=True)
    for message in plain.get("messages", ()):
        role = message["role"].removeprefix("ROLE_").lower()
        if role == "tool":
            if message.get("tool_calls"):  # of a call that xAI ran itself
                yield Said("other", json.dumps(message), message.get("tool_call_id", ""))
            else:
                yield from _result(message["content"], message.get("tool_call_id", ""))
            continue
        if message.get("reasoning_content"):
            yield Said("reasoning", message["reasoning_content"])
        yield from _parts(message.get("content"), "system" if role == "developer" else role)
        for call in message.get("tool_calls", ()):
            kind = "call" if call["type"] == "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL" else "other"
            yield Said(
                kind, call["function"].get("arguments", ""), call.get("id", ""), call["function"].get("name", "")
            )


def _cohere(body: Any) -> Iterator[Said]:
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] == "tool":
            yield from _result(_texts(content), message["tool_call_id"])
            continue
        if message.get("tool_plan"):
            yield Said("reasoning", message["tool_plan"])
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            if part["type"] == "thinking":
                yield Said("reasoning", part["thinking"])
            else:
                yield from _parts([part], message["role"])
        for call in message.get("tool_calls") or ():
            yield Said("call", call["function"]["arguments"], call["id"], call["function"]["name"])


def _texts(content: Any) -> Any:
    """The content of a tool message, its documents as texts in JSON."""
    if isinstance(content, str):
        return content
    spelled = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
    return [{"text": spelled(part["document"])} if part["type"] == "document" else part for part in content]


def _ollama(body: Any) -> Iterator[Said]:
    for message in body["messages"]:
        role, words = message["role"], message.get("content") or ""
        if message.get("thinking"):
            yield Said("reasoning", message["thinking"])
        if role == "tool":
            yield Said("result", words, message.get("tool_call_id", ""))
        elif words:
            yield Said(role, words)
        yield from (Said("media", image) for image in message.get("images") or ())
        for call in message.get("tool_calls") or ():
            inner = call["function"]
            yield Said("call", json.dumps(inner["arguments"]), call.get("id", ""), inner["name"])


def _interactions(body: Any) -> Iterator[Said]:
    if body.get("system_instruction"):
        yield Said("system", body["system_instruction"])
    given = body.get("input")
    for step in given if isinstance(given, list) else [{"type": "user_input", "content": given}]:
        kind = step.get("type")
        if kind in ("user_input", "model_output"):
            yield from _contents(step.get("content"), "user" if kind == "user_input" else "assistant")
        elif kind == "thought":
            yield Said("reasoning", "".join(part.get("text", "") for part in step.get("summary") or ()))
        elif kind == "function_call":
            yield Said("call", json.dumps(step["arguments"]), step["id"], step["name"])
        elif kind == "function_result":
            result, failed = step["result"], step.get("is_error") is True
            parts = [part for part in result if part.get("type") != "text"] if isinstance(result, list) else []
            words = result
            if isinstance(result, dict):
                words = json.dumps(result, separators=(",", ":"), ensure_ascii=False)
            if isinstance(result, list):
                words = "".join(part["text"] for part in result if part.get("type") == "text")
            yield Said("result", words, step["call_id"], step.get("name", ""), failed)
            yield from _contents(parts, "result")
        else:
            yield from _contents([step], "user")


def _contents(content: Any, kind: str) -> Iterator[Said]:
    for part in [content] if isinstance(content, (str, dict)) else content or ():
        if isinstance(part, str):
            yield Said(kind, part)
        elif part.get("type") == "text":
            yield Said(kind, part["text"])
        elif part.get("type") in ("image", "audio", "video", "document"):
            yield Said("media", json.dumps(part))
        else:
            yield Said("other", json.dumps(part))


def _converse(body: Any) -> Iterator[Said]:
    yield from _parts(body.get("system"), "system")
    for message in body["messages"]:
        for block in message["content"]:
            if "text" in block:
                yield Said(message["role"], block["text"])
            elif "citationsContent" in block:
                yield from _parts(block["citationsContent"].get("content"), message["role"])
            elif "guardContent" in block:
                yield Said(message["role"], block["guardContent"]["text"]["text"])
            elif "toolUse" in block and block["toolUse"].get("type") != "server_tool_use":
                use = block["toolUse"]
                yield Said("call", json.dumps(use["input"]), use["toolUseId"], use["name"])
            elif "toolResult" in block and message["role"] == "user":
                result = block["toolResult"]
                content = [{"text": json_codec.text(p["json"])} if "json" in p else p for p in result["content"]]
                yield from _result(content, result["toolUseId"], result.get("status") == "error")
            elif "reasoningText" in block.get("reasoningContent", {}):
                yield Said("reasoning", block["reasoningContent"]["reasoningText"]["text"])
            elif block.keys() & {"image", "document", "video", "audio"}:
                yield Said("media", json.dumps(block))
            else:
                yield Said("other", json.dumps(block))


def _gemini(body: Any) -> Iterator[Said]:
    """Calls mostly have no ids: their results have the same name, in the same order."""
    yield from _gemini_parts((body.get("systemInstruction") or {}).get("parts") or (), "system")
    for content in body["contents"]:
        yield from _gemini_parts(content["parts"], "assistant" if content.get("role") == "model" else "user")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _gemini_parts(parts: Any, kind: str) -> Iterator[Said]:
    for part in [parts] if isinstance(parts, dict) else parts:  # the API takes a single part, too
        call, result = part.get("functionCall"), part.get("functionResponse")
        if call is not None:
            yield Said("call", json.dumps(call.get("args", {})), call.get("id", ""), call["name"])
        elif result is not None:
            holder = next((key for key in ("output", "result", "error") if result["response"].keys() == {key}), None)
            value = result["response"] if holder is None else result["response"][holder]
            text = value if isinstance(value, str) else _compact(value)
            yield Said("result", text, result.get("id", ""), result["name"], holder == "error")
            yield from (Said("media", json.dumps(media)) for media in result.get("parts") or ())
        elif part.get("text") is not None:
            yield Said("reasoning" if part.get("thought") else kind, part["text"])
        elif part.get("inlineData") or part.get("fileData"):
            yield Said("media", json.dumps(part))
        else:
            yield Said("other", json.dumps(part))


_WIRES = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _anthropic,
    "xai.grpc": _xai,
    "cohere.chat": _cohere,
    "ollama.chat": _ollama,
    "google.interactions": _interactions,
    "bedrock.converse": _converse,
    "google.gemini": _gemini,
}
