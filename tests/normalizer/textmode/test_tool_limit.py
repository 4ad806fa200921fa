"""The tool limit: where one call too many begins in a text, the stream is closed and the response is complete.

`test_closing` has the same over sockets.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Any

import pytest

from tests.normalizer.failures.test_textmode import read
from tests.normalizer.textmode.texts import scanned
from tests.support.decoding import codes, shapes
from tests.support.events import chat_body, chunk, sse
from toolparity import Response, StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Request, TextPart, User
from toolparity.normalizer.errors import StreamingError, ToolLimitReached, UserCancelled
from toolparity.normalizer.events import BlockDelta, BlockStart, BlockStop, Event
from toolparity.normalizer.model import Policy, Stop
from toolparity.normalizer.requests import write_request
from toolparity.normalizer.textmode import TextReader, as_text, limit_of, read_response, read_stream
from toolparity.normalizer.textmode.scan_events import CallOverLimit, CallParsed

READ = "<tool:read_files>\n<param:path>file.txt</param:path>\n</tool:read_files>"
PARAMETERS = "<param:path>other.txt</param:path>\n<param:content>\nnew\n</param:content>"
REPLACE = f"<tool:replace_in_file>\n{PARAMETERS}\n</tool:replace_in_file>"
LEAD = "Let me look.\n\n"
FIRST = [("read_files", {"path": "file.txt"}, "complete")]
OPENING = "<tool:replace_in_file>"


plain = partial(read, dialect="tool-xml", limit=1)


class Provider:
    """A mocked provider: chunks of Chat Completions with one character of the text each; it counts them."""

    def __init__(self, text: str) -> None:
        self.taken = 0
        self.closed = 0
        self._text = text

    def __iter__(self) -> Any:
        for char in self._text:
            self.taken += 1
            yield sse(chunk(content=char))
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
        yield sse(chunk(finish="stop"), usage, done=True)

    def close(self) -> None:
        self.closed += 1


def streamed(text: str, shown: list[Event] | None = None, **options: Any) -> tuple[Response, Provider]:
    provider = Provider(text)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"), **options)
    return read_stream(provider, reader, on_event=None if shown is None else shown.append), provider


def test_a_text_with_one_tool_is_read_to_its_end() -> None:
    """001, 5. Testing Strategy."""
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


def test_the_stream_is_closed_at_the_opening_tag_of_the_second_tool() -> None:
    """001, Issue, Current Behavior, Desired Behavior, ✅ Option 3, 2. Modify XML Streaming Processor."""
    text = f"{LEAD}{READ}\n\n{REPLACE}"
    steps, scanner = scanned("tool-xml", [text], limit=1)
    assert steps[-1] == CallOverLimit(2, "replace_in_file")
    assert scanner.over
    assert sum(isinstance(step, CallParsed) for step in steps) == 1
    shown: list[Event] = []
    response, provider = streamed(text, shown)
    assert shapes(response) == FIRST
    assert (provider.closed, provider.taken) == (1, text.index(OPENING) + len(OPENING))
    assert response.complete
    assert response.choices[0].stop == Stop("tool_calls", None)
    assert codes(response) == ["arguments-respelled", "id-missing", "tool-limit", "dropped-call", "call-in-text"]
    (call,) = [event for event in shown if isinstance(event, BlockStart) and event.block == "tool_call"]
    assert BlockStop(0, call.key) in shown
    arguments = "".join(event.text for event in shown if isinstance(event, BlockDelta) and event.key == call.key)
    assert json.loads(arguments) == {"path": "file.txt"}
    whole = plain(text)
    assert (shapes(whole), whole.text) == (FIRST, LEAD)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, None])
def test_the_limit_is_any_number_or_none(limit: int | None) -> None:
    """001, Benefits."""
    text = f"{READ}\n{REPLACE}\nDone."
    response, provider = streamed(text, limit=limit)
    assert len(response.calls) == min(2, 2 if limit is None else limit)
    assert (provider.closed == 1) == (limit is not None and limit < 2)
    assert response == streamed(text, limit=limit)[0]
    assert select(response, "all", limit).dropped == []
    policies: tuple[Policy, ...] = ("first", "all", "batch")
    assert [limit_of(policy, limit) for policy in policies] == [1 if limit is None else min(limit, 1), limit, limit]


def test_an_incomplete_opening_tag_is_text() -> None:
    """001, XML Processor State Tracking."""
    for cut in range(1, len(OPENING)):
        response, provider = streamed(f"{READ}\n\n{OPENING[:cut]}")
        assert (shapes(response), provider.closed) == (FIRST, 0)
        assert response.text.strip() == OPENING[:cut]


def test_an_incomplete_second_tool_is_discarded() -> None:
    for end in ("", "\n", "\n<par", "\n<param:path>", "\n<param:path>file", "\n<param:path>f</param:path>"):
        response, provider = streamed(f"{READ}\n\n{OPENING}{end}")
        assert response.choices[0].blocks == [response.calls[0]]
        assert (shapes(response), provider.closed) == (FIRST, 1)
        dropped = [finding.message for finding in response.findings if finding.code == "dropped-call"]
        assert dropped == ["replace_in_file (#2): the limit is 1"]

    # a response whose stream ended inside the second tool is complete
    decoder = StreamDecoder("openai.chat")
    decoder.feed(sse(chunk(content=f"{READ}\n{OPENING}\n<par")))
    broken = decoder.finish()
    assert not broken.complete
    response = read_response(broken, "tool-xml")
    assert response.complete
    assert shapes(response) == FIRST


def test_parameters_of_one_tool_do_not_appear_in_the_next() -> None:
    response, _ = streamed(f"{READ}\n{REPLACE.replace('replace_in_file', 'read_files')}")
    assert shapes(response) == FIRST
    both = plain(f"{REPLACE}\n{READ}", limit=None)
    assert shapes(both) == [("replace_in_file", {"path": "other.txt", "content": "new"}, "complete"), *FIRST]


def test_the_limit_and_the_user_raise_different_errors_of_one_family() -> None:
    """001, Error Flow Comparison, 1. Create New Error Type, Error Message Format."""
    assert issubclass(ToolLimitReached, StreamingError)
    assert issubclass(UserCancelled, StreamingError)
    reader = TextReader("tool-xml", StreamDecoder("openai.chat"))
    with pytest.raises(ToolLimitReached) as raised:
        reader.feed(sse(chunk(content=f"{READ}\n{OPENING}")))
    assert (raised.value.number, raised.value.name) == (2, "replace_in_file")
    assert [event.name for event in raised.value.events if isinstance(event, BlockStart)] == ["read_files"]
    assert shapes(reader.finish()) == FIRST


def test_the_log_states_where_the_limit_was_reached(caplog: pytest.LogCaptureFixture) -> None:
    """001, Logging."""
    with caplog.at_level(logging.DEBUG, logger="toolparity"):
        plain(f"{LEAD}{READ}\n{REPLACE}")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "Tool limit reached at tool #2, stopping generation"),
        ("DEBUG", "Collected 2 content blocks before tool limit"),
        ("WARNING", "2 tool calls begun, processing 1, dropped replace_in_file: the limit of calls in a text is 1"),
    ]
    assert caplog.records[-1].dropped == [{"id": None, "name": "replace_in_file"}]  # type: ignore[attr-defined]


def test_rate_limits_of_the_response_are_kept() -> None:
    """001, Response Preservation."""
    headers = {"anthropic-ratelimit-requests-remaining": "49", "Retry-After": "2", "content-type": "text/event-stream"}
    response, _ = streamed(f"{READ}\n{REPLACE}", headers=headers)
    assert response.extra["rate_limit"] == {"anthropic-ratelimit-requests-remaining": "49", "retry-after": "2"}


def test_the_conversation_continues_without_the_second_tool() -> None:
    """001, Key Insight."""
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


def test_native_calls_have_no_limit() -> None:
    """001, Notes."""
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    whole = {"role": "assistant", "content": f"{LEAD}{READ}\n{REPLACE}", "tool_calls": [call]}
    body = chat_body(finish="tool_calls") | {"choices": [{"index": 0, "message": whole, "finish_reason": "tool_calls"}]}
    response = normalize(json.dumps(body).encode(), "openai.chat")
    assert read_response(response, "tool-xml") is response
    assert response.calls == [ToolCall("c", "f", {}, "{}")]
