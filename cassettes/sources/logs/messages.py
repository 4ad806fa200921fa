"""Messages of several notations, converted to those of Chat Completions.

The notations: Chat Completions itself, the Messages API (blocks), LangChain (serialized objects, and calls of ``name``
and ``args``), the GenAI conventions of OpenTelemetry and Gemini (``parts``), OpenInference (nested ``message``), the AI
SDK of Vercel (``tool-call``), and Datadog (``tool_id``, ``tool_results``).
"""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "function": "tool"}
#: Types of blocks and parts that Chat Completions cannot hold in a content.
_CALLS, _RESULTS, _REASONING = (
    ("tool_use", "tool_call", "tool-call"),
    ("tool_result", "tool_call_response", "tool-result"),
    ("thinking", "redacted_thinking", "reasoning"),
)
#: Members of a part of Gemini, and the type of what they hold. The Python SDK writes them in snake case.
_HOLDERS = {
    "functionCall": "tool_call",
    "function_call": "tool_call",
    "functionResponse": "tool_result",
    "function_response": "tool_result",
}
#: Members of calls and results, in the order in which they are looked for.
_IDS = ("tool_use_id", "tool_call_id", "toolCallId", "tool_id", "id")
_NAMES = ("name", "toolName", "function")
_ARGUMENTS = ("arguments", "args", "input")
_CONTENTS = ("content", "response", "result", "output")


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
    if isinstance(results := message.get("tool_results"), list) and results:
        shown = [{"type": "text", "text": made["content"]}] if made["content"] else []
        marked = [{**one, "type": _RESULTS[0]} for one in results if isinstance(one, dict)]
        return _of_blocks({"role": role}, marked + shown)
    blocks = made["content"] if isinstance(made["content"], list) else ()
    if role == "tool" and any(isinstance(block, dict) and block.get("type") in _RESULTS for block in blocks):
        return _of_blocks({"role": role}, blocks)
    if role == "tool":
        made["tool_call_id"] = message.get("tool_call_id") or message.get("id")
        if not isinstance(made["content"], (str, list)):
            made["content"] = json_codec.text(made["content"])
    elif isinstance(made["content"], dict):
        made["content"] = json_codec.text(made["content"])
    elif isinstance(made["content"], list):
        return _of_blocks(made, made["content"])
    return [made]


def _of_blocks(message: dict[str, Any], blocks: Any) -> list[dict[str, Any]]:
    """Convert a message whose blocks or parts may be calls and results. Each result becomes a message."""
    typed = [_typed(block) for block in blocks if isinstance(block, dict)]
    results = [_result(block) for kind, block in typed if kind in _RESULTS]
    calls = [_call(block) for kind, block in typed if kind in _CALLS]
    kept = [block for kind, block in typed if kind not in (*_CALLS, *_RESULTS, *_REASONING)]
    if results and not kept and not calls:
        return results
    made = {**message, "content": kept or None}
    if calls and "tool_calls" not in made:
        made["tool_calls"] = calls
    return [*results, made]


def _typed(block: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the type of a block, and what it holds."""
    for name, kind in _HOLDERS.items():
        if isinstance(block.get(name), dict):
            return kind, block[name]
    return (block["type"] if isinstance(block.get("type"), str) else None), block


def _result(block: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": _first(block, _IDS), "content": _result_text(_first(block, _CONTENTS))}


def _first(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _result_text(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        return "".join(str(part["text"]) for part in content)
    if isinstance(content, dict) and content.keys() == {"type", "value"}:  # Vercel
        content = content["value"]
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
    return call(_first(entry, _IDS), _first(entry, _NAMES), _first(entry, _ARGUMENTS))


def _of_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Convert a message with parts. Its content is the text of its parts."""
    role = _ROLES.get(str(message.get("role")), str(message.get("role")))
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    made = _of_blocks({"role": role}, parts)
    for one in made:
        if "tool_call_id" not in one:
            shown = one["content"] or ()
            plain = [part for part in shown if part.get("type") in (None, "text") and not part.get("thought")]
            texts = [_first(part, ("content", "text")) for part in plain]
            one["content"] = "".join(str(text) for text in texts if text is not None) or None
    return made
