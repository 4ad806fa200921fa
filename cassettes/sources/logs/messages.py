"""Messages of several notations, converted to those of Chat Completions.

The notations: Chat Completions itself, the Messages API (blocks), LangChain (serialized objects, and calls of ``name``
and ``args``), the GenAI conventions of OpenTelemetry (``parts``), and OpenInference (nested ``message``).
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "function": "tool"}
#: Blocks of the Messages API that Chat Completions cannot hold in a content.
_CALLS, _RESULTS, _REASONING = (
    ("tool_use", "tool_call"),
    ("tool_result",),
    ("thinking", "redacted_thinking", "reasoning"),
)


def as_chat(messages: Any) -> list[dict[str, Any]]:
    """Return messages in the notation of Chat Completions. What is not a message is left out."""
    converted: list[dict[str, Any]] = []
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, list):  # LangChain logs batches of conversations
            converted += as_chat(message)
        elif isinstance(message, dict):
            converted += _converted(message)
    return converted


def call(id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call. ``arguments``: the text, or the value that is written as JSON."""
    written = arguments if isinstance(arguments, str) else json_codec.text({} if arguments is None else arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def _converted(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message.get("lc") and isinstance(message.get("kwargs"), dict):
        kind = message["id"][-1] if isinstance(message.get("id"), list) and message["id"] else ""
        return _converted({"role": _class_role(kind), **message["kwargs"], "lc": None})
    if isinstance(message.get("message"), dict):
        return _converted(message["message"])
    if isinstance(message.get("data"), dict) and "type" in message and "role" not in message:
        return _converted({"role": message["type"], **message["data"]})
    if isinstance(message.get("parts"), list):
        return _of_parts(message)
    role = message.get("role") or message.get("type")
    if not isinstance(role, str):
        return []
    role = _ROLES.get(role, role)
    extra = message.get("additional_kwargs")
    calls = message.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    made: dict[str, Any] = {"role": role, "content": message.get("content")}
    if role == "assistant" and isinstance(calls, list) and calls:
        made["tool_calls"] = [_call(entry) for entry in calls if isinstance(entry, dict)]
    if role == "assistant" and isinstance(message.get("function_call"), dict):
        made["function_call"] = message["function_call"]
    if role == "tool":
        made["tool_call_id"] = message.get("tool_call_id") or message.get("id")
        if not isinstance(made["content"], (str, list)):
            made["content"] = json_codec.text(made["content"])
    elif isinstance(made["content"], dict):
        made["content"] = json_codec.text(made["content"])
    elif isinstance(made["content"], list):
        return _of_blocks(made)
    return [made]


def _of_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert a message whose content may have calls and results. Each result becomes a message."""
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    results = [
        {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": _result_text(block.get("content"))}
        for block in blocks
        if block.get("type") in _RESULTS
    ]
    calls = [
        call(block.get("id"), block.get("name"), block.get("input", block.get("args")))
        for block in blocks
        if block.get("type") in _CALLS
    ]
    kept = [block for block in blocks if block.get("type") not in (*_CALLS, *_RESULTS, *_REASONING)]
    if results and not kept and not calls:
        return results
    made = {**message, "content": kept or None}
    if calls and "tool_calls" not in made:
        made["tool_calls"] = calls
    return [*results, made]


def _result_text(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        return "".join(str(part["text"]) for part in content)
    return content if isinstance(content, str) else json_codec.text(content)


def _class_role(name: str) -> str:
    """Return the role of a message class of LangChain, such as AIMessage."""
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _call(entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(entry.get("tool_call"), dict):  # OpenInference
        entry = entry["tool_call"]
    function = entry.get("function")
    if isinstance(function, dict):
        return {**entry, **call(entry.get("id"), function.get("name"), function.get("arguments"))}
    arguments = next((entry[key] for key in ("arguments", "args", "input") if key in entry), None)
    return call(entry.get("id"), entry.get("name"), arguments)


def _of_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert a message with parts. Each result becomes a message."""
    role = _ROLES.get(str(message.get("role")), str(message.get("role")))
    texts: list[Any] = []
    calls: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for part in map(_gemini_part, message["parts"]):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_call":
            calls.append(call(part.get("id"), part.get("name"), part.get("arguments")))
        elif kind == "tool_call_response":
            value = part.get("response", part.get("result"))
            content = value if isinstance(value, str) else json_codec.text(value)
            results.append({"role": "tool", "tool_call_id": part.get("id"), "content": content})
        elif kind == "text":
            texts.append(str(part.get("content", "")))
    if results and not texts and not calls:
        return results
    made: dict[str, Any] = {"role": role, "content": "".join(texts) or None}
    if calls:
        made["tool_calls"] = calls
    return [*results, made]


def _gemini_part(part: Any) -> Any:
    """Return a part of Gemini, which has no type, in the notation of the GenAI conventions; any other unchanged.

    The service writes ``functionCall``, and dumps of the SDK for Python write ``function_call``.
    """
    if not isinstance(part, dict) or "type" in part:
        return part
    call = part.get("functionCall") or part.get("function_call")
    result = part.get("functionResponse") or part.get("function_response")
    if isinstance(call, dict):
        return {"type": "tool_call", "id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")}
    if isinstance(result, dict):
        return {"type": "tool_call_response", "id": result.get("id"), "response": result.get("response")}
    is_text = isinstance(part.get("text"), str) and not part.get("thought")
    return {"type": "text", "content": part["text"]} if is_text else part
