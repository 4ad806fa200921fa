"""The pages about text mode and the tool parsers of servers: programs, tables and notations do what they state."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.conformance.pages import DOCS, blocks
from tests.normalizer.failures.test_textmode import F, read
from tests.normalizer.failures.test_textmode import answer as answered
from tests.normalizer.textmode.test_tool_limit import Provider
from tests.normalizer.textmode.texts import page_calls
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body
from tests.turns.playing import Counting, Emulated, Say, at_once, script
from toolparity import StreamDecoder, select
from toolparity.normalizer import textmode
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Assistant, Request, ToolResults, User
from toolparity.normalizer.errors import UserCancelled
from toolparity.normalizer.findings import CODES
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode import DIALECTS, detect, report
from toolparity.normalizer.textmode.detect import SIGNS

PAGE = "textmode.md"
TEXT = (DOCS / PAGE).read_text("utf-8")
ONE = "<tool:f>\n<param:x>a</param:x>\n</tool:f>"


@pytest.fixture
def names() -> dict[str, Any]:
    """Return the definitions of the page."""
    made: dict[str, Any] = {}
    for block in blocks(PAGE):
        assert block.language == "python"
        exec(block.text, made)
    return made


class Answer(Provider):
    """A streamed answer of HTTP."""

    headers = MappingProxyType({"x-ratelimit-remaining-requests": "7"})
    iter_bytes = Provider.__iter__


def test_a_stream_is_read_and_closed_at_the_limit(names: dict[str, Any]) -> None:
    shown: list[Any] = []
    stream = Answer(f"So: {ONE}\n{ONE} and more")
    response = names["read"](stream, ["f"], shown.append)
    assert shapes(response) == F
    assert (response.complete, response.choices[0].stop.reason) == (True, "tool_calls")
    assert {"tool-limit", "dropped-call"} <= set(codes(response))
    assert response.extra["rate_limit"] == stream.headers
    assert stream.closed == 1
    assert stream.taken == len(f"So: {ONE}\n<tool:f>")
    assert shown
    with pytest.raises(UserCancelled):
        names["read"](stream := Answer("Words."), [], _cancel)
    assert stream.closed == 1


def _cancel(event: Any) -> None:
    raise UserCancelled("Escape")


def test_the_policy_sets_the_limit(names: dict[str, Any]) -> None:
    for policy, calls in (("first", 1), ("all", 2), ("batch", 2)):
        stream = Answer(f"{ONE}\n{ONE}")
        response = names["read_by_hand"](stream, StreamDecoder("openai.chat"), policy)
        assert len(response.calls) == calls
        assert stream.closed == (calls == 1)


def test_an_answer_that_is_not_streamed_is_read(names: dict[str, Any]) -> None:
    body = json.dumps(chat_body(content=ONE, finish="stop"))
    assert shapes(names["read_whole"](body, ["f"])) == F
    assert names["leaked"](names["normalize"](body, "openai.chat")) == ["tool-xml: '<tool:f>'"]


def test_a_turn_executes_the_calls_of_the_text(names: dict[str, Any]) -> None:
    call = ONE.replace("tool:f", "tool:look")
    provider, counting = Emulated("openai.chat", script([Say(f"{call}\n{call}")], [Say("Done.")], tools=())), Counting()
    outcome = at_once(names["answer"](provider, counting.tools(), "Go."))
    assert (outcome.text, counting.ran) == ("Done.", [("look", {"x": "a"})])


def test_history_goes_there_and_back(names: dict[str, Any]) -> None:
    response = names["read_whole"](json.dumps(chat_body(content=ONE, finish="stop")), ["f"])
    turns = answer(response, select(response), {response.calls[0].id: "done"})
    spoken, losses = names["to_text_mode"](turns, None)
    assert losses == []
    assert [type(turn) for turn in spoken] == [Assistant, User]
    back = names["to_native"](spoken, None)
    assert [type(turn) for turn in back] == [Assistant, ToolResults]
    for history in (turns, back):
        messages = write_request(Request("openai.chat", "m", history)).body["messages"]
        assert [message["role"] for message in messages] == ["assistant", "tool"]


def test_the_page_lists_every_dialect_and_every_finding_of_texts_and_no_other() -> None:
    assert list(page_calls()) == list(DIALECTS)
    table = TEXT.split("## Findings")[1]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    listed = {code for row in rows for code in re.findall(r"`([\w-]+)`", row)}
    assert listed <= CODES.keys()
    sources = "".join(path.read_text("utf-8") for path in Path(textmode.__path__[0]).rglob("*.py"))
    used = {code for code in CODES if f'"{code}"' in sources}
    assert used - listed == {"arguments-respelled"} | (used & _OF_STREAMS)
    unread = {"minimax", "k2-horizon", "inkling", "muse", "thinking", "bare-tags", "bare-json"}
    assert unread == SIGNS.keys() - DIALECTS.keys()


#: Codes that the reader names because a stream that was closed on purpose does not contain them.
_OF_STREAMS = {
    *("stream-incomplete", "stop-missing", "unterminated-event", "empty-event", "keepalive-in-data"),
    *("undecodable-event", "raw-text-in-stream", "stream-error", "error-response"),
}


PARSERS_TEXT = (DOCS / "tool-parsers.md").read_text("utf-8")
PARSERS = re.findall(r"^\| (vLLM|SGLang) \| `(\S+)` \| `([\w-]+)` \| ([\w ]+) \| `\w+` \|$", PARSERS_TEXT, re.MULTILINE)
#: Notation -> its dialect, or what a finding calls it, or "", and a call.
NOTATIONS = {name: (name, call) for name, call in page_calls().items()} | {
    name: (dialect, call.replace("\\|", "|"))
    for name, dialect, call in re.findall(
        r"^\| `([\w-]+)` \| `?([\w-]*)`? ?\| `([^`]+)` \|$", PARSERS_TEXT, re.MULTILINE
    )
}


def result(notation: str) -> str:
    dialect, _ = NOTATIONS[notation]
    return "read" if dialect in DIALECTS else "reported" if dialect else "no distinct markup"


def test_the_page_has_every_parser_of_both_lists_and_says_what_happens_to_its_calls() -> None:
    assert Counter(server for server, *_ in PARSERS) == {"vLLM": 46, "SGLang": 39}
    assert len({(server, parser) for server, parser, *_ in PARSERS}) == len(PARSERS)
    assert [row[3] for row in PARSERS] == [result(row[2]) for row in PARSERS]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_TEXT_32_a_notation_is_read_reported_or_text_as_the_page_states(notation: str) -> None:
    dialect, call = NOTATIONS[notation]
    assert [leak.dialect for leak in detect(call)] == [dialect] * bool(dialect)
    assert codes(report(answered(call))) == ["leaked-markup"] * bool(dialect)
    if result(notation) == "read":
        for name in (dialect, None):
            assert (shapes(read(call, name)), read(call, name).text) == (F, "")
    else:
        assert dialect in ("", *SIGNS)
        response = read(f"{call}", None)
        assert (response.calls, response.text) == ([], call)
        assert codes(response) == ["leaked-markup"] * bool(dialect)


@pytest.mark.parametrize("notation", [name for name in NOTATIONS if result(name) == "read"])
def test_TEXT_31_a_call_whose_outer_opening_tag_is_missing_is_read(notation: str) -> None:
    """Its closing tag is there (ollama#16686)."""
    dialect, call = NOTATIONS[notation]
    grammars = getattr(DIALECTS[dialect], "grammars", ())
    for opening in sorted((tag for grammar in grammars for tag in grammar.opens), key=len, reverse=True):
        if call.startswith(opening):
            for name in (dialect, None):
                assert shapes(read(call.removeprefix(opening), name)) == F
                assert shapes(read(f"{call.removeprefix(opening)}\n{call}", name)) == F + F
            break
