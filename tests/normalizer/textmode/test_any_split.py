"""A text gives the same calls however it is cut (law `any-split`), in every dialect and without knowing which."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.normalizer.failures.test_textmode import answer
from tests.normalizer.recorded.test_any_split import disagreements
from tests.normalizer.textmode.texts import COMMON, TAGGED, TOKENS, TOOLS, pieces
from tests.support import thoroughness
from tests.support.decoding import codes
from tests.support.events import chat_body, chunk, sse
from toolparity import StreamDecoder, normalize
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolLimitReached
from toolparity.normalizer.events import Event
from toolparity.normalizer.json_codec import encode
from toolparity.normalizer.model import Text, ToolCall
from toolparity.normalizer.textmode import DIALECTS, TextReader, read_response
from toolparity.normalizer.textmode.dialect import WrittenCall

NAMES = [*TOKENS, None]


def examples(count: int) -> settings:
    return thoroughness.examples(count, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def texts(name: str | None) -> st.SearchStrategy[str]:
    own = TOKENS[name] if name is not None else [token for tokens in TOKENS.values() for token in tokens]
    token = st.one_of(st.sampled_from(own), st.sampled_from(own), st.sampled_from(COMMON), st.text(max_size=3))
    return st.lists(token, max_size=16).map("".join)


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("name", NAMES)
def test_a_text_gives_the_same_response_plain_and_streamed(name: str | None) -> None:
    """And what was shown on the way adds up to it."""

    @examples(120)
    @given(text=texts(name).filter(bool), seed=st.integers(0, 999), limit=st.sampled_from([None, 1, 2]))
    def check(text: str, seed: int, limit: int | None) -> None:
        text = text.encode("utf-8", "replace").decode()
        body = encode(chat_body(content=text, finish="stop"))
        whole = read_response(normalize(body, "openai.chat"), name, tools=TOOLS if seed % 2 else None, limit=limit)
        reader = TextReader(name, StreamDecoder("openai.chat"), tools=TOOLS if seed % 2 else None, limit=limit)
        shown: list[Event] = []
        for piece in [sse(chunk(content=piece)) for piece in pieces(text, Random(seed))]:
            if reader.reached is None:
                shown += _fed(reader, piece)
        if reader.reached is None:
            shown += _fed(reader, sse(chunk(finish="stop"), done=True))
        response = reader.finish()
        assert response.choices[0].blocks == whole.choices[0].blocks
        assert response.choices[0].stop.reason == whole.choices[0].stop.reason
        assert response.complete
        assert sorted(codes(response)) == sorted(codes(whole))
        assert list(disagreements(response, shown)) == []

    check()


def _fed(reader: TextReader, piece: bytes) -> list[Event]:
    try:
        return reader.feed(piece)
    except ToolLimitReached as reached:
        return list(reached.events)  # type: ignore[arg-type]


#: What JSON escapes, and what looks like its structure, among all the rest.
HARD = st.text(st.one_of(st.sampled_from('"\\{}[],:<>/`|\n'), st.characters(codec="utf-8")), max_size=12)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), HARD),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
#: Words that are none of anybody's markup; the empty ones and those of white space alone are layout beside a call.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<`~[&\r"), min_size=1, max_size=30).filter(
    lambda text: not text.isspace()
)
KEYS = st.text("abcxyz_", min_size=1, max_size=6)


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("name", TOKENS)
def test_what_is_written_in_a_dialect_is_read_back(name: str) -> None:
    """Words and calls alternate; each call comes back with its name and every argument, the words to the character."""
    tagged = name in (*TAGGED, "minimax-m3")
    values = st.text(st.characters(codec="utf-8", exclude_characters="<\r"), max_size=20) if tagged else JSON

    @examples(50)
    @given(
        parts=st.lists(st.tuples(WORDS, KEYS, st.dictionaries(KEYS, values, max_size=3)), min_size=1, max_size=3),
        seed=st.integers(0, 999),
    )
    def check(parts: list[tuple[str, str, dict[str, Any]]], seed: int) -> None:
        written, expected = "", []
        for words, tool, arguments in parts[: 1 if name == "llama" else 3]:
            call = WrittenCall("functions.f:0", tool, arguments, json_codec.text(arguments))
            written += words + DIALECTS[name].write_calls([call])
            expected += [words, (tool, arguments)]
        response = read_response(answer(written), name, limit=None)
        got = [
            block.text if isinstance(block, Text) else (block.name, block.arguments)
            for block in response.choices[0].blocks
            if isinstance(block, (Text, ToolCall))
        ]
        assert got == expected
        assert all(call.status == "complete" for call in response.calls)

    check()
