"""Reads what a script printed: the members of each library in one form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from toolparity.normalizer import json_codec

from ..subjects.peers.items import CLIENT_ITEMS
from ..subjects.peers.stops import stop_of

#: Type of an item or block that is a call -> the name of a call without one, and the member with its arguments.
_ITEMS = {**CLIENT_ITEMS, "tool_use": ("", "input")}
_COUNTS = {
    "input_tokens": ("input_tokens", "prompt_tokens", "inputTokens", "total_input_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens", "outputTokens", "total_output_tokens"),
    "cached_input_tokens": (
        "cached_tokens",
        "cache_read",
        "cache_read_tokens",
        "cacheReadTokens",
        "cache_read_input_tokens",
        "cached_prompt_text_tokens",
    ),
    "reasoning_tokens": ("reasoning_tokens", "reasoning", "reasoningTokens"),
    "cache_write_tokens": ("cache_creation", "cache_write_tokens", "cacheWriteTokens", "cache_creation_input_tokens"),
}

#: How many characters of an error's message are compared.
_MESSAGE = 40


class Output:
    """The output of a script: the printed JSON, or the error with which it ended.

    ``error``: the standard error of a script that printed no JSON, or "". ``reported``: that of any script.
    """

    def __init__(self, stdout: str, stderr: str) -> None:
        lines = [line for line in stdout.splitlines() if line.startswith("{")]
        self.values: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        self.error = "" if lines else stderr
        self.reported = stderr

    def raised(self, error: str) -> bool:
        """Return whether the script reported an error of this type, whose message begins in the same way.

        It did not if ``error`` is "".
        """
        if not error:
            return False
        name, _, message = error.partition(": ")
        begin = re.split("[;\n]", message)[0][:_MESSAGE]
        of_type = re.search(rf"^\S*?\s?\[?\b{re.escape(name)}\b", self.reported, re.MULTILINE)
        return of_type is not None and begin in self.reported

    def calls(self) -> list[str]:
        """Return the calls as text, without those that the provider ran."""
        return [call_text(name, arguments) for name, arguments in _calls(self.values.get("calls") or [])]

    def runs(self) -> list[str]:
        """Return the runs of an agent as text."""
        return [call_text(name, arguments) for name, arguments in self.values.get("ran") or []]

    def ids(self) -> list[str]:
        """Return every id in the calls."""
        return [str(found["id"]) for found in _objects(self.values.get("calls")) if found.get("id") is not None]

    @property
    def text(self) -> str:
        """The text of the response."""
        return _text(self.values.get("text", self.values.get("calls")))

    def stop(self, calls: Iterable[str], body: bytes) -> str:
        """Return the canonical stop reason of a response with these calls.

        If the metadata has a word that is not in the body, the library made it.
        """
        value = self.values.get("stop")
        word = _word(value)
        if value in (["interrupted", None], ["other", None]):  # words for an end that the library does not know
            return "unknown"
        if isinstance(value, dict) and str(word).encode() not in body:
            return "unknown"
        return stop_of(word, calls=list(calls))

    def shows_break(self, calls: Iterable[str]) -> bool:
        """Return whether the values show that a stream with these calls broke."""
        if "complete" in self.values:
            return bool(self.values["complete"] != "complete")
        word = _word(self.values.get("stop"))
        broken = word == "interrupted" or stop_of(word, calls=list(calls)) in ("unknown", "error")
        return "stop" in self.values and broken

    def count(self, name: str) -> int | None:
        """Return a token count."""
        usage = self.values.get("usage")
        found = [value for counts in _objects(usage) for key in _COUNTS[name] if (value := counts.get(key)) is not None]
        return next((value for value in found if isinstance(value, int)), None)


def _calls(value: Any) -> list[tuple[str, Any]]:
    """Return name and arguments of each client call among what a library returned."""
    if any(isinstance(item, dict) and "delta" in item for item in value):
        return _added_up(value)
    answered = {item.get("call_id") for item in _objects(value) if str(item.get("type")).endswith("_output")} - {None}
    ran = {item.get("tool_use_id") for item in _objects(value)} - {None}
    found = []
    for item in value:
        if isinstance(item, list):
            if len(item) < 3 or item[2] in (0, 1):  # xAI: the type of a client call, or none
                found.append((item[0], item[1]))
        elif item.get("providerExecuted") or item.get("invalid") or item.get("call_id") in answered:
            continue
        elif "toolName" in item:
            found.append((item["toolName"], item["input"]))
        elif item.get("type") in _ITEMS:
            name, member = _ITEMS[item["type"]]
            found.append((item.get("name") or name, item.get(member)))
        elif "args" in item:
            found.append((item["name"], item["args"]))
        else:
            found += _of_message(item, ran)
    return found


def _of_message(message: dict[str, Any], ran: set[Any]) -> list[tuple[str, Any]]:
    """Return the calls of a message of Chat Completions."""
    found = []
    for call in message.get("tool_calls") or ():
        body, member = (call["custom"], "input") if call.get("custom") else (call["function"], "arguments")
        if call.get("id") not in ran:
            found.append((body.get("name") or "", body.get(member)))
    if legacy := message.get("function_call"):
        found.append((legacy.get("name") or "", legacy.get("arguments")))
    return found


def _added_up(choices: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Return the calls of the chunks of Chat Completions, assembled by their index."""
    calls: dict[Any, list[str]] = {}
    for choice in choices:
        delta = choice["delta"]
        parts = [(part.get("index"), part.get("function") or {}) for part in delta.get("tool_calls") or ()]
        if legacy := delta.get("function_call"):
            parts.append((None, legacy))
        for index, body in parts:
            call = calls.setdefault((choice.get("index"), index), ["", ""])
            call[0] += body.get("name") or ""
            call[1] += body.get("arguments") or ""
    return [(name, arguments) for name, arguments in calls.values()]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, dict):
        if value.get("type") in ("text", "output_text"):
            return str(value["text"])
        return _text(value.get("delta") or value.get("content"))
    return ""


def _word(value: Any) -> Any:
    """Return the word for the end of a response, wherever a library has it."""
    if isinstance(value, list):
        return next((word for word in reversed([_word(one) for one in value]) if word), None)
    if isinstance(value, dict):
        members = ("finish_reason", "stop_reason", "reason", "incomplete_details", "status")
        return next((word for name in members if (word := _word(value.get(name)))), None)
    return None if value == "REASON_INVALID" else value


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(part)


def call_text(name: str, arguments: Any) -> str:
    """Return a call as text."""
    text = arguments if isinstance(arguments, str) else json_codec.shown({} if arguments is None else arguments)
    return f"{name or ''}({text})"
