"""What a request body of any wire states, read without the normalizer: for tests that must not trust its readers.

One reader for all wires: it recognizes each item by its members.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

Body = dict[str, Any]


class Statement(NamedTuple):
    """One thing that a body states.

    ``kind``: "system", "user", "assistant", "reasoning", "call", "result", "media" or "other". ``text``: of a call its
    argument text. ``failed``: the flag of a result, if the wire has one.
    """

    kind: str
    text: str = ""
    id: str = ""
    name: str = ""
    failed: bool = False


def statements(wire: str, body: Any) -> list[Statement]:
    """Return all that the body states, in order."""
    plain = MessageToDict(body, preserving_proto_field_name=True) if isinstance(body, Message) else body
    system = next((plain[name] for name in _SYSTEM if plain.get(name)), ())
    items = next((plain[name] for name in ("messages", "input", "contents") if name in plain), ())
    if isinstance(items, (str, dict)):
        items = [{"role": "user", "content": items}]
    return [*_parts(system, "system"), *(one for item in items for one in _item(item))]


def of_kind(wire: str, body: Any, *kinds: str) -> list[Statement]:
    return [one for one in statements(wire, body) if one.kind in kinds]


def calls(wire: str, body: Any) -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of every call. Arguments that are not JSON are a text."""
    return [(one.id, one.name, value(one.text)) for one in of_kind(wire, body, "call")]


def results(wire: str, body: Any) -> list[tuple[str, str]]:
    """Return id and text of every result."""
    return [(one.id, one.text) for one in of_kind(wire, body, "result")]


def value(text: str) -> Any:
    """Return the parsed arguments, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction")
_SPEAKERS = {"developer": "system", "system": "system", "assistant": "assistant", "model": "assistant"}
_SPEAKERS |= {"user_input": "user", "model_output": "assistant"}
#: Calls of openai.responses that have their own types: only their ids are read, not their members.
_TYPED_CALLS = frozenset(("computer_call", "shell_call", "local_shell_call", "apply_patch_call", "tool_search_call"))
#: The types or members of media.
_MEDIA = frozenset(("image", "document", "video", "audio", "file", "image_url", "video_url", "inlineData", "fileData"))
_MEDIA |= {"input_image", "input_file", "input_audio"}


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _item(item: Body) -> Iterator[Statement]:
    """Read a message, or an item that is a part of a message on other wires."""
    role = str(item.get("role") or item.get("type") or "").removeprefix("ROLE_").lower()
    if role in ("tool", "function") and "parts" not in item:
        if item.get("tool_calls"):  # of a call that xAI ran itself
            yield Statement("other", json.dumps(item), item.get("tool_call_id", ""))
        else:
            yield from _result(item["content"], item.get("tool_call_id", ""))
            yield from (Statement("media", image) for image in item.get("images") or ())
    elif item.keys() & {"role", "parts"} or role in _SPEAKERS:
        yield from _message(item, _SPEAKERS.get(role, "user"))
    else:
        yield from _part(item, "user")


def _message(item: Body, speaker: str) -> Iterator[Statement]:
    for name in ("reasoning_content", "reasoning", "thinking", "tool_plan"):
        if item.get(name):
            yield Statement("reasoning", item[name])
    yield from _parts(item.get("content", item.get("parts")), speaker)
    yield from (Statement("media", image) for image in item.get("images") or ())
    if item.get("refusal"):
        yield Statement(speaker, item["refusal"])
    if item.get("function_call"):
        yield Statement("call", item["function_call"]["arguments"], "", item["function_call"]["name"])
    for call in item.get("tool_calls") or ():
        inner = call.get("function") or call["custom"]
        ran = call.get("type", "").startswith("TOOL_") and call["type"] != "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
        arguments = _text(inner.get("arguments", inner.get("input", "")))
        yield Statement("other" if ran else "call", arguments, call.get("id", ""), inner.get("name", ""))


def _parts(content: Any, speaker: str) -> Iterator[Statement]:
    if isinstance(content, dict):
        content = content.get("parts", [content])
    for part in [content] if isinstance(content, (str, dict)) else content or ():
        yield from _part(part, speaker)


def _part(part: Any, speaker: str) -> Iterator[Statement]:
    match part:
        case str(text):
            yield Statement(speaker, text)
        case {"thought": True, "text": str(text)} | {"reasoningContent": {"reasoningText": {"text": text}}}:
            yield Statement("reasoning", text)
        case {"type": "thinking", "thinking": thought}:
            yield Statement("reasoning", thought if isinstance(thought, str) else "".join(t["text"] for t in thought))
        case {"type": "reasoning" | "thought"}:
            yield from (
                Statement("reasoning", text["text"]) for text in part.get("summary") or part.get("content") or ()
            )
        case {"functionCall": call}:
            yield Statement("call", _text(call.get("args", {})), call.get("id", ""), call["name"])
        case {"toolUse": call} if call.get("type") != "server_tool_use":
            yield Statement("call", _text(call["input"]), call["toolUseId"], call["name"])
        case {"type": "tool_use" | "function_call" | "custom_tool_call"}:
            arguments = part["arguments"] if "arguments" in part else part["input"]
            yield Statement("call", _text(arguments), part.get("call_id") or part["id"], part["name"])
        case {"type": kind, "call_id": str(id)} if kind in _TYPED_CALLS and part.get("execution") != "server":
            yield Statement("call", "", id)
        case {"type": "tool_result"}:
            yield from _result(part.get("content"), part["tool_use_id"], failed=bool(part.get("is_error")))
        case {"toolResult": result} if speaker == "user":
            yield from _result(result["content"], result["toolUseId"], failed=result.get("status") == "error")
        case {"functionResponse": result}:
            yield from _gemini_result(result)
        case {"type": "function_result"}:
            yield from _result(part["result"], part["call_id"], part.get("name", ""), part.get("is_error") is True)
        case {"type": kind, "call_id": str(id)} if kind.endswith("_output"):
            yield from _result(part.get("output", ""), id)
        case {"text": str(text)} | {"refusal": str(text)} | {"guardContent": {"text": {"text": text}}}:
            yield Statement(speaker, text)
        case {"citationsContent": inner}:
            yield from _parts(inner.get("content"), speaker)
        case _:
            is_media = bool(_MEDIA & {part.get("type", ""), *part})
            yield Statement("media" if is_media else "other", json.dumps(part), part.get("call_id") or "")


def _result(content: Any, id: str, name: str = "", failed: bool = False) -> Iterator[Statement]:
    """Read a text, an object, or parts, of which those of JSON and documents are texts."""
    parts = content if isinstance(content, list) else [] if content is None else [_compact(content)]
    texts = [_as_text(part) if isinstance(part, dict) else part for part in parts]
    found = [*_parts(texts, "result")]
    yield Statement("result", "\n".join(one.text for one in found if one.kind == "result"), id, name, failed)
    yield from (one for one in found if one.kind == "media")


def _as_text(part: Body) -> Body | str:
    """Return the JSON of Converse and the documents of Cohere as texts."""
    if part.get("type") == "document" and "document" in part:
        return _compact(part["document"])
    return _compact(part["json"]) if "json" in part else part


def _gemini_result(result: Body) -> Iterator[Statement]:
    """Calls mostly have no ids: their results have the same name, in the same order."""
    response = result["response"]
    holder = next((key for key in ("output", "result", "error") if response.keys() == {key}), None)
    text = _compact(response if holder is None else response[holder])
    yield Statement("result", text, result.get("id", ""), result["name"], holder == "error")
    yield from (Statement("media", json.dumps(media)) for media in result.get("parts") or ())
