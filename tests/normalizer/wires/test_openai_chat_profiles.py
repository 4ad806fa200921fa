"""The profiles of the providers of openai.chat hold in all recordings."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, rows
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES, RECORDED, TRAITS

Seen = dict[str, set[str]]


def of_body(body: dict[str, Any]) -> Seen:
    """The traits of a whole body."""
    seen: Seen = defaultdict(set)
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        calls = message.get("tool_calls") or []
        seen["ids"].update(call.get("id") or "" for call in calls)
        _stop(seen, choice, called=bool(calls))
        _reasoning(seen, message)
    return seen


def of_stream(chunks: list[dict[str, Any]]) -> Seen:
    """The traits of a stream of chunks."""
    seen: Seen = defaultdict(set)
    indexes: list[Any] = []
    pieces: dict[int, int] = defaultdict(int)
    choices = [choice for chunk in chunks for choice in chunk.get("choices") or ()]
    called = any((choice.get("delta") or {}).get("tool_calls") for choice in choices)
    for choice in choices:
        _stop(seen, choice, called=called)
        _reasoning(seen, choice.get("delta") or {})
        for call in (choice.get("delta") or {}).get("tool_calls") or ():
            function = call.get("function") or {}
            if function.get("name"):
                indexes.append(call.get("index"))
                seen["ids"].add(call.get("id") or "")
            pieces[len(indexes)] += bool(function.get("arguments"))
    if indexes:
        seen["indexes"].add(_numbering(indexes))
        seen["arguments"].update("in pieces" if count > 1 else "at once" for count in pieces.values())
    seen["usage"].update(set(_usage(chunks)) or {"none"})
    return seen


def chunks_of(text: str) -> list[dict[str, Any]]:
    """The JSON objects of server-sent events, with or without their prefix."""
    lines = (line.strip().removeprefix("data:").strip() for line in text.splitlines())
    return [value for line in lines if line.startswith("{") and isinstance(value := json.loads(line), dict)]


def _stop(seen: Seen, choice: dict[str, Any], *, called: bool) -> None:
    if choice.get("finish_reason"):
        seen["stops of calls" if called else "stops"].add(choice["finish_reason"])


def _reasoning(seen: Seen, message: dict[str, Any]) -> None:
    seen["reasoning"].update(
        name for name in ("reasoning", "reasoning_content", "reasoning_details") if message.get(name)
    )
    content = message.get("content")
    if isinstance(content, list) and any(part.get("type") == "thinking" for part in content):
        seen["reasoning"].add("thinking in content")
    if isinstance(content, str) and content.lstrip().startswith("<think>"):
        seen["reasoning"].add("<think> in content")


def _numbering(indexes: list[Any]) -> str:
    if None in indexes:
        return "missing"
    if indexes == list(range(len(indexes))):
        return "numbered"
    return "all 0" if set(indexes) == {0} else ", ".join(map(str, indexes))


def _usage(chunks: list[dict[str, Any]]) -> Iterator[str]:
    for sent in chunks:
        choices = sent.get("choices") or []
        if (sent.get("x_groq") or {}).get("usage"):
            yield "x_groq"
        if any(choice.get("usage") for choice in choices):
            yield "in the choice"
        if sent.get("usage"):
            ended = any(choice.get("finish_reason") for choice in choices)
            yield "without choices" if not choices else "beside the stop word" if ended else "beside a delta"


#: Words in the ids and files of recordings whose provider is "other" -> the provider.
OTHERS = {
    **{name: name for name in ("azure", "cerebras", "cloudflare", "ollama", "together", "zai")},
    "Fixtures/z/": "zai",
}
RECORDED_PROFILES = [
    name for name, profile in PROFILES.items() if any(RECORDED in trait.sources for trait in profile.traits.values())
]


def provider_of(row: Row) -> str | None:
    if row.provider != "other":
        return row.provider
    place = f"{row.source.get('path', '')} {row.id}"
    return next((provider for words, provider in OTHERS.items() if words in place), None)


def seen_in(row: Row) -> Seen:
    text = row.data.decode("utf-8", "replace")
    return of_stream(chunks_of(text)) if row.stream else of_body(json.loads(text))


def unexpected(name: str, seen: Seen) -> dict[str, list[str]]:
    """The observed values that a profile does not have."""
    found: dict[str, list[str]] = {}
    for trait, known in PROFILES[name].traits.items():
        fits = re.compile(known.values[0]).fullmatch if trait == "ids" else known.values.__contains__
        if others := sorted(value for value in seen.get(trait, ()) if not fits(value)):
            found[trait] = others
    return found


@pytest.mark.parametrize("name", RECORDED_PROFILES)
def test_a_profile_holds_in_every_recording_of_its_provider(name: str, recordings: Path) -> None:
    taken = [
        row
        for row in rows(recordings, "openai.chat")
        if provider_of(row) == name and not row.failed and row.body and row.body_encoding is None
    ]
    shown: dict[str, set[str]] = {trait: set() for trait in TRAITS}
    for row in taken:
        seen = seen_in(row)
        assert unexpected(name, seen) == {}, row.id
        for trait, values in seen.items():
            shown[trait] |= values
    for trait, known in PROFILES[name].traits.items():
        assert shown[trait], f"no recording shows {trait}"
        assert trait == "ids" or set(known.values) == shown[trait], f"{trait}: a value that no recording has"


def test_every_trait_is_known_and_has_sources() -> None:
    for profile in PROFILES.values():
        assert profile.traits.keys() <= TRAITS.keys()
        for trait in profile.traits.values():
            assert trait.values
            assert all(source == RECORDED or source.startswith("https://") for source in trait.sources)
