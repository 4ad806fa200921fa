"""The tool limit as the plan for it describes it: its test cases by name, on the scanner and on mocked streams.

End to end over sockets see `test_closing`.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.normalizer.textmode.texts import said
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body, chunk, sse
from toolparity import Response, StreamDecoder, Text, ToolCall, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.errors import StreamingError, ToolLimitReached, UserCancelled
from toolparity.normalizer.events import BlockDelta, BlockStart, BlockStop, Event
from toolparity.normalizer.model import Stop
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode import TextReader, as_text, limit_of, read_response, read_stream
from toolparity.normalizer.textmode.scan_events import CallOpened, CallOverLimit, CallParsed, TextFragment

READ = "<tool:read_files>\n<param:path>file.txt</param:path>\n</tool:read_files>"
PARAMETERS = "<param:path>other.txt</param:path>\n<param:content>\nnew\n</param:content>"
REPLACE = f"<tool:replace_in_file>\n{PARAMETERS}\n</tool:replace_in_file>"
LEAD = "Let me look.\n\n"
FIRST = [("read_files", {"path": "file.txt"}, "complete")]


def plain(text: str, **how: Any) -> Response:
    body = json.dumps(chat_body(content=text, finish="stop")).encode()
    return read_response(normalize(body, "openai.chat"), "tool-xml", **how)


class Provider:
    """A mocked provider: chunks of Chat Completions with one character of the text each; it counts what was taken."""

    def __init__(self, text: str) -> None:
        self.taken = 0
        self.closed = 0
        self._text = text

    def __iter__(self) -> Any:
        for char in self._text:
            self.taken += 1
            yield sse(chunk(content=char))
        yield sse(
            chunk(finish="stop"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}, done=True
        )

    def close(self) -> None:
        self.closed += 1


def streamed(text: str, shown: list[Event] | None = None, **how: Any) -> tuple[Response, Provider]:
    provider = Provider(text)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"), **how)
    return read_stream(provider, reader, on_event=None if shown is None else shown.append), provider


# 1. Single tool: normal behaviour unchanged


def test_single_tool_scanned() -> None:
    steps, scanner = said("tool-xml", [LEAD + READ], limit=1)
    assert [type(step) for step in steps if isinstance(step, (TextFragment, CallOpened, CallParsed))] == [
        TextFragment,
        CallOpened,
        CallParsed,
    ]
    assert not scanner.over


def test_single_tool_streamed() -> None:
    """001, 5. Testing Strategy: one tool."""
    shown: list[Event] = []
    response, provider = streamed(LEAD + READ, shown)
    assert shapes(response) == FIRST
    assert response.choices[0].stop == Stop("tool_calls", "stop")
    assert provider.closed == 0
    assert response.usage is not None
    assert response.usage.output_tokens == 4
    assert "tool-limit" not in codes(response)
    starts = [(event.block, event.name) for event in shown if isinstance(event, BlockStart)]
    assert starts == [("text", None), ("tool_call", "read_files")]


def test_no_tool_is_the_very_same_response() -> None:
    body = json.dumps(chat_body(content="Nothing <b>to</b> do.", finish="stop")).encode()
    response = normalize(body, "openai.chat")
    assert read_response(response, "tool-xml") is response


# 2. Two complete tools: the second one is detected and stopped


def test_two_complete_tools_scanned() -> None:
    steps, scanner = said("tool-xml", [f"{LEAD}{READ}\n\n{REPLACE}"], limit=1)
    assert steps[-1] == CallOverLimit(2, "replace_in_file")
    assert scanner.over
    assert sum(isinstance(step, CallParsed) for step in steps) == 1


def test_two_complete_tools_streamed() -> None:
    """001, Issue, Current Behavior, Desired Behavior, ✅ Option 3, 2. Modify XML Streaming Processor: two tools."""
    text = f"{LEAD}{READ}\n\n{REPLACE}"
    response, provider = streamed(text)
    assert shapes(response) == FIRST
    assert provider.closed == 1
    assert provider.taken == text.index("<tool:replace_in_file>") + len("<tool:replace_in_file>")
    assert response.complete
    assert response.choices[0].stop == Stop("tool_calls", None)
    assert codes(response) == ["arguments-respelled", "id-missing", "tool-limit", "dropped-call", "call-in-text"]


def test_two_complete_tools_plain() -> None:
    response = plain(f"{LEAD}{READ}\n\n{REPLACE}")
    assert response.choices[0].blocks[0] == Text(LEAD)
    assert shapes(response) == FIRST
    assert response.text == LEAD


@pytest.mark.parametrize("limit", [0, 1, 2, 3, None])
def test_two_complete_tools_under_any_limit(limit: int | None) -> None:
    """001, Benefits: the limit is any number, or none."""
    text = f"{READ}\n{REPLACE}\nDone."
    response, provider = streamed(text, limit=limit)
    assert len(response.calls) == min(2, 2 if limit is None else limit)
    assert (provider.closed == 1) == (limit is not None and limit < 2)
    assert response == streamed(text, limit=limit)[0]
    assert select(response, "all", limit).dropped == []


# 3. Incomplete second tool: detection works with partial tags


@pytest.mark.parametrize("cut", range(1, len("<tool:replace_in_file>")))
def test_incomplete_second_tool_is_no_tool_before_its_opening_tag_is_whole(cut: int) -> None:
    """001, XML Processor State Tracking: an opening tag that the end of the text cuts is text."""
    part = "<tool:replace_in_file>"[:cut]
    response, provider = streamed(f"{READ}\n\n{part}")
    assert shapes(response) == FIRST
    assert provider.closed == 0
    assert response.text.strip() == part


@pytest.mark.parametrize(
    "behind", ["", "\n", "\n<par", "\n<param:path>", "\n<param:path>file", "\n<param:path>f</param:path>"]
)
def test_incomplete_second_tool_is_discarded_however_far_it_came(behind: str) -> None:
    """001, Response Preservation: a partial second tool is discarded."""
    response, provider = streamed(f"{READ}\n\n<tool:replace_in_file>{behind}")
    assert response.choices[0].blocks == [response.calls[0]]
    assert shapes(response) == FIRST
    assert provider.closed == 1
    assert [f.message for f in response.findings if f.code == "dropped-call"] == [
        "replace_in_file (#2): the limit is 1"
    ]


def test_incomplete_second_tool_whose_stream_broke_off_is_a_whole_answer() -> None:
    """Everything up to the second tool had arrived, so nothing is missing."""
    decoder = StreamDecoder("openai.chat")
    decoder.feed(sse(chunk(content=f"{READ}\n<tool:replace_in_file>\n<par")))
    broken = decoder.finish()
    assert not broken.complete
    response = read_response(broken, "tool-xml")
    assert response.complete
    assert shapes(response) == FIRST


# 4. Tool limit with parameters: the state of the parameters is reset


def test_limit_with_parameters_leaves_no_parameter_behind() -> None:
    more = REPLACE.replace("replace_in_file", "read_files")
    response, _ = streamed(f"{READ}\n{more}")
    assert shapes(response) == FIRST
    again = plain(f"{REPLACE}\n{READ}", limit=None)
    assert shapes(again) == [("replace_in_file", {"path": "other.txt", "content": "new"}, "complete"), *FIRST]


def test_limit_with_parameters_closes_the_block_that_was_shown() -> None:
    shown: list[Event] = []
    streamed(f"{READ}\n{REPLACE}", shown)
    calls = [event for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"]
    assert len(calls) == 1
    assert BlockStop(0, calls[0].key) in shown
    text = "".join(event.text for event in shown if isinstance(event, BlockDelta) and event.key == calls[0].key)
    assert json.loads(text) == {"path": "file.txt"}


def test_limit_with_parameters_that_hold_a_tool_of_their_own() -> None:
    """A tool inside a parameter is text, and no second tool."""
    inner = READ.replace("\n", "")
    text = f"<tool:write_file>\n<param:content>{inner}</param:content>\n</tool:write_file>"
    response, provider = streamed(text)
    assert shapes(response) == [("write_file", {"content": inner}, "complete")]
    assert provider.closed == 0


# The result of it


def test_the_limit_and_the_user_are_told_apart_by_type() -> None:
    """001, Error Flow Comparison, 1. Create New Error Type, Error Message Format: two types of one family."""
    assert issubclass(ToolLimitReached, StreamingError)
    assert issubclass(UserCancelled, StreamingError)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"))
    with pytest.raises(ToolLimitReached) as raised:
        reader.feed(sse(chunk(content=f"{READ}\n<tool:replace_in_file>")))
    assert (raised.value.number, raised.value.name) == (2, "replace_in_file")
    assert [event.name for event in raised.value.events if isinstance(event, BlockStart)] == ["read_files"]
    assert shapes(reader.finish()) == FIRST


def test_a_limit_that_someone_elses_reader_reached_is_no_success() -> None:
    stranger = ToolLimitReached("of another stream")

    def show(event: Event) -> None:
        raise stranger

    provider = Provider(LEAD + READ)
    with pytest.raises(ToolLimitReached) as raised:
        read_stream(provider, TextReader("tool-xml", StreamDecoder("openai.chat")), on_event=show)
    assert raised.value is stranger
    assert provider.closed == 1


@pytest.mark.parametrize("error", [UserCancelled("Escape"), KeyboardInterrupt(), ZeroDivisionError()])
def test_whatever_else_breaks_the_reading_off_closes_the_stream_and_passes_on(error: BaseException) -> None:
    def show(event: Event) -> None:
        raise error

    provider = Provider(LEAD + READ)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"))
    with pytest.raises(type(error)):
        read_stream(provider, reader, on_event=show)
    assert provider.closed == 1


def test_the_log_says_where_the_limit_was_reached(caplog: pytest.LogCaptureFixture) -> None:
    """001, Logging: the number of the tool, and what was collected."""
    with caplog.at_level(logging.DEBUG, logger="toolparity"):
        plain(f"{LEAD}{READ}\n{REPLACE}")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert told == [
        ("DEBUG", "Tool limit reached at tool #2, stopping generation"),
        ("DEBUG", "Collected 2 content blocks before tool limit"),
        ("WARNING", "2 tool calls begun, processing 1, dropped replace_in_file: the limit of calls in a text is 1"),
    ]
    assert caplog.records[-1].dropped == [{"id": None, "name": "replace_in_file"}]  # type: ignore[attr-defined]


def test_rate_limits_of_the_answer_are_kept() -> None:
    headers = {"anthropic-ratelimit-requests-remaining": "49", "Retry-After": "2", "content-type": "text/event-stream"}
    response, _ = streamed(f"{READ}\n{REPLACE}", headers=headers)
    assert response.extra["rate_limit"] == {"anthropic-ratelimit-requests-remaining": "49", "retry-after": "2"}


def test_policies_set_the_limit() -> None:
    assert [limit_of(policy) for policy in ("first", "all", "batch")] == [1, None, None]
    assert [limit_of(policy, 3) for policy in ("first", "all", "batch")] == [1, 3, 3]
    assert limit_of("first", 0) == 0


def test_the_conversation_goes_on_after_the_limit() -> None:
    """001, Key Insight: the first tool runs, and its result is sent back as text, without a word of the second."""
    response, _ = streamed(f"{LEAD}{READ}\n\n{REPLACE}")
    turns = answer(response, select(response, "first"), {response.calls[0].id: "The content."})
    history = as_text([User([TextPart("Change it.")]), *turns], "tool-xml")
    assert history.losses == []
    body = write_request(Request("openai.chat", "m", history.messages)).body
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("user", "Change it."),
        ("assistant", LEAD + READ),
        ("user", "<result:read_files>\nThe content.\n</result:read_files>"),
    ]


@pytest.mark.parametrize("text", [f"{LEAD}{READ}\n{REPLACE}", "Words alone."])
def test_native_calls_are_left_alone(text: str) -> None:
    """001, Notes: native calls have no limit here."""
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    whole = {"role": "assistant", "content": text, "tool_calls": [call]}
    body = chat_body(finish="tool_calls") | {"choices": [{"index": 0, "message": whole, "finish_reason": "tool_calls"}]}
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert read_response(response, "tool-xml") is response
    assert response.calls == [ToolCall("c", "f", {}, "{}")]
