"""The programs and tables of the page about text mode."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.pages import DOCS, blocks
from tests.normalizer.failures.test_textmode import read
from tests.normalizer.textmode.texts import page_calls
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body, chunk, sse
from tests.turns.playing import Counting, Emulated, Say, at_once, script
from toolparity import StreamDecoder, select
from toolparity.normalizer import textmode
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Assistant, Request, ToolResults, User
from toolparity.normalizer.errors import UserCancelled
from toolparity.normalizer.findings import CODES
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode import DIALECTS, detect
from toolparity.normalizer.textmode.detect import SIGNS

PAGE = "textmode.md"
TEXT = (DOCS / PAGE).read_text("utf-8")
ONE = "<tool:f>\n<param:x>a</param:x>\n</tool:f>"
F = [("f", {"x": "a"}, "complete")]
ROWS = page_calls()


@pytest.fixture
def names() -> dict[str, Any]:
    """Return the definitions of the page."""
    made: dict[str, Any] = {}
    for block in blocks(PAGE):
        assert block.language == "python"
        exec(block.text, made)
    return made


class Answer:
    """A streamed answer of HTTP."""

    def __init__(self, text: str) -> None:
        self.headers = {"x-ratelimit-remaining-requests": "7"}
        self.closed = 0
        self._pieces = [sse(chunk(content=char)) for char in text] + [sse(chunk(finish="stop"), done=True)]
        self.taken = 0

    def iter_bytes(self) -> Any:
        for piece in self._pieces:
            self.taken += 1
            yield piece

    def close(self) -> None:
        self.closed += 1


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


def test_the_page_has_a_call_of_every_dialect_and_it_is_read() -> None:
    assert list(ROWS) == list(DIALECTS)
    for name, call in ROWS.items():
        assert shapes(read(call, name)) == F, name
        assert [leak.dialect for leak in detect(call)][:1] == [name]


def test_the_page_lists_every_finding_of_texts_and_no_other() -> None:
    table = TEXT.split("## Findings")[1]
    listed = {
        code for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for code in re.findall(r"`([\w-]+)`", row)
    }
    assert listed <= CODES.keys()
    sources = "".join(path.read_text("utf-8") for path in Path(textmode.__path__[0]).rglob("*.py"))
    used = {code for code in CODES if f'"{code}"' in sources}
    assert used - listed == {"arguments-respelled"} | (used & _OF_STREAMS)
    assert {
        *("minimax", "k2-horizon", "inkling", "muse", "thinking", "bare-tags", "bare-json")
    } == SIGNS.keys() - DIALECTS.keys()


#: Codes that the reader names because a stream that was closed on purpose does not contain them.
_OF_STREAMS = {
    *("stream-incomplete", "stop-missing", "unterminated-event", "empty-event", "keepalive-in-data"),
    *("undecodable-event", "raw-text-in-stream", "stream-error", "error-response"),
}
