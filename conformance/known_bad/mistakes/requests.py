"""Mistakes in the next request: on its own wire, and on the way to another one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from toolparity.normalizer.errors import ToolparityError

from ...subjects import FollowUp
from ...subjects.reference import read_answer
from .traffic import Json, holders

Request = Callable[[Any, FollowUp], None]
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output", "function_result")


def _gone(*keys: str, beside: str = "") -> Request:
    """Remove members of the body, but not of the tools' schemas."""

    def request(body: Any, to: FollowUp) -> None:
        for key in keys:
            for holder in list(holders(body, key)):
                if not beside or beside in holder:
                    del holder[key]

    return request


def _top(*keys: str) -> Request:
    """Remove members at the top of the body, and of its settings."""

    def request(body: Any, to: FollowUp) -> None:
        settings = ("generationConfig", "generation_config", "inferenceConfig", "options", "text")
        for holder in (body, *(body[name] for name in settings if isinstance(body.get(name), dict))):
            for key in keys:
                holder.pop(key, None)

    return request


def _messages(body: Any) -> list[Any]:
    found = (body.get(key) for key in ("messages", "input", "contents"))
    return next((items for items in found if isinstance(items, list)), [])


def _lists(body: Any) -> Iterator[tuple[Json, str]]:
    """Yield each holder of a list of parts, with the name of the list."""
    for key in ("content", "parts", "output", "result"):
        for holder in list(holders(_messages(body), key)):
            if isinstance(holder[key], list):
                yield holder, key


def _parts(*kinds: str, keys: tuple[str, ...] = ()) -> Request:
    """Remove the parts of these types, or with one of these members."""

    def request(body: Any, to: FollowUp) -> None:
        for holder, name in _lists(body):
            parts = holder[name]
            holder[name] = [
                p for p in parts if not (isinstance(p, dict) and (p.get("type") in kinds or any(k in p for k in keys)))
            ]

    return request


def _items(drop: Callable[[Json], bool]) -> Request:
    """Remove messages."""

    def request(body: Any, to: FollowUp) -> None:
        items = _messages(body)
        items[:] = [item for item in items if not (isinstance(item, dict) and drop(item))]

    return request


def _in_items(change: Callable[[Json], Any]) -> Request:
    """Change messages."""

    def request(body: Any, to: FollowUp) -> None:
        for item in _messages(body):
            if isinstance(item, dict):
                change(item)

    return request


def _all(*changes: Request) -> Request:
    def request(body: Any, to: FollowUp) -> None:
        for change in changes:
            change(body, to)

    return request


def _role(item: Json) -> str:
    return str(item.get("role") or item.get("type")).removeprefix("ROLE_").lower()


def _is_result(item: Json) -> bool:
    return (
        _role(item) == "tool"
        or item.get("type") in _RESULTS
        or any(
            isinstance(part, dict)
            and (part.get("type") in _RESULTS or "toolResult" in part or "functionResponse" in part)
            for key in ("content", "parts")
            for part in (item[key] if isinstance(item.get(key), list) else ())
        )
    )


def _system_lost(body: Any, to: FollowUp) -> None:
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        body.pop(key, None)
    _items(lambda item: _role(item) in ("system", "developer"))(body, to)


def _system_is_user(body: Any, to: FollowUp) -> None:
    for item in _messages(body):
        if isinstance(item, dict) and _role(item) in ("system", "developer"):
            item["role"] = "ROLE_USER" if str(item["role"]).startswith("ROLE_") else "user"


def _developer_is_system(body: Any, to: FollowUp) -> None:
    for item in _messages(body):
        if isinstance(item, dict) and item.get("role") == "developer":
            item["role"] = "system"


def _first_system(body: Any, to: FollowUp) -> None:
    for key in ("system",):
        if isinstance(body.get(key), list):
            body[key] = body[key][:1]
    systems = [item for item in _messages(body) if isinstance(item, dict) and _role(item) in ("system", "developer")]
    _items(lambda item: any(item is other for other in systems[1:]))(body, to)


def _only_the_last_turn(body: Any, to: FollowUp) -> None:
    """Send what follows the last but one message of the user."""
    items = _messages(body)
    users = [
        n
        for n, item in enumerate(items)
        if isinstance(item, dict) and _role(item) in ("user", "user_input") and not _is_result(item)
    ]
    if users and users[-1]:
        del items[: users[-1]]


def _earlier_calls_lost(body: Any, to: FollowUp) -> None:
    """Remove the calls and results of earlier rounds."""
    items = _messages(body)
    made = [n for n, item in enumerate(items) if isinstance(item, dict) and _is_result(item)]
    if made:
        ends = [n for n in made if n + 1 not in made]
        if len(ends) > 1:
            for item in items[: ends[-2] + 1]:
                if isinstance(item, dict):
                    item.pop("tool_calls", None)
            items[:] = [item for n, item in enumerate(items) if not (n in made and n <= ends[-2])]


