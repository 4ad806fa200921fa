"""Independent readings of the history in a request: what was said, and what the next request must repeat.

The readings are of the wires in `_REPLIES`. Other wires have none, and the laws do not compare their history.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..subjects import SubjectExchange
from . import Json, json_values, message_texts, oracle
from . import bedrock_converse as converse
from .responses import (
    Irregular,
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_gemini,
    google_interactions,
    leaves,
    ollama_chat,
    openai_chat,
    openai_responses,
    parsed_arguments,
    response_values,
)

#: Settings of the connection and of what a response may omit: they may differ from request to request.
TRANSPORT = frozenset(("stream", "stream_options"))


class Tool(NamedTuple):
    """A tool that a request declares. ``kind``: its type on the wire, or "". ``schema``: None for a custom tool."""

    name: str
    kind: str
    description: str
    schema: Any
    strict: bool


def conversation(body: Json) -> tuple[str, list[Any]]:
    """Return the name of the member that holds the conversation, and its items. A text is one item of the user."""
    key = next((name for name in ("input", "contents") if name in body), "messages")
    items = body.get(key)
    return key, items if isinstance(items, list) else [{"role": "user", "content": items}]


def split(items: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return what the model said, and the results, of the items that follow a response."""
    results = [item for item in items if _is_result(item)]
    return [item for item in items if not _is_result(item)], results


def _is_result(item: Json) -> bool:
    return item.get("role") in ("tool", "ROLE_TOOL", "user") or str(item.get("type")).endswith(_RESULTS)


#: The ends of the types of items that are results.
_RESULTS = ("call_output", "function_result")


def _role(item: Json) -> str:
    """Return the role of an item without the prefix of its wire."""
    if item.get("type") == "user_input":
        return "user"
    return str(item.get("role", "")).removeprefix("ROLE_").lower()


def turns(body: Json) -> list[tuple[str, str]]:
    """Return who says what, one after the other: "user", "model" or "result", and the text; a result has none."""
    found: list[tuple[str, str]] = []
    for item in conversation(body)[1]:
        role = _role(item)
        if role in ("system", "developer"):
            continue
        parts = item.get("content", item.get("parts"))
        if role == "user" and isinstance(parts, list):
            found += [_turn("result" if _holds_result(part) else "user", part) for part in parts]
        else:
            speaker = "user" if role == "user" else "result" if _is_result(item) else "model"
            found.append(_turn(speaker, {"text": parts}))
    return merged_turns(found)


def _holds_result(part: Json) -> bool:
    return part.get("type") == "tool_result" or "toolResult" in part or "functionResponse" in part


def _turn(speaker: str, part: Json) -> tuple[str, str]:
    if isinstance(part.get("text"), list):
        part = {"text": [inner for inner in part["text"] if inner.get("thought") is not True]}  # of google.gemini
    return speaker, "" if speaker == "result" else "".join(_texts([part]))


