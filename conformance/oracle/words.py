"""The words of each wire in a conversation: types, roles and states, and where they may occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolparity.normalizer import json_codec

from . import Json
from .history import conversation


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