def _tools(change: Callable[[list[Any]], list[Any]]) -> Request:
    def request(body: Any, to: FollowUp) -> None:
        for holder in (body, body.get("toolConfig")):
            if isinstance(holder, dict) and isinstance(holder.get("tools"), list):
                holder["tools"] = change(holder["tools"])
                if not holder["tools"]:
                    del holder["tools"]

    return request


def _definitions(tools: list[Any]) -> Iterator[Json]:
    for tool in tools:
        if isinstance(tool, dict):
            inner = tool.get("function") or tool.get("toolSpec") or tool.get("functionDeclarations") or tool
            yield from inner if isinstance(inner, list) else [inner]


def _without_in_tools(*keys: str) -> Request:
    def change(tools: list[Any]) -> list[Any]:
        for definition in _definitions(tools):
            for key in keys:
                definition.pop(key, None)
        return tools

    return _tools(change)


def _schema(change: Callable[[Any], Any]) -> Request:
    """Change the schemas of the parameters."""

    def changed(tools: list[Any]) -> list[Any]:
        for definition in _definitions(tools):
            for key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema"):
                schema = definition.get(key)
                if isinstance(schema, str):
                    definition[key] = json.dumps(change(json.loads(schema)))
                elif isinstance(schema, dict):
                    definition[key] = {"json": change(schema["json"])} if "json" in schema else change(schema)
        return tools

    return _tools(changed)


def _schema_without(*keys: str) -> Callable[[Any], Any]:
    def change(schema: Any) -> Any:
        if isinstance(schema, dict):
            kept = {name: member for name, member in schema.items() if name not in keys or isinstance(member, dict)}
            return {name: change(member) for name, member in kept.items()}
        return [change(member) for member in schema] if isinstance(schema, list) else schema

    return change


def _result_texts(change: Callable[[str], str]) -> Request:
    """Change the texts of results, wherever the body has them."""

    def request(body: Any, to: FollowUp) -> None:
        texts = {result.content: change(result.content) for result in to.results if result.content}

        def walk(value: Any) -> Any:
            if isinstance(value, dict):
                for key, member in value.items():
                    value[key] = walk(member)
            elif isinstance(value, list):
                value[:] = [walk(member) for member in value]
            elif isinstance(value, str) and value in texts:
                return texts[value]
            return value

        walk(_messages(body))

    return request


def _reencoded(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True, indent=1)
    except ValueError:
        return text


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _assistant_texts(body: Any) -> Iterator[Json]:
    for item in _messages(body):
        if isinstance(item, dict) and _role(item) in ("assistant", "model", "model_output"):
            yield item


def _thinks_aloud(body: Any, to: FollowUp) -> None:
    """Send reasoning as text of the model."""
    try:
        blocks = read_answer(to.exchange).choices[0].blocks
    except (ToolparityError, IndexError):
        return
    thought = "".join(getattr(block, "text", "") for block in blocks if type(block).__name__ == "Reasoning")
    if not thought:
        return
    for item in _assistant_texts(body):
        content = item.get("content", item.get("parts"))
        if isinstance(content, str) and content:
            item["content"] = thought + content
            return
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str) and not part.get("thought"):
                part["text"] = thought + part["text"]
                return


def _names(change: Callable[[str], str]) -> Request:
    """Change the names of the calls in the history, but not those of the tools."""

    def request(body: Any, to: FollowUp) -> None:
        for key in ("function", "toolUse", "functionCall"):
            for holder in holders(_messages(body), key):
                if isinstance(holder[key], dict) and "name" in holder[key]:
                    holder[key]["name"] = change(holder[key]["name"])
        for holder in holders(_messages(body), "name"):
            if holder.get("type") in ("tool_use", "function_call"):
                holder["name"] = change(holder["name"])

    return request


def _sorted_arguments(body: Any, to: FollowUp) -> None:
    for holder in holders(_messages(body), "arguments"):
        if isinstance(holder["arguments"], str):
            try:
                holder["arguments"] = json.dumps(json.loads(holder["arguments"]), sort_keys=True)
            except ValueError:
                continue


def _custom_is_function(body: Any, to: FollowUp) -> None:
    for holder in holders(_messages(body), "type"):
        if holder["type"] == "custom_tool_call":
            holder.update(type="function_call", arguments=json.dumps({"input": holder.pop("input", "")}))
        elif holder["type"] == "custom_tool_call_output":
            holder["type"] = "function_call_output"
        elif holder["type"] == "custom" and "custom" in holder:
            made = holder.pop("custom")
            holder.update(
                type="function", function={"name": made["name"], "arguments": json.dumps({"input": made["input"]})}
            )