def merged_turns(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the turns with those of one speaker in a row as one."""
    grouped = groupby(said, key=lambda turn: turn[0])
    return [(speaker, "".join(text for _, text in spoken)) for speaker, spoken in grouped]


def thoughts(body: Json) -> list[str]:
    """Return the texts of the reasoning in a conversation."""
    found = []
    for item in conversation(body)[1]:
        parts = [
            item,
            *(item.get("summary") or []),
            *(part for part in item.get("content") or [] if isinstance(part, dict)),
        ]
        found += [part.get(name) for part in parts for name in ("reasoning_content", "thinking", "tool_plan")]
        found += [part.get("text") for part in parts[1:] if item.get("type") in ("reasoning", "thought")]
        found += [part["text"] for part in item.get("parts") or [] if part.get("thought") is True]
        found += [part.get("reasoningContent", {}).get("reasoningText", {}).get("text") for part in parts]
    return [text for text in found if text]


def result_texts(body: Json, wire: str) -> list[str]:
    """Return the text of each result in a request."""
    return [_joined(item.content) for item in oracle(wire).items(body) if item.kind == "result"]


class Exchanged(NamedTuple):
    """A call or a result. ``content``: an object as JSON text. ``is_error``: whether the result is marked as one."""

    kind: str
    content: str
    is_error: bool


def exchanged(body: Json, wire: str) -> list[Exchanged]:
    """Return each call and result in a request, in order."""
    failed = oracle(wire).failed_results(body) or ()
    return [
        Exchanged("result", _joined(item.content), item.id in failed)
        if item.kind == "result"
        else Exchanged("call", _arguments(item.content), is_error=False)
        for item in oracle(wire).items(body)
    ]


def _arguments(content: Any) -> str:
    value = content
    if isinstance(content, str):
        value, status = parsed_arguments(content)
        if status != "complete":
            return content
    return json_codec.text(value or {})


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    if parts and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts):
        return "".join(part["text"] for part in parts)
    return "" if content in (None, []) else json_codec.text(content)


def has_reading(wire: str) -> bool:
    """Return whether the history in requests for a wire can be read."""
    return wire in _REPLIES


def reply(exchange: SubjectExchange) -> list[Any]:
    """Return what the model said, as it must go back to its wire. Raises Irregular if that is not unique."""
    read = _REPLIES.get(exchange.wire)
    if read is None or exchange.status >= 400:
        raise Irregular("the response has no history")
    items = read(exchange)
    member = _IDS.get(exchange.wire, "id")
    ids = [value for name, value in leaves(_without_server_results(items)) if name == member]
    if '""' in ids or len(ids) != len(set(ids)):
        raise Irregular("two calls with one id, or a call without an id")
    return items


def _chat(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    choices = openai_chat.assembled(values)[0] if stream else values[0].get("choices") or []
    if not choices:
        raise Irregular("the response has no choice")
    message = dict(choices[0].get("message") or {})
    if calls := message.get("tool_calls"):  # Mistral's messages have the index of each call, which is its position
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return [message]


def _responses(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    items = openai_responses.assembled(values)[1] if stream else values[0].get("output") or []
    if any(item.get("type") == "reasoning" and not item.get("encrypted_content") for item in items):
        raise Irregular("reasoning without state, which the provider may refuse")
    return items


def _anthropic(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    message = anthropic_messages.assembled(values)[0] if stream else values[0]
    blocks = []
    for block in message.get("content") or []:
        if block.get("type") == "thinking" and not block.get("signature"):
            raise Irregular("thinking without a signature, which the provider refuses")
        blocks.append({key: member for key, member in block.items() if key != "streamed_input"})
        if written := block.get("streamed_input"):
            blocks[-1]["input"], status = parsed_arguments(written)
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return blocks


def begins_with_thinking(exchange: SubjectExchange) -> bool:
    """Return whether a response of `anthropic.messages` begins with thinking that can go back."""
    try:
        blocks = _anthropic(exchange)
    except Irregular:
        return False
    return bool(blocks) and blocks[0].get("type") in ("thinking", "redacted_thinking")


def container_of(exchange: SubjectExchange) -> str | None:
    """Return the id of the container in which the provider ran code for a response of `anthropic.messages`, or None."""
    found = None
    for value in json_values(exchange) if exchange.wire == "anthropic.messages" and exchange.status < 400 else ():
        for holder in (value, value.get("message"), value.get("delta")):
            container = holder.get("container") if isinstance(holder, dict) else None
            found = container.get("id") if isinstance(container, dict) else found
    return found


def _xai(exchange: SubjectExchange) -> list[Any]:
    from .responses import xai_grpc

    messages = [xai_grpc.message_json(exchange, piece) for piece in exchange.pieces]
    steps = xai_grpc.assembled(messages)[0] if exchange.stream else messages[0].get("outputs", [])
    if any(step.get("finish_reason") in xai_grpc.CUT for step in steps):
        raise Irregular("the status of a call that was cut")
    said = []
    for step in steps:
        message = dict(step.get("message", {}))
        message["content"] = [{"text": message["content"]}] if message.get("content") else []
        calls = message.get("tool_calls", [])
        message["tool_calls"] = [{"status": "TOOL_CALL_STATUS_COMPLETED", **call} for call in calls]
        said.append(message)
    return said


def _cohere(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    message = cohere_chat.assembled(values)[0]["message"] if stream else values[0].get("message")
    if not isinstance(message, dict):
        raise Irregular("the response has no message")
    return [{name: member for name, member in message.items() if member}]


def _ollama(exchange: SubjectExchange) -> list[Any]:
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    message, _ = ollama_chat.assembled(values)
    for call in message.get("tool_calls") or []:  # a call's position is its index
        call["function"] = {key: value for key, value in call["function"].items() if key != "index"}
    return [message]


def _converse(exchange: SubjectExchange) -> list[Any]:
    told = converse.values(exchange)
    if not converse.is_event_stream(exchange.body):
        return [told[0]["output"]["message"]]
    body, failure, _ = bedrock_converse.assembled(told)
    if failure is not None:
        raise Irregular("the response failed")
    for block in body["content"]:
        if call := block.get("toolUse"):
            call["input"], status = parsed_arguments(bedrock_converse.take_text(call))
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return [{"role": "assistant", "content": body["content"]}]


def _interactions(exchange: SubjectExchange) -> list[Any]:
    values, stream = response_values(exchange), exchange.stream
    if not stream:
        return values[0].get("steps") or []
    _, steps, failure, _ = google_interactions.assembled(values)
    if failure is not None:
        raise Irregular("the response failed")
    for step in steps:
        if text := step.pop("streamed_arguments", None):
            step["arguments"], status = parsed_arguments(text)
            if status != "complete":
                raise Irregular("arguments that are not an object")
    return steps


def _gemini(exchange: SubjectExchange) -> list[Any]:
    values = response_values(exchange)
    if any("error" in value for value in values):
        raise Irregular("the response failed")
    return [{"role": "model", "parts": google_gemini.assembled(values)[1]["parts"]}]


def _without_server_results(items: list[Any]) -> list[Any]:
    """Return the items without the results of Bedrock's own tools, which repeat the ids of their calls."""
    return [
        {**item, "content": [part for part in item["content"] if "toolResult" not in part]}
        if isinstance(item.get("content"), list)
        else item
        for item in items
    ]


#: Wire -> the member with the id of a call, if it has another name than ``id``.
_IDS = {"openai.responses": "call_id", "bedrock.converse": "toolUseId", "google.gemini": ""}
_REPLIES: dict[str, Callable[[SubjectExchange], list[Any]]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic.messages": _anthropic,
    "xai.grpc": _xai,
    "cohere.chat": _cohere,
    "ollama.chat": _ollama,
    "bedrock.converse": _converse,
    "google.interactions": _interactions,
    "google.gemini": _gemini,
}


def instructions(body: Json) -> str:
    """Return the text of the system prompt, wherever the wire has it."""
    _, items = conversation(body)
    texts = [text for name in ("instructions", "system", "system_instruction") for text in _texts(body.get(name))]
    texts += _texts((body.get("systemInstruction") or {}).get("parts"))
    return "".join([*texts, *(text for role in ("system", "developer") for text in message_texts(items, role))])


def _texts(content: Any) -> Iterator[str]:
    yield from message_texts([{"role": "system", "content": content}], "system")


def tools(body: Json, wire: str) -> list[Tool]:
    """Return the client's tools. Tools of the provider have no description and no schema."""
    found = []
    for tool in declared_tools(body):
        inner = tool.get("function") or tool.get("custom") or tool.get("toolSpec") or tool
        schema = next((inner[name] for name in _SCHEMAS if name in inner), (inner.get("inputSchema") or {}).get("json"))
        if isinstance(schema, str):
            schema = json_codec.decode(schema)
        if schema is not None or "custom" in tool or tool.get("type") == "custom":
            default = wire == "openai.responses" and "parameters" in inner  # cohere.chat has it for all tools
            strict = inner.get("strict", body.get("strict_tools", default))
            kind = str(tool.get("type", ""))
            found.append(Tool(str(inner.get("name")), kind, inner.get("description") or "", schema, bool(strict)))
    return found


#: The members of the wires for the schema of a tool.
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema")


def declared_tools(body: Json) -> list[Json]:
    """Return the definitions of all tools, those of the provider included."""
    listed = body.get("tools") or (body.get("toolConfig") or {}).get("tools") or []
    return [inner for tool in listed for inner in tool.get("functionDeclarations", [tool])]


def settings(body: Json, wire: str) -> Json:
    """Return the settings that a request states and that other wires have, too, by their common names.

    ``tool choice``: "auto", "none", "required" or the name of a tool.
    """
    holders = [body, *(body[name] for name in _HOLDERS if isinstance(body.get(name), dict))]
    names = ("tool_choice", "toolChoice", "functionCallingConfig")
    choice = next((each[name] for each in holders for name in names if name in each), None)
    found: Json = {"parallel calls": body.get("parallel_tool_calls"), "tool choice": _tool_choice(choice)}
    if isinstance(choice, dict) and "disable_parallel_tool_use" in choice:
        found["parallel calls"] = not choice["disable_parallel_tool_use"]
    found["length"] = next((each[name] for each in holders for name in _LENGTHS if each.get(name) is not None), None)
    if wire in _EFFORT:
        found["effort"] = _EFFORT[wire](body)
    if wire in _WITH_CHOICES:
        found["choices"] = body.get("n", 1)
    return {name: value for name, value in found.items() if value is not None}


#: The members of the wires for the limit of output tokens, and the objects that contain them or the tool choice.
_LENGTHS = ("max_completion_tokens", "max_output_tokens", "max_tokens", "maxTokens", "maxOutputTokens", "num_predict")
_HOLDERS = ("generation_config", "generationConfig", "inferenceConfig", "options", "toolConfig")
#: The wires on which the effort of reasoning has the same words, and how to read it.
_EFFORT: dict[str, Callable[[Json], Any]] = {
    "openai.chat": lambda body: body.get("reasoning_effort"),
    "openai.responses": lambda body: (body.get("reasoning") or {}).get("effort"),
}
#: The wires whose requests can ask for several choices.
_WITH_CHOICES = frozenset(("openai.chat", "xai.grpc"))
#: The wires whose requests cannot turn parallel calls off.
WITHOUT_PARALLEL = frozenset(("bedrock.converse", "cohere.chat", "ollama.chat", "google.gemini", "google.interactions"))
#: The wires on which a result has the name of its tool.
WITH_NAMED_RESULTS = frozenset(("google.gemini", "google.interactions", "ollama.chat"))
#: The wires on which a tool has a type.
WITH_TYPED_TOOLS = frozenset(("openai.chat", "openai.responses", "cohere.chat", "ollama.chat", "google.interactions"))
#: The wires whose tools cannot be strict.
WITHOUT_STRICT = frozenset(("google.gemini", "google.interactions", "ollama.chat"))
#: The words of the wires for a tool choice.
_CHOICES = {
    "any": "required",
    "ANY": "required",
    "AUTO": "auto",
    "REQUIRED": "required",
    "NONE": "none",
    "TOOL_MODE_AUTO": "auto",
    "TOOL_MODE_NONE": "none",
    "TOOL_MODE_REQUIRED": "required",
}


#: The members that every wire has, in its own form.
STRUCTURE = frozenset(("model", "messages", "input", "system", "instructions", "tools", "tool_choice"))
STRUCTURE |= {"parallel_tool_calls", "strict_tools", "modelId", "toolConfig", "system_instruction"}
STRUCTURE |= {"contents", "systemInstruction"}


#: The signature with which Gemini accepts a call of another model
#: (https://ai.google.dev/gemini-api/docs/thought-signatures).
_ACCEPTED = base64.b64encode(b"skip_thought_signature_validator").decode()


def refused_calls(body: Json) -> list[str]:
    """Return the calls of another model that Gemini refuses: the first ones of a content need a signature."""
    contents = [item.get("parts") or [] for item in conversation(body)[1] if item.get("role") == "model"]
    first = [next((part for part in parts if "functionCall" in part), None) for parts in contents]
    return [
        part["functionCall"]["name"] for part in first if part is not None and part.get("thoughtSignature") != _ACCEPTED
    ]


def added_settings(request: Json, body: Json, wire: str) -> list[str]:
    """Return the settings of a request for another wire that are not in the conversation, and members of messages.

    A setting is known by its value. `anthropic.messages` requires a limit, and one choice is the default.
    """
    stated = [*_values_of(request), *settings(request, wire).values()]
    added = [
        name
        for name, value in body.items()
        if name not in STRUCTURE | TRANSPORT and not (name == "max_tokens" and wire == "anthropic.messages")
        if (name, value) != ("n", 1) and any(each not in stated for each in _leaves(value))
    ]
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and request.get("tool_choice", request.get("parallel_tool_calls")) is None:
            added.append(name)
    users = [item for item in conversation(body)[1] if _role(item) == "user"]
    return added + [name for item in users for name in item.keys() - {"role", "content", "parts", "type"}]


def _values_of(value: Any) -> list[Any]:
    members = list(value.values()) if isinstance(value, dict) else []
    return members + [each for member in members for each in _values_of(member)]


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return [value]
    return [member for name, member in value.items() if name != "tool_choice"]


def is_comparable(setting: str, stated: Json, wire: str) -> bool:
    """Return whether a request for a wire must have a setting of `settings`.

    The effort of reasoning may be left out, if the losses report it.
    """
    comparable = {
        "effort": setting in stated,
        "choices": wire in _WITH_CHOICES,
        "parallel calls": wire not in WITHOUT_PARALLEL,
    }
    return comparable.get(setting, True)


def _tool_choice(choice: Any) -> str:
    """Return the common word; the default of every wire is "auto"."""
    if isinstance(choice, dict) and len(choice) == 1 and isinstance(inner := next(iter(choice.values())), dict):
        # Converse: {"tool": {"name"}}, {"auto": {}}; Interactions: {"allowed_tools": {"mode", "tools"}}
        choice = inner.get("name") or next(iter(inner.get("tools") or choice))
    if isinstance(choice, dict):
        function = choice.get("function") or choice.get("custom") or {}
        allowed = choice.get("allowedFunctionNames") or [None]
        named = choice.get("name") or choice.get("function_name") or function.get("name") or allowed[0]
        choice = named or choice.get("mode", choice.get("type"))
    return _CHOICES.get(choice, str(choice)) if choice else "auto"


def unknown_words(body: Json, wire: str) -> Iterator[str]:
    """Yield the types, roles and states in a conversation that its wire does not have, or not at this place."""
    system = body.get("system")
    prompt = (
        [{"role": "system", "content": system}] if wire == "anthropic.messages" and isinstance(system, list) else []
    )
    for item in [*prompt, *conversation(body)[1]]:
        parts = item.get("content") if isinstance(item.get("content"), list) else []
        places = [(item, _WORDS[wire]["item"])]
        places += [(part, _WORDS[wire]["part"]) for part in [*parts, *_result_parts([item, *parts])]]
        places += [(call, _WORDS[wire]["call"]) for call in item.get("tool_calls") or []]
        for place, words in places:
            for name, allowed in words.items():
                if place.get(name) not in allowed:
                    yield f"{name} {json_codec.text(place.get(name))}"
        for call in item.get("tool_calls") or []:
            if wire == "openai.chat" and call.get("type") not in call:
                yield f"type {call.get('type')} of a call that has none"


def _result_parts(holders: list[Json]) -> list[Json]:
    """Return the parts of the results among items and parts."""
    members = {"tool_result": "content", "function_result": "result"}
    found = [holder.get(members.get(holder.get("type", ""), "")) for holder in holders]
    return [part for parts in found if isinstance(parts, list) for part in parts]


_Words = dict[str, frozenset[Any]]


def _words(**members: str) -> _Words:
    """Return the values of members, which are separated by spaces; ``-`` is a member that is missing."""
    return {name: frozenset(None if word == "-" else word for word in words.split()) for name, words in members.items()}


#: Wire -> where -> member -> its values. Server tools of the provider do not occur in a conversation of another one.
_WORDS: dict[str, dict[str, _Words]] = {
    "openai.chat": {
        "item": _words(role="system developer user assistant tool"),
        "part": _words(type="text image_url input_audio file refusal"),
        "call": _words(type="function custom"),
    },
    "openai.responses": {
        "item": _words(
            role="- system developer user assistant",
            type="- message reasoning function_call function_call_output custom_tool_call custom_tool_call_output",
        ),
        "part": _words(type="input_text output_text input_image input_file refusal"),
        "call": {},
    },
    "anthropic.messages": {
        "item": _words(role="user assistant system"),
        "part": _words(type="text image document thinking redacted_thinking tool_use tool_result"),
        "call": {},
    },
    "xai.grpc": {
        "item": _words(role="ROLE_SYSTEM ROLE_DEVELOPER ROLE_USER ROLE_ASSISTANT ROLE_TOOL"),
        "part": {},
        "call": _words(
            type="TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", status="TOOL_CALL_STATUS_COMPLETED TOOL_CALL_STATUS_INCOMPLETE"
        ),
    },
    "cohere.chat": {
        "item": _words(role="system user assistant tool"),
        "part": _words(type="text image_url thinking document"),
        "call": _words(type="function"),
    },
    "ollama.chat": {"item": _words(role="system user assistant tool"), "part": {}, "call": {}},
    "bedrock.converse": {"item": _words(role="system user assistant"), "part": {}, "call": {}},
    "google.interactions": {
        "item": _words(type="user_input model_output function_call function_result"),
        "part": _words(type="text image audio video document"),
        "call": {},
    },
    "google.gemini": {"item": _words(role="user model"), "part": {}, "call": {}},
}
