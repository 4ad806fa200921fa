"""The profiles of the providers of openai.chat hold in all recordings, and in streams after public threads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, rows
from tests.normalizer.wires.openai_chat_traits import Seen, chunks_of, of_body, of_stream
from tests.support.decoding import decode_stream, shapes
from tests.support.events import chat_body, chat_call, chunk, piece, sse
from toolparity import normalize
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES, RECORDED, TRAITS

#: Words in the ids and files of recordings whose provider is "other" -> the provider.
OTHERS = {
    "azure": "azure",
    "cerebras": "cerebras",
    "cloudflare": "cloudflare",
    "ollama": "ollama",
    "together": "together",
    "zai": "zai",
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


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
LAST = chunk() | {"choices": [], "usage": USAGE}
THOUGHT = chunk(reasoning_content="hm")
END = chunk(finish="tool_calls")
END_WITH_USAGE = END | {"choices": [END["choices"][0] | {"usage": USAGE}]}
ONE, TWO = '{"x":1}', '{"x":2}'
#: Streams after the threads that the profiles cite: provider, chunks, and the arguments of the calls of the response.
STREAMS: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    ("fireworks", [THOUGHT, chunk(finish="stop", content="ok"), LAST], []),
    (
        "google",
        [chunk(piece(None, "call_297140", "f", ONE, extra_content={"google": {}})), chunk(finish="stop")],
        [ONE],
    ),
    (
        "google",
        [*(chunk(piece(0, f"function-call-{x[-2]}", "f", x)) for x in (ONE, TWO)), chunk(finish="stop")],
        [ONE, TWO],
    ),
    (
        "lmstudio",
        [chunk(piece(0, "193629320", "f", "")), *(chunk(piece(0, None, "", x)) for x in (ONE[:5], ONE[5:])), END],
        [ONE],
    ),
    ("minimax", [chunk(content="<think>hm"), chunk(content="</think>ok"), chunk(finish="stop")], []),
    ("moonshot", [THOUGHT, chunk(piece(0, "functions.f:0", "f", "{}")), END_WITH_USAGE], ["{}"]),
    ("qwen", [chunk(content="ok"), chunk(finish="stop"), LAST], []),
    (
        "sglang",
        [
            *(THOUGHT, chunk(piece(0, "0", "f", "")), chunk(piece(0, "0", None, ONE))),
            *(chunk(piece(0, "1", "f", "")), chunk(piece(0, "1", None, TWO)), END),
        ],
        [ONE, TWO],
    ),
    (
        "vllm",
        [
            *(chunk(reasoning="hm"), chunk(piece(0, "chatcmpl-tool-c9ZCzB9b9NikK5kjPBXpFG", "f", ""))),
            *(chunk(piece(0, arguments="{}")), END),
        ],
        ["{}"],
    ),
]
LLAMA_CPP = chat_body(chat_call("", "f", "{}"), reasoning_content="hm") | {"usage": USAGE}


@pytest.mark.parametrize(("name", "chunks", "calls"), STREAMS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(STREAMS)])
def test_a_stream_of_a_provider_without_recordings_is_read(
    name: str, chunks: list[dict[str, Any]], calls: list[str]
) -> None:
    assert unexpected(name, of_stream(chunks)) == {}
    response = decode_stream("openai.chat", sse(*chunks, done=True))
    assert response.complete
    assert [(call.arguments_text, call.status) for call in response.calls] == [(text, "complete") for text in calls]
    assert (response.usage is not None) == ("usage" in json.dumps(chunks))


def test_a_call_of_llama_cpp_without_an_id_is_read() -> None:
    assert unexpected("llama-cpp", of_body(LLAMA_CPP)) == {}
    assert shapes(normalize(LLAMA_CPP, "openai.chat")) == [("f", {}, "complete")]


def test_every_profile_has_a_recording_or_a_stream() -> None:
    built = {name for name, _, _ in STREAMS} | {"llama-cpp"}
    assert PROFILES.keys() == set(RECORDED_PROFILES) | built


def test_traits_are_known_and_have_a_source() -> None:
    for profile in PROFILES.values():
        assert profile.traits.keys() <= TRAITS.keys()
        for trait in profile.traits.values():
            assert trait.values
            assert all(source == RECORDED or source.startswith("https://") for source in trait.sources)