def _merged_users(body: Any, to: FollowUp) -> None:
    """Keep the last of several messages of the user that follow each other."""
    items = _messages(body)
    kept: list[Any] = []
    for item in items:
        plain = isinstance(item, dict) and _role(item) == "user" and not _is_result(item)
        if plain and kept and isinstance(kept[-1], dict) and _role(kept[-1]) == "user" and not _is_result(kept[-1]):
            kept[-1] = item
        else:
            kept.append(item)
    items[:] = kept


def _last_part(body: Any, to: FollowUp) -> None:
    """Keep the last text of a message of the user with several parts."""
    for item in _messages(body):
        if isinstance(item, dict) and _role(item) in ("user", "user_input") and not _is_result(item):
            for key in ("content", "parts"):
                if isinstance(item.get(key), list) and len(item[key]) > 1:
                    item[key] = item[key][-1:]


def _server_items(item: Json) -> bool:
    kind = str(item.get("type"))
    return kind.endswith(("_call", "_result")) and kind not in ("function_call", "custom_tool_call", "function_result")


_SERVER_PARTS: tuple[str, ...] = (
    "server_tool_use",
    "web_search_tool_result",
    "code_execution_tool_result",
    "mcp_tool_use",
)
_SERVER_PARTS += ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")
#: Made on both ways. `known_bad.stated` has those that lose one of the settings or media that scenarios state.
BOTH: dict[str, Request] = {
    "loses audio of the user": _parts("input_audio", "audio", keys=("audio",)),
    "loses the setting for parallel calls": _gone("parallel_tool_calls", "disable_parallel_tool_use"),
    "loses the system message": _system_lost,
    "loses all system messages but the first": _first_system,
    "loses the descriptions of the tools": _without_in_tools("description"),
    "loses that a tool is strict": _without_in_tools("strict"),
    "loses the tools": _tools(lambda tools: []),
    "loses the last tool": _tools(lambda tools: tools[:-1] if len(tools) > 1 else tools),
    "loses the required members of a schema": _schema(_schema_without("required")),
    "loses the enumerations of a schema": _schema(_schema_without("enum")),
    "loses the descriptions in a schema": _schema(_schema_without("description")),
    "loses the earlier turns": _only_the_last_turn,
    "loses the calls of earlier rounds": _earlier_calls_lost,
    "loses all parts of a message of the user but the last": _last_part,
    "loses the earlier of several messages of the user": _merged_users,
    "sends system messages as the user's": _system_is_user,
    "cuts results after 2,000 characters": _result_texts(lambda text: text[:2000]),
    "writes results that are JSON anew": _result_texts(_reencoded),
}
#: Made on the way back to the wire of the response.
OWN: dict[str, Request] = {
    "loses safety settings and guardrails": _top("safetySettings", "guardrailConfig", "safety_mode"),
    "loses the cached content of Gemini": _top("cachedContent"),
    "loses the options of Ollama": _top("options", "keep_alive"),
    "loses whether the provider stores the answer": _top("store", "include", "store_messages", "use_encrypted_content"),
    "loses the settings of a search": _top("search_parameters", "web_search_options", "documents", "citation_options"),
    "loses the settings of log probabilities": _top("logprobs", "top_logprobs", "logit_bias"),
    "asks for one choice": _top("n", "candidateCount"),
    "loses the detail of images": _gone("detail"),
    "loses the names of participants": _in_items(lambda item: _role(item) == "user" and item.pop("name", None)),
    "sends developer messages as system messages": _developer_is_system,
    "loses the calls of the provider's tools": _all(_items(_server_items), _parts(*_SERVER_PARTS, keys=_SERVER_PARTS)),
    "loses citations": _gone("annotations", "citations", "citationsContent"),
    "loses the phase of a message": _gone("phase"),
    "loses the namespace of a call": _gone("namespace", beside="call_id"),
    "loses the ids of items": _in_items(lambda item: "type" in item and item.pop("id", None)),
    "loses the signatures of Gemini": _gone("thoughtSignature"),
    "loses the reasoning of a chat message": _gone(
        "reasoning_content", "reasoning", "reasoning_details", "thinking", beside="role"
    ),
    "sends calls with free text back as functions": _custom_is_function,
    "sends calls back under functions.NAME": _names(lambda name: "functions." + name),
    "sends names back in lower case": _names(str.lower),
    "sorts the arguments in the history": _sorted_arguments,
    "escapes the characters of results twice": _result_texts(_escaped),
    "trims results": _result_texts(str.strip),
    "encodes results as HTML": _result_texts(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    "removes line breaks from results": _result_texts(lambda text: re.sub(r"\s*\n\s*", " ", text)),
}
#: Made on the way to another wire.
FOREIGN: dict[str, Request] = {
    "sends reasoning as text": _thinks_aloud,
    "sends calls as functions.NAME": _names(lambda name: "functions." + name),
}
