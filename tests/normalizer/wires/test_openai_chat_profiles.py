"""The profiles of the providers of Chat Completions hold in all recordings, and in streams after public threads."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, rows
from tests.normalizer.wires.openai_chat_traits import Seen, chunks_of, of_body, of_stream
from toolparity import StreamDecoder, normalize
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES, RECORDED, TRAITS

ROOT = Path(__file__).resolve().parents[3]
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
def test_a_profile_holds_in_every_recording_of_its_provider(
    name: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = [
        row
        for row in rows(recordings, "openai.chat")
        if provider_of(row) == name and not row.failed and row.body and row.body_encoding is None
    ]
    counts: Counter[str] = Counter()
    shown: dict[str, set[str]] = {trait: set() for trait in TRAITS}
    for row in taken:
        seen = seen_in(row)
        assert unexpected(name, seen) == {}, row.id
        for trait, values in seen.items():
            shown[trait] |= values
            counts[trait] += bool(values)
    with capsys.disabled():
        shares = ", ".join(f"{trait} {counts[trait]}" for trait in TRAITS)
        print(f"\n  {name}: {len(taken)} recordings, of which show: {shares}", end="")
    for trait, known in PROFILES[name].traits.items():
        assert shown[trait], f"no recording shows {trait}"
        assert trait == "ids" or set(known.values) == shown[trait], f"{trait}: a value that no recording has"


def _call(id: str | None, arguments: str, name: str | None = "f", index: int | None = 0, **more: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    members = {"index": index, "id": id, "type": "function", "function": function, **more}
    return {key: value for key, value in members.items() if value is not None}


def _chunk(stop: str | None = None, **delta: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
    }


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
LAST = {**_chunk(), "choices": [], "usage": USAGE}
#: Streams after the threads that the profiles cite: provider, chunks, and the calls that the response has.
STREAMS: list[tuple[str, list[dict[str, Any]], list[str]]] = [
    ("fireworks", [_chunk(reasoning_content="hm"), _chunk("stop", content="ok"), LAST], []),
    (
        "google",
        [
            _chunk(
                role="assistant",
                tool_calls=[_call("call_297140", '{"x":1}', index=None, extra_content={"google": {}})],
            ),
            _chunk("stop", role="assistant"),
        ],
        ['{"x":1}'],
    ),
    (
        "google",
        [
            _chunk(tool_calls=[_call("function-call-1", '{"x":1}')]),
            _chunk(tool_calls=[_call("function-call-2", '{"x":2}')]),
            _chunk("stop"),
        ],
        ['{"x":1}', '{"x":2}'],
    ),
    (
        "lmstudio",
        [
            _chunk(tool_calls=[_call("193629320", "", "f")]),
            _chunk(tool_calls=[_call(None, '{"x":', "")]),
            _chunk(tool_calls=[_call(None, "1}", "")]),
            _chunk("tool_calls"),
        ],
        ['{"x":1}'],
    ),
    ("minimax", [_chunk(content="<think>hm"), _chunk(content="</think>ok"), _chunk("stop")], []),
    (
        "moonshot",
        [
            _chunk(reasoning_content="hm"),
            _chunk(tool_calls=[_call("functions.f:0", "{}")]),
            {**_chunk(), "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls", "usage": USAGE}]},
        ],
        ["{}"],
    ),
    ("qwen", [_chunk(content="ok"), _chunk("stop"), LAST], []),
    (
        "sglang",
        [
            _chunk(reasoning_content="hm"),
            _chunk(tool_calls=[_call("0", "")]),
            _chunk(tool_calls=[_call("0", '{"x":1}', None)]),
            _chunk(tool_calls=[_call("1", "")]),
            _chunk(tool_calls=[_call("1", '{"x":2}', None)]),
            _chunk("tool_calls"),
        ],
        ['{"x":1}', '{"x":2}'],
    ),
    (
        "vllm",
        [
            _chunk(reasoning="hm"),
            _chunk(tool_calls=[_call("chatcmpl-tool-c9ZCzB9b9NikK5kjPBXpFG", "")]),
            _chunk(tool_calls=[_call(None, "{}", None)]),
            _chunk("tool_calls"),
        ],
        ["{}"],
    ),
]
LLAMA_CPP = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [{"type": "function", "id": "", "function": {"name": "f", "arguments": "{}"}}],
            },
        }
    ],
    "usage": USAGE,
}


@pytest.mark.parametrize(("name", "chunks", "calls"), STREAMS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(STREAMS)])
def test_a_stream_of_a_provider_without_recordings_is_read(
    name: str, chunks: list[dict[str, Any]], calls: list[str]
) -> None:
    assert unexpected(name, of_stream(chunks)) == {}
    decoder = StreamDecoder("openai.chat")
    decoder.feed("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n")
    response = decoder.finish()
    assert response.complete
    assert [(call.name, call.arguments_text, call.status) for call in response.calls] == [
        ("f", text, "complete") for text in calls
    ]
    assert (response.usage is not None) == any("usage" in json.dumps(chunk) for chunk in chunks)


def test_a_call_of_llama_cpp_without_an_id_is_read() -> None:
    assert unexpected("llama-cpp", of_body(LLAMA_CPP)) == {}
    response = normalize(LLAMA_CPP, "openai.chat")
    assert [(call.name, call.arguments_text, call.status) for call in response.calls] == [("f", "{}", "complete")]


def test_every_profile_has_a_recording_or_a_stream() -> None:
    built = {name for name, _, _ in STREAMS} | {"llama-cpp"}
    assert PROFILES.keys() == set(RECORDED_PROFILES) | built


def test_traits_are_known_and_have_a_source() -> None:
    for profile in PROFILES.values():
        assert profile.traits.keys() <= TRAITS.keys()
        for trait in profile.traits.values():
            assert trait.values
            assert all(source == RECORDED or source.startswith("https://") for source in trait.sources)
