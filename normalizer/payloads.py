"""Conversion of caller input (bytes, text, parsed JSON or SDK objects) into the bytes of a wire.

This module imports no SDK. It recognizes SDK objects by the module of their class.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from . import json_codec
from .errors import MalformedBody
from .model import Wire
from .wires.decode_context import Declared


class Payload(Struct, frozen=True):
    """The bytes of a body or event.

    ``wire``: the wire, if the object's class determines it. ``respelled``: the bytes were encoded here and can differ
    from those on the wire.
    """

    data: bytes
    wire: Wire | None = None
    respelled: bool = False


#: Prefixes of SDK modules and the wire of their objects.
_MODULES: tuple[tuple[str, Wire], ...] = (
    ("openai.types.chat", "openai.chat"),
    ("openai.lib.streaming.chat", "openai.chat"),
    ("openai.types.responses", "openai.responses"),
    ("openai.lib.streaming.responses", "openai.responses"),
    ("anthropic.types", "anthropic.messages"),
    ("anthropic.lib", "anthropic.messages"),
)
#: Types of events that Anthropic's stream helper derives from raw events, which it also passes on.
_DERIVED = frozenset(("text", "citation", "thinking", "signature", "input_json", "compaction"))
_NOTHING = Payload(b"")
_PARSED_ITEMS = {"__all__": {"parsed_arguments": True, "content": {"__all__": {"parsed"}}}}
#: Members that openai's parsing helpers add to the server's data; they hold objects of the caller's classes.
_PARSED: dict[Wire | None, dict[str, Any]] = {
    "openai.chat": {
        "choices": {
            "__all__": {"message": {"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}}
        }
    },
    "openai.responses": {"output": _PARSED_ITEMS, "response": {"output": _PARSED_ITEMS}},
}


def payload_of(source: Any, *, event: bool = False) -> Payload:
    """Return the bytes of a body or, with ``event``, of one stream event.

    Raises MalformedBody for an unsupported type, or a value that is not JSON-serializable.
    """
    if isinstance(source, bytes):
        return Payload(source)
    if isinstance(source, (bytearray, memoryview)):
        return Payload(bytes(source))
    if isinstance(source, str):
        return Payload(source.encode("utf-8", "surrogatepass"))
    if isinstance(source, (dict, list)):
        return Payload(json_codec.spelled(source), None, True)
    module = type(source).__module__
    if hasattr(source, "SerializeToString"):
        return Payload(source.SerializeToString(), "xai.grpc")
    if module.startswith("xai_sdk") and hasattr(source, "proto"):
        return Payload(source.proto.SerializeToString(), "xai.grpc")
    if hasattr(source, "model_dump_json"):
        wire = next((wire for prefix, wire in _MODULES if module.startswith(prefix)), None)
        return _helper(source, module, wire) if event and ".lib" in module else _model(source, wire)
    raise MalformedBody(
        f"unsupported type: {type(source).__name__}",
        body=source,
        hint="pass bytes, text, parsed JSON, or a response object of openai, anthropic or xai-sdk",
    )


def _model(source: Any, wire: Wire | None, *exclude: str) -> Payload:
    """Return the payload of an SDK's pydantic model, without members that the server did not send."""
    added = {**_PARSED.get(wire, {}), **dict.fromkeys(exclude, True)}
    how: dict[str, Any] = {"by_alias": True, "exclude_unset": True, "exclude": added, "warnings": False}
    try:
        text: str = source.model_dump_json(**how)
    except (TypeError, ValueError, RecursionError):
        # Half a surrogate pair, which pydantic's JSON encoder rejects, or a value that is not JSON-serializable.
        return Payload(json_codec.spelled(_dumped(source, how)), wire, True)
    return Payload(text.encode("utf-8", "surrogatepass"), wire, True)


def _dumped(source: Any, how: dict[str, Any]) -> Any:
    try:
        return source.model_dump(**how)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedBody(f"a {type(source).__name__} cannot be written as JSON: {error}", body=source) from None


def _helper(source: Any, module: str, wire: Wire | None) -> Payload:
    """Return the raw event inside an event of an SDK's stream helper; an empty payload for a derived event."""
    if wire == "openai.chat":
        chunk = getattr(source, "chunk", None)
        return _NOTHING if chunk is None else _model(chunk, wire)
    if wire == "anthropic.messages":
        if source.type in _DERIVED:
            return Payload(b"", wire)
        ending = ("content_block",) if source.type.endswith("stop") else ()
        return _model(source, wire, "snapshot", "message", *ending)
    return _model(source, wire, "snapshot", "parsed")


def declared_by(request: Any) -> Declared:
    """Return the tools that a request declares, and the number of choices that it requests.

    ``request``: the body on any wire (parsed, bytes or protobuf), or an iterable of tool definitions or names. Raises
    MalformedBody for anything else.
    """
    if isinstance(request, Declared):
        return request
    if isinstance(request, (bytes, str)):
        try:
            request = json_codec.decode(request)
        except (ValueError, RecursionError) as error:
            raise MalformedBody(f"the request is not JSON: {error}", body=request) from None
    if hasattr(request, "ListFields"):
        return _declared_by_proto(request)
    names: set[str] = set()
    custom: set[str] = set()
    schemas: dict[str, Any] = {}
    if not isinstance(request, dict):
        _collect_given(request, names, custom, schemas)
        return Declared(frozenset(names), frozenset(custom), schemas=schemas)
    _collect(request.get("tools"), names, custom, schemas)
    _collect(request.get("functions"), names, custom, schemas)
    items = request.get("input")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):  # tools that a tool search or the caller added during the conversation
            _collect(item.get("tools"), names, custom, schemas)
    n = request.get("n")
    return Declared(frozenset(names), frozenset(custom), n if isinstance(n, int) and n > 0 else 1, schemas)


def _collect_given(request: Any, names: set[str], custom: set[str], schemas: dict[str, Any]) -> None:
    """Collect tools from an iterable of names or definitions. Raises MalformedBody for anything else."""
    try:
        tools = list(request)
    except TypeError:
        tools = [None]
    for tool in tools:
        if isinstance(tool, str):
            names.add(tool)
        elif isinstance(tool, dict):
            _collect([tool], names, custom, schemas)
        else:
            raise MalformedBody(
                f"request has an unsupported type: {type(request).__name__}",
                body=request,
                hint="pass the request's body, its list of tools, or the names of the tools",
            )


#: Types of the tools that Anthropic runs itself. Tools of its other versioned types are executed by the caller.
_HOSTED = r"(web_search|web_fetch|code_execution|tool_search_tool_\w+|advisor)_\d{8}|mcp_toolset"


def _collect(tools: Any, names: set[str], custom: set[str], schemas: dict[str, Any]) -> None:
    """Collect the client tools of a list by name. Hosted tools, recognized by their type, are left out."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        kind = tool.get("type")
        holder = next((tool[k] for k in ("function", "custom") if isinstance(tool.get(k), dict)), tool)
        name = holder.get("name")
        if kind == "namespace" or isinstance(tool.get("tools"), list):
            _collect(tool.get("tools"), names, custom, schemas)
        if isinstance(name, str) and not (isinstance(kind, str) and re.fullmatch(_HOSTED, kind)):
            names.add(name)
            schemas[name] = holder.get("parameters", holder.get("input_schema"))
            if kind == "custom":
                custom.add(name)


def _declared_by_proto(request: Any) -> Declared:
    functions = [tool.function for tool in request.tools if tool.HasField("function")]
    schemas = {function.name: function.parameters for function in functions}
    return Declared(frozenset(schemas), frozenset(), max(1, getattr(request, "n", 1) or 1), schemas)
