"""A word that any provider uses for an error, a filter, a cut or an abort has that meaning on every wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.recorded.rows import lines
from tests.support.decoding import codes, feed
from tests.support.emit import STOP_WORDS, emit_body, emit_stream, scripted_call
from tests.support.events import (
    chat_body,
    chat_call,
    chunk,
    function_call,
    grpc_body,
    grpc_call,
    grpc_chunk,
    piece,
    responses_body,
    sse,
)
from tests.support.wires import JSON_WIRES
from toolparity import Response, normalize, select
from toolparity.normalizer.model import DEAD_STOPS, StopReason
from toolparity.normalizer.wires.stop_reason import CUTS
from toolparity.normalizer.wires.stop_words import PARTS, SOURCES, WORDS, fold, is_listed, reason_of
from toolparity.normalizer.wires.xai_grpc import schema

Answer = Callable[[str], Response]
#: Two calls; only the status of the second one shows on some wires that the answer was cut.
STEPS = [scripted_call(["{}"], "a", "f"), scripted_call(["{}"], "b", "g", closed=False)]


def _plain(wire: str, word: str) -> Response:
    return normalize(_with(wire, word, emit_body(wire, STEPS, "max_tokens")), wire)


def _streamed(wire: str, word: str) -> Response:
    return feed(wire, [_with(wire, word, b"".join(emit_stream(wire, STEPS, "max_tokens")))])[0]


def _with(wire: str, word: str, body: bytes) -> bytes:
    old = json.dumps(STOP_WORDS[wire]["max_tokens"]).encode()
    assert old in body
    return body.replace(old, json.dumps(word).encode())


ANSWERS: dict[str, Answer] = {
    f"{wire} {read.__name__}": partial(read, wire) for wire in JSON_WIRES for read in (_plain, _streamed)
}
EVERY_FORM = pytest.mark.parametrize("form", ANSWERS)


def assert_ended(answer: Answer, word: str, reason: StopReason) -> None:
    response = answer(word)
    stop, selection = response.choices[0].stop, select(response)
    kept = [ref.id for ref in selection.kept]
    assert stop.raw == word
    if reason in ("end_turn", "tool_calls", "unknown"):  # client calls outweigh these reasons
        assert stop.reason in ("tool_calls", "unknown")
        assert "a" in kept
        return
    assert stop.reason == reason, word
    if reason in DEAD_STOPS:
        assert (kept, len(selection.rejected)) == ([], 2), word
    elif reason in CUTS:
        assert kept == ["a"], word


@EVERY_FORM
def test_every_word_of_the_table_has_its_meaning_on_every_wire(form: str) -> None:
    for word, row in WORDS.items():
        assert_ended(ANSWERS[form], word, row.reason)


def test_every_reason_of_xai_has_its_meaning() -> None:
    calls = grpc_call("a", "f", "{}"), grpc_call("b", "g", "{}")
    for finish, reason in schema.STOPS.items():
        assert is_listed(schema.finish_name(finish))
        assert reason != "unknown"
        streamed = feed("xai.grpc", [grpc_chunk(*calls, role=2), grpc_chunk(finish=finish)])[0]
        for response in (normalize(grpc_body(*calls, finish=finish), "xai.grpc"), streamed):
            assert response.choices[0].stop.reason == ("tool_calls" if reason == "end_turn" else reason)
            assert [ref.id for ref in select(response).kept] == (["a"] if reason in CUTS else ["a", "b"])


FORMS_OF_WORDS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "camel case": lambda word: re.sub(r"_([a-z])", lambda found: found[1].upper(), word),
    "Pascal case": lambda word: "".join(part.title() for part in word.split("_")),
    "hyphens": lambda word: word.replace("_", "-"),
    "spaces": lambda word: f" {word.replace('_', ' ')} ",
    "an enum's member": lambda word: f"FinishReason.{word.upper()}",
    "an enum's protobuf name": lambda word: f"FINISH_REASON_{word.upper()}",
    "xAI's protobuf name": lambda word: f"REASON_{word.upper()}",
}


@given(word=st.sampled_from(sorted(WORDS)), form=st.sampled_from(sorted(FORMS_OF_WORDS)))
def test_the_case_and_the_prefix_of_a_word_do_not_matter(word: str, form: str) -> None:
    written = FORMS_OF_WORDS[form](word)
    assert is_listed(written)
    assert_ended(ANSWERS["openai.chat _plain"], written, WORDS[word].reason)
    assert_ended(ANSWERS["anthropic.messages _streamed"], written, WORDS[word].reason)


#: Words in several parts: the part with the highest severity counts.
COMPOSED: dict[StopReason, list[str]] = {
    "malformed_call": [f"function_call_filter: {word}" for word in ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")],
    "content_filter": ["content_filter: PROHIBITED_CONTENT", "content_filter: NEW", "content_policy_violation"],
    "error": ["error: timeout", "rate_limit_error"],
    "max_tokens": ["stop: timeout", "max_length", "quotaExceeded", "output_truncated"],
}


@EVERY_FORM
def test_a_new_word_that_contains_an_error_or_a_cut_has_its_meaning_and_any_other_leaves_the_calls(form: str) -> None:
    for reason, words in COMPOSED.items():
        for word in words:
            assert_ended(ANSWERS[form], word, reason)
    for part, reason in PARTS.items():
        assert_ended(ANSWERS[form], f"vendor_{part}_7", reason)
        assert "stop-unknown" in codes(ANSWERS[form](f"vendor_{part}_7"))
    response = ANSWERS[form]("vendor_word")  # without a known meaning it leaves the calls
    assert response.choices[0].stop.reason == ("unknown" if "responses" in form else "tool_calls")
    assert "stop-unknown" in codes(response)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "vendor_word"])
def test_the_native_word_corrects_a_gateway_that_calls_a_failure_natural(finish: str) -> None:
    for word in (word for word, row in WORDS.items() if row.reason in {*DEAD_STOPS, *CUTS}):
        body, end = chat_body(chat_call("a", "f", "{}"), finish=finish), chunk(finish=finish)
        for answer in (body, end):
            answer["choices"][0]["native_finish_reason"] = word
        streamed = feed("openai.chat", [sse(chunk(piece(0, "a", "f", "{}")), end, done=True)])[0]
        for response in (normalize(body, "openai.chat"), streamed):
            assert response.choices[0].stop.reason == WORDS[word].reason
            assert select(response).kept == []


def test_a_completed_response_with_a_reason_why_it_was_cut_was_cut() -> None:
    for word in ("max_output_tokens", "content_filter"):
        body = responses_body(function_call("a", "f", "{}", status=None), incomplete_details={"reason": word})
        response = normalize(json.dumps(body).encode(), "openai.responses")
        assert (response.choices[0].stop.reason, select(response).kept) == (WORDS[word].reason, [])


def test_every_row_is_folded_and_has_sources() -> None:
    assert [word for word, row in WORDS.items() if fold(word) != word or not row.sources.split()] == []
    assert set(SOURCES) == {name for row in WORDS.values() for name in row.sources.split()}


#: The members that hold a stop word, on any wire that was recorded, as they are escaped in a line.
_MEMBERS = re.compile(rb'"(?:finish_?[rR]eason|stop_?[rR]eason|done_reason|native_finish_reason)\\*" ?: ?\\*"([^"\\]+)')


def test_every_recorded_word_is_known(recordings: Path) -> None:
    names = [path.name.removesuffix(".jsonl.gz") for path in recordings.glob("*.jsonl.gz")]
    rows = (line for name in names for line in lines(recordings, name))
    found = {word.decode() for line in rows for word in _MEMBERS.findall(line)}
    assert len(found) > 20
    # Ollama passes the server's word on; one recorded server was configured to send "custom". The test data of an SDK
    # of Google's contains a word that it does not know.
    unknown = {word for word in found if not is_listed(word) or reason_of(word) == "unknown"}
    assert unknown <= {"custom", "FAKE_NEW_FINISH_REASON"}
