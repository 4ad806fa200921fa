"""Item 4: a word that any provider uses for an error, a filter, a cut or an abort has that meaning on every wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.recorded.rows import lines
from tests.support.decoding import anthropic, codes, decode_stream
from tests.support.events import (
    anthropic_body,
    block_stop,
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_body,
    grpc_call,
    grpc_chunk,
    item_events,
    json_delta,
    piece,
    responses_body,
    sse,
    tool_start,
)
from toolparity import Response, normalize, select
from toolparity.normalizer.model import DEAD_STOPS, StopReason
from toolparity.normalizer.wires.stop_reason import CUTS
from toolparity.normalizer.wires.stop_words import PARTS, SOURCES, WORDS, fold, is_listed, reason_of
from toolparity.normalizer.wires.xai_grpc import schema

ROOT = Path(__file__).resolve().parents[3]
Answer = Callable[[str], Response]


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def _chat(word: str) -> Response:
    return normalize(_json(chat_body(chat_call("a", "f", "{}"), chat_call("b", "g", "{}"), finish=word)), "openai.chat")


def _chat_streamed(word: str) -> Response:
    calls = piece(0, "a", "f", "{}"), piece(1, "b", "g", "{}")
    return decode_stream("openai.chat", sse(chunk(*calls), chunk(finish=word), done=True))


def _anthropic(word: str) -> Response:
    blocks = [{"type": "tool_use", "id": id, "name": name, "input": {}} for id, name in (("a", "f"), ("b", "g"))]
    return normalize(_json(anthropic_body(*blocks, stop=word)), "anthropic.messages")


def _anthropic_streamed(word: str) -> Response:
    events = [
        event
        for place, (id, name) in enumerate((("a", "f"), ("b", "g")))
        for event in (tool_start(place, id, name), json_delta(place, "{}"), block_stop(place))
    ]
    return anthropic(*events, stop=word)


def _calls() -> list[dict[str, Any]]:
    return [function_call("a", "f", "{}"), {**function_call("b", "g", "{}"), "status": "incomplete"}]


def _incomplete(word: str) -> Response:
    body = responses_body(*_calls(), status="incomplete", incomplete_details={"reason": word})
    return normalize(_json(body), "openai.responses")


def _incomplete_streamed(word: str) -> Response:
    body = responses_body(*_calls(), status="incomplete", incomplete_details={"reason": word})
    events = [event for place, item in enumerate(_calls()) for event in item_events(place, item)]
    return decode_stream("openai.responses", sse(*events, {"type": "response.incomplete", "response": body}))


def _status(word: str) -> Response:
    return normalize(_json(responses_body(*_calls(), status=word)), "openai.responses")


ANSWERS: dict[str, Answer] = {
    "openai.chat": _chat,
    "openai.chat streamed": _chat_streamed,
    "anthropic.messages": _anthropic,
    "anthropic.messages streamed": _anthropic_streamed,
    "openai.responses": _incomplete,
    "openai.responses streamed": _incomplete_streamed,
    "openai.responses status": _status,
}
#: Reasons that client calls outweigh: what the answer holds says why it ended.
_YIELDING = frozenset(("end_turn", "tool_calls", "unknown"))


def assert_it_ended_so(answer: Answer, word: str, reason: StopReason) -> None:
    response = answer(word)
    stop = response.choices[0].stop
    selection = select(response)
    kept = [ref.id for ref in selection.kept]
    assert stop.raw == word
    if reason in DEAD_STOPS:
        assert (stop.reason, kept) == (reason, [])
        assert len(selection.rejected) == 2
    elif reason in CUTS:
        assert (stop.reason, kept) == (reason, ["a"])
    elif reason in _YIELDING:
        assert stop.reason in ("tool_calls", "unknown")
        assert "a" in kept
    else:
        assert stop.reason == reason


@pytest.mark.thorough(keep=150)
@pytest.mark.parametrize("word", sorted(WORDS))
@pytest.mark.parametrize("form", ANSWERS)
def test_item_4_every_word_of_the_table_has_its_meaning_on_every_wire(form: str, word: str) -> None:
    assert_it_ended_so(ANSWERS[form], word, WORDS[word].reason)


@pytest.mark.parametrize("finish", sorted(schema.STOPS))
def test_item_4_every_reason_of_xai_has_its_meaning(finish: int) -> None:
    reason = schema.STOPS[finish]
    assert is_listed(schema.finish_name(finish))
    assert reason != "unknown"
    calls = grpc_call("a", "f", "{}"), grpc_call("b", "g", "{}")
    kept = ["a"] if reason in CUTS else ["a", "b"]
    plain = normalize(grpc_body(*calls, finish=finish), "xai.grpc")
    streamed = decode_stream("xai.grpc", [grpc_chunk(*calls, role=2), grpc_chunk(finish=finish)])
    for response in (plain, streamed):
        assert response.choices[0].stop.reason == ("tool_calls" if reason == "end_turn" else reason)
        assert [ref.id for ref in select(response).kept] == kept


SPELLINGS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "camel case": lambda word: re.sub(r"_([a-z])", lambda found: found[1].upper(), word),
    "Pascal case": lambda word: "".join(part.title() for part in word.split("_")),
    "hyphens": lambda word: word.replace("_", "-"),
    "spaces": lambda word: f" {word.replace('_', ' ')} ",
    "an enum's member": lambda word: f"FinishReason.{word.upper()}",
    "an enum's protobuf name": lambda word: f"FINISH_REASON_{word.upper()}",
    "xAI's protobuf name": lambda word: f"REASON_{word.upper()}",
}


@given(word=st.sampled_from(sorted(WORDS)), spelling=st.sampled_from(sorted(SPELLINGS)))
def test_item_4_the_spelling_of_a_word_does_not_matter(word: str, spelling: str) -> None:
    spelled = SPELLINGS[spelling](word)
    assert is_listed(spelled)
    assert_it_ended_so(_chat, spelled, WORDS[word].reason)
    assert_it_ended_so(_anthropic_streamed, spelled, WORDS[word].reason)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "malformed_call"),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", "malformed_call"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("content_filter: SOMETHING_NEW", "content_filter"),
        ("error: timeout", "error"),
        ("stop: timeout", "max_tokens"),
    ],
)
@pytest.mark.parametrize("form", ANSWERS)
def test_item_4_of_a_word_in_two_parts_the_graver_counts(form: str, word: str, reason: StopReason) -> None:
    assert_it_ended_so(ANSWERS[form], word, reason)


@pytest.mark.thorough(keep=40)
@pytest.mark.parametrize("part", sorted(PARTS))
@pytest.mark.parametrize("form", ANSWERS)
def test_item_4_a_new_word_that_speaks_of_an_error_or_a_cut_has_its_meaning(form: str, part: str) -> None:
    assert_it_ended_so(ANSWERS[form], f"vendor_{part}_7", PARTS[part])
    assert "stop-unknown" in codes(ANSWERS[form](f"vendor_{part}_7"))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("content_policy_violation", "content_filter"),
        ("rate_limit_error", "error"),
        ("max_length", "max_tokens"),
        ("quotaExceeded", "max_tokens"),
        ("output_truncated", "max_tokens"),
    ],
)
@pytest.mark.parametrize("form", ANSWERS)
def test_item_4_of_a_new_word_the_gravest_part_counts(form: str, word: str, reason: StopReason) -> None:
    assert_it_ended_so(ANSWERS[form], word, reason)


@pytest.mark.parametrize("form", sorted(set(ANSWERS) - {"openai.responses", "openai.responses streamed"}))
def test_item_4_a_word_that_says_nothing_leaves_the_calls(form: str) -> None:
    response = ANSWERS[form]("vendor_word")
    assert response.choices[0].stop.reason == "tool_calls"
    assert "stop-unknown" in codes(response)


@pytest.mark.thorough(keep=50)
@pytest.mark.parametrize("word", [word for word, row in WORDS.items() if row.reason in {*DEAD_STOPS, *CUTS}])
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "vendor_word"])
def test_item_4_a_gateway_that_calls_a_failure_natural_is_corrected_by_the_native_word(word: str, finish: str) -> None:
    body = chat_body(chat_call("a", "f", "{}"), finish=finish)
    body["choices"][0]["native_finish_reason"] = word
    events = chunk(piece(0, "a", "f", "{}")), chunk(finish=finish)
    events[1]["choices"][0]["native_finish_reason"] = word
    for response in (normalize(_json(body), "openai.chat"), decode_stream("openai.chat", sse(*events, done=True))):
        assert response.choices[0].stop.reason == WORDS[word].reason
        assert select(response).kept == []


@pytest.mark.parametrize("word", ["max_output_tokens", "content_filter"])
def test_item_4_a_responses_body_that_says_completed_and_why_it_was_cut_was_cut(word: str) -> None:
    items = [{**function_call("a", "f", "{}"), "status": None}]
    response = normalize(_json(responses_body(*items, incomplete_details={"reason": word})), "openai.responses")
    assert response.choices[0].stop.reason == WORDS[word].reason
    assert select(response).kept == []


def test_item_4_every_row_is_folded_and_has_sources() -> None:
    for word, row in WORDS.items():
        assert fold(word) == word
        assert row.sources.split(), word
        assert set(row.sources.split()) <= set(SOURCES), word
    assert set(SOURCES) == {name for row in WORDS.values() for name in row.sources.split()}


#: The members that hold a stop word, on any wire that was recorded, as they are escaped in a line.
_MEMBERS = re.compile(rb'"(?:finish_?[rR]eason|stop_?[rR]eason|done_reason|native_finish_reason)\\*" ?: ?\\*"([^"\\]+)')


def test_item_4_every_recorded_word_is_known(recordings: Path) -> None:
    found = {
        word.decode()
        for path in recordings.glob("*.jsonl.gz")
        for line in lines(recordings, path.name.removesuffix(".jsonl.gz"))
        for word in _MEMBERS.findall(line)
    }
    assert len(found) > 20
    # Ollama hands the server's word on; one recorded server was configured to say "custom". The test data of an SDK of
    # Google's contains a word that it does not know.
    unknown = {word for word in found if not is_listed(word) or reason_of(word) == "unknown"}
    assert unknown <= {"custom", "FAKE_NEW_FINISH_REASON"}
