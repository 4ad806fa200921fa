"""Texts that occur only in traffic with models: they show whether input that is not read has some."""

from __future__ import annotations

import re

#: Members and types of requests and responses. In JSON inside a text, quotes are escaped, and in CSV doubled.
_MEMBERS = (
    rb""""(?:choices|tool_calls|tool_use|finish_reason|stop_reason|function_call|candidates|functionCall|finishReason"""
    rb"""|toolUse|toolName|stopReason|done_reason|toolCalls|tool_plan|requires_action)\\*"+\s*:"""
    rb"""|"object"\s*:\s*"(?:chat\.completion|response")|"type"\s*:\s*"(?:message_start|response\.)"""
)
#: What else a file shows: the top of a cassette, HAR file or recording, members of recorders, an error, events.
_FILES = (
    rb"""^"?(?:http_)?interactions"?\s*:|^\s*\{\s*"(?:http_)?interactions"\s*:|"log"\s*:\s*\{.*"entries"\s*:"""
    rb"""|"(?:RequestUri|ResponseBody|rawHeaders|reqheaders|bodyPatterns|jsonBody|base64Body|bodyFileName)"\s*:"""
    rb"""|^httprr trace |^> [A-Z]+ \S+ HTTP/|"frames"\s*:|"error"\s*:\s*\{[^{}]*"message"\s*:"""
    rb"""|^\s*\{.*"(?:request|body)"\s*:.*"(?:response|wire|status)"\s*:|^data:\s*[{\[]"""
)
_CALLS = rb"""|"type\\*"+\s*:\s*\\*"+(?:tool_use|function_call|tool_call)\b|"function\\*"+\s*:\s*\{[^{}]*"arguments"""

_in_file = re.compile(_MEMBERS + rb"|" + _FILES, re.MULTILINE | re.DOTALL).search
_in_entry = re.compile((_MEMBERS + _CALLS).replace(b'"', b"[\"']")).search  # programs also print Python's notation


def in_file(head: bytes) -> bool:
    """Return whether the beginning of a file shows traffic. UTF-16 cannot be read, but it counts."""
    return _in_file(head.replace(b"\0", b"")) is not None


def in_entry(entry: str | bytes) -> bool:
    """Return whether an entry of a log, or a text, shows a response of a model."""
    data = entry.encode("utf-8", "surrogatepass") if isinstance(entry, str) else entry
    return _in_entry(data) is not None
