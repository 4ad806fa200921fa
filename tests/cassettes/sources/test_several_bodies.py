"""A file with several bodies is several exchanges, and unread data is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.normalizer.recorded.rows import files
from tests.support.emit import emit_body, emit_stream, scripted_call
from tests.support.traffic import chat_body, chat_stream, interaction, row, write_rows
from tests.support.wires import SSE_WIRES
from toolparity import Response, StreamDecoder, normalize
from toolparity.audit.exchange import decode
from toolparity.cassettes.scripts import Say
from toolparity.cassettes.sources import Exchange, Problem, read
from toolparity.cli import main
from toolparity.normalizer.body_splitter import responses
from toolparity.normalizer.errors import MalformedBody, SeveralBodies
from toolparity.normalizer.model import Wire

wires = pytest.mark.parametrize("wire", SSE_WIRES)
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def body(wire: str, *ids: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(emit_body(wire, [Say("I look."), *(scripted_call(("{}",), id) for id in ids)]))
    return made | ({"responseId": "-".join(ids)} if "responseId" in made else {})


def calls(found: Exchange) -> tuple[str | None, list[str]]:
    decoded = decode(found)
    assert decoded.response is not None, decoded.findings
    return decoded.wire, [call.id for call in decoded.response.calls]


def events(wire: str, *ids: str, name: str = "r1") -> list[dict[str, Any]]:
    """The events of a stream, with an id of its response."""
    lines = b"".join(emit_stream(wire, [scripted_call(("{}",), id) for id in ids])).splitlines()
    found = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    for event in found:
        for holder in (event, event.get("response"), event.get("message")):
            for member in ("id", "responseId"):
                if isinstance(holder, dict) and member in holder:
                    holder[member] = name
    return found


def lines(docs: list[Any]) -> str:
    return "\n".join(map(json.dumps, docs))


#: How several JSON documents are written in one file.
SHAPES: dict[str, Callable[[list[Any]], str]] = {
    "lines.jsonl": lines,
    "lines.json": lines,
    "lines.txt": lambda docs: lines(docs) + "\n",
    "blank.ndjson": lambda docs: lines(docs).replace("\n", "\r\n\r\n"),
    "array.json": json.dumps,
    "array.jsonl": lambda docs: json.dumps(docs, indent=1),
    "joined.json": lambda docs: "".join(map(json.dumps, docs)),
    "jq.json": lambda docs: "\n".join(json.dumps(doc, indent=2) for doc in docs),
}
#: How the bodies of several answers are written in rows.
ROWS: dict[str, Callable[[list[Any]], str]] = {
    "export.json": lambda docs: json.dumps({"data": docs, "has_more": False}),
    "bodies.jsonl": lambda docs: lines([{"id": n, "body": json.dumps(doc)} for n, doc in enumerate(docs)]),
    "responses.jsonl": lambda docs: lines([{"response": doc} for doc in docs]),
    "texts.jsonl": lambda docs: lines([{"response": json.dumps(doc), "ms": 12} for doc in docs]),
    "http.jsonl": lambda docs: lines([{"response": {"status_code": 200, "body": doc}} for doc in docs]),
    "array-of-rows.json": lambda docs: json.dumps([{"response": doc} for doc in docs]),
    "outputs.txt": lambda docs: lines([{"output": doc} for doc in docs]),
    "mixed": lambda docs: lines([{"response": doc} if n % 2 else {"body": doc} for n, doc in enumerate(docs)]),
}

PARTS = st.lists(st.tuples(st.sampled_from(SSE_WIRES), st.booleans(), st.integers(1, 3)), min_size=1, max_size=5)


@given(PARTS, st.sampled_from(sorted(set(SHAPES) - {"lines.jsonl", "blank.ndjson"})))
def test_every_body_and_every_stream_of_a_file_is_one_exchange(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, bool, int]], shape: str
) -> None:
    docs: list[Any] = []
    expected = []
    for number, (wire, streamed, count) in enumerate(parts):
        ids = [f"call_{number}_{n}" for n in range(count)]
        docs += events(wire, *ids, name=f"r{number}") if streamed else [body(wire, *ids)]
        expected.append((wire, ids))
    path = tmp_path_factory.mktemp("f") / shape
    path.write_text(SHAPES[shape](docs))
    found = list(read(path))
    assert [calls(one) if isinstance(one, Exchange) else str(one) for one in found] == expected


@pytest.mark.parametrize("shape", [*SHAPES, *ROWS])
def test_four_bodies_of_three_wires_are_four_exchanges_with_seven_calls(tmp_path: Path, shape: str) -> None:
    path = tmp_path / shape
    docs = [
        body("openai.chat", "a"),
        body("openai.chat", "b", "c"),
        body("anthropic.messages", "d", "e", "f"),
        body("openai.responses", "g"),
    ]
    path.write_text((SHAPES | ROWS)[shape](docs))
    result = run("audit", path, "--json")
    assert result.exit_code == 0, result.stderr
    figures = json.loads(result.stdout)
    assert figures["exchanges"] == 4
    assert sum(wire["calls"] for wire in figures["wires"].values()) == 7
    lines = [json.loads(line) for line in run("normalize", path).stdout.splitlines()]
    assert [line["source"] for line in lines if line["response"]] == [one["source"] for one in lines]
    assert [len(line["selection"]["kept"]) for line in lines] == [1, 2, 3, 1]


def test_consecutive_streams_are_one_exchange_each(tmp_path: Path) -> None:
    path, wires = tmp_path / "s.sse", [*SSE_WIRES, *SSE_WIRES]
    path.write_bytes(b"".join(b"".join(emit_stream(wire, [scripted_call(("{}",), wire)])) for wire in wires))
    found = [one for one in read(path) if isinstance(one, Exchange)]
    assert [calls(one) for one in found] == [(wire, [wire]) for wire in wires]


def test_rows_of_a_response_may_hold_streams(tmp_path: Path) -> None:
    text = chat_stream("f")
    events = [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n") if "{" in line]
    (tmp_path / "rows.jsonl").write_text(
        lines([{"response": text}, {"response": events}, {"response": body("openai.chat", "a")}])
    )
    assert [len(calls(one)[1]) for one in read(tmp_path / "rows.jsonl") if isinstance(one, Exchange)] == [1, 1, 1]


def test_an_error_belongs_to_an_unfinished_stream_or_is_a_separate_response() -> None:
    cut = [json.dumps(event).encode() for event in events("anthropic.messages", "a")[:-2]]
    error, whole = json.dumps(ERROR).encode(), emit_body("anthropic.messages", [Say("hello")])
    assert responses(b"\n".join([*cut, error])) == [b"\n".join([*cut, error])]
    assert responses(b"\n".join([whole, error, whole])) == [whole, error, whole]
    assert responses(b"\n".join([*cut, error, *cut])) == [b"\n".join([*cut, error]), b"\n".join(cut)]


@pytest.mark.parametrize("name", ["b.json", "b.jsonl", "b.txt"])
@pytest.mark.parametrize("command", ["audit", "normalize"])
def test_unreadable_data_beside_bodies_is_an_error(tmp_path: Path, name: str, command: str) -> None:
    good = chat_body("f")
    for rest in ("garbage", '{"a": 1}', '{"id": "c", "object": "chat.completion", "choi', "[1]"):
        for text in (f"{good}\n{good}\n{rest}\n", f"{good}\n{rest}\n{good}\n"):
            (tmp_path / name).write_text(text)
            result = run(command, tmp_path / name, *(["--json"] if command == "audit" else []))
            assert (result.exit_code, len(result.stderr.splitlines())) == (4, 1), text
            if command == "audit":
                before = text.partition(rest)[0].count(good)
                assert before <= json.loads(result.stdout)["exchanges"] <= 2, text


@pytest.mark.parametrize("stream", [True, False])
def test_several_bodies_in_one_recording_or_cassette_are_an_error(tmp_path: Path, stream: bool) -> None:
    both = chat_body("f") + "\n" + chat_body("g")
    path = write_rows(tmp_path / "r.jsonl", row(both, stream=stream))
    (tmp_path / "c.json").write_text(json.dumps({"interactions": [interaction({"string": both})]}))
    for one in (path, tmp_path / "c.json"):
        for command in ("audit", "normalize"):
            assert run(command, one).exit_code == 4


def renamed(response: bytes) -> bytes:
    """Give a response of Gemini another id."""
    return re.sub(rb'"responseId": ?"[^"]+"', b'"responseId": "r2"', response)


@wires
@pytest.mark.parametrize("with_wire", [True, False])
def test_normalize_rejects_several_bodies(wire: str, with_wire: bool) -> None:
    other = "openai.chat" if wire != "openai.chat" else "anthropic.messages"
    one, two = emit_body(wire, [scripted_call(("{}",), "a")]), emit_body(other, [scripted_call(("{}",), "b")])
    again = renamed(one)
    several: list[Any] = [one + again, one + b"\n" + two, b"[" + one + b"," + again + b"]"]
    several += [[json.loads(one), json.loads(again)], (one + again).decode()]
    events = b"".join(emit_stream(wire, [Say("a")]))
    several.append(events + renamed(events))
    for bodies in several:
        with pytest.raises(SeveralBodies):
            normalize(bodies, wire if with_wire else None)


@wires
def test_a_stream_decoder_rejects_a_second_body_at_any_split(wire: str) -> None:
    second = renamed(emit_body(wire, [scripted_call(("{}",), "b")]))
    both = emit_body(wire, [scripted_call(("{}",), "a")]) + b"\n" + second
    for at in range(0, len(both), 7):
        decoder = StreamDecoder(wire)
        with pytest.raises(SeveralBodies):
            [decoder.feed(piece) for piece in (both[:at], both[at:])] and decoder.finish()


def test_each_recorded_body_is_one_response(recordings: Path) -> None:
    count = 0
    for path in files(recordings, "*"):
        for found in read(path):
            assert not isinstance(found, Problem)
            if found.wire in SSE_WIRES and found.body:
                assert responses(found.body) == [found.body], found.id
                count += 1
    assert count > 9000


#: On `google.gemini`, nothing distinguishes a whole answer from the last event of a stream.
@pytest.mark.parametrize("wire", [wire for wire in SSE_WIRES if wire != "google.gemini"])
def test_an_answer_between_server_sent_events_is_an_exchange(tmp_path: Path, wire: str) -> None:
    """A log that holds streams as they came and answers as JSON: the order does not matter."""
    events = b"".join(emit_stream(wire, [scripted_call(("{}",), "s")])).decode()
    for indent, end in ((None, "\n"), (2, "")):
        answer = json.dumps(body(wire, "a", "b"), indent=indent)
        for text in (f"{events}{answer}{end}", f"{events}{answer}\n\n{events}", f"{events}{answer}\n\n{answer}{end}"):
            (tmp_path / "log.txt").write_text(text)
            found = [calls(one) for one in read(tmp_path / "log.txt") if isinstance(one, Exchange)]
            expected = [(wire, ["s"])] * text.count(events) + [(wire, ["a", "b"])] * text.count(answer)
            assert sorted(map(str, found)) == sorted(map(str, expected))
            with pytest.raises(SeveralBodies):
                normalize(text, wire)


@pytest.mark.parametrize(("name", "encoding"), [("b.json", "utf-16"), ("b.yaml", "utf-16-be"), ("b", "utf-16")])
def test_an_unsupported_encoding_is_named_in_the_error(tmp_path: Path, name: str, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / name).write_text(mark + chat_body("f") + "\n" + chat_body("g"), encoding=encoding)
    result = run("audit", tmp_path / name)
    assert result.exit_code == 4
    assert "UTF-16" in result.stderr
    assert "UTF-8" in result.stderr


def chunk(id: str | None, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": id, "object": "chat.completion.chunk", "choices": [{"delta": delta, "finish_reason": finish}]}


def part(id: str | None, *parts: dict[str, Any], finish: str | None = "STOP", total: int = 0) -> dict[str, Any]:
    figures = {"usageMetadata": {"promptTokenCount": 5, "totalTokenCount": total}} if total else {}
    made = {"content": {"parts": list(parts)}} | ({"finishReason": finish} if finish else {})
    return {"candidates": [made], "responseId": id, **figures}


def tool(name: str) -> dict[str, Any]:
    return {"index": 0, "id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}


def called(name: str) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}}


OTHER_ID = [chunk("chatcmpl-1", {"role": "assistant"}), chunk("gen-1", {"tool_calls": [tool("f")]})]
ENDED = [*OTHER_ID[1:], chunk("gen-1", {}, "tool_calls")]
STARTED: dict[str, Any] = {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}}
BLOCK = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
ON_MESSAGES: list[dict[str, Any]] = [
    STARTED,
    {"type": "content_block_start", "index": 0, "content_block": BLOCK},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
#: The events of a stream, and the names of its calls; None if it contains more than one response.
LIMITS: dict[str, tuple[list[Any], list[str] | None]] = {
    "first id differs, finish twice": ([*OTHER_ID, *[chunk("gen-1", {}, "tool_calls")] * 2], ["f"]),
    "finish of a gateway": ([*ENDED, chunk("gw-1", {"content": ""}, "stop")], ["f"]),
    "content with another id": ([*ENDED, chunk("gen-2", {"tool_calls": [tool("g")]})], None),
    "id of each chunk": ([*OTHER_ID, chunk("a", {}, "tool_calls"), chunk("b", {"role": "assistant"}, "stop")], ["f"]),
    "rounds of code": ([part("r", {"text": "a"}), part("r", RESULT, finish=None), part("r", called("f"))], ["f"]),
    "empty end first": ([part("r", {"text": ""}), part("r", called("f"))], ["f"]),
    "empty end first, no ids": ([part(None, total=9), part(None, called("f"), total=9)], ["f"]),
    "end in each": ([part("r", called("f")), part("r", called("g"))], ["f", "g"]),
    "end in each, no ids": ([part(None, called("f")), part(None, called("g"))], ["f", "g"]),
    "fewer tokens": ([part(None, called("f"), total=9), part(None, called("g"), total=8)], None),
    "other id": ([part("r", called("f")), part("q", called("g"))], None),
    "two starts": ([STARTED, *ON_MESSAGES], ["f"]),
    "event of another wire": ([*ENDED, *ON_MESSAGES], None),
    "keep-alive of another wire": ([*OTHER_ID, {"type": "ping"}, *ENDED[1:]], ["f"]),
    "terminator between": ([*ON_MESSAGES[:-1], "[DONE]", *ON_MESSAGES], None),
    "end twice": ([*ENDED, "[DONE]", "[DONE]"], ["f"]),
    "id in the second": ([part(None, called("f"), total=9), part("r2", called("g"), total=8)], None),
    "two messages": ([*ON_MESSAGES, *ON_MESSAGES], None),
}


@pytest.mark.parametrize("case", LIMITS)
def test_GEM_31_a_stream_a_body_and_a_file_agree_where_a_response_ends(tmp_path: Path, case: str) -> None:
    found, names = LIMITS[case]
    wire: Wire = "openai.chat" if "choices" in found[0] else "google.gemini"
    wire = "anthropic.messages" if "type" in found[0] else wire
    texts = [event if isinstance(event, str) else json.dumps(event) for event in found]
    data = "".join(f"data: {text}\n\n" for text in texts).encode()
    (tmp_path / "s.sse").write_bytes(data)
    if names is None:
        for read_all in (normalize, fed):
            with pytest.raises(SeveralBodies):
                read_all(data, wire)
        assert len(list(read(tmp_path / "s.sse"))) == 2
        return
    for response in (fed(data, wire), normalize(data, wire)):
        assert [call.name for call in response.calls] == names
    (only,) = read(tmp_path / "s.sse")
    assert isinstance(only, Exchange)
    assert [call.name for call in decode(only).response.calls] == names  # type: ignore[union-attr]


def test_an_error_after_events_with_a_finish_reason_is_not_hidden() -> None:
    """Recorded from Vertex AI: a finish reason in each event, then an error without framing."""
    data = b"".join(b"data: " + json.dumps(part(None, {"text": text})).encode() + b"\n\n" for text in ("a", "b"))
    data += json.dumps({"error": {"code": 499, "message": "Cancelled."}}, indent=2).encode()
    for response in (fed(data, "google.gemini"), normalize(data, "google.gemini")):
        assert (response.text, response.error and response.error.message) == ("ab", "Cancelled.")
    assert responses(data) == [data]


def fed(data: bytes, wire: Wire) -> Response:
    decoder = StreamDecoder(wire)
    decoder.feed(data)
    return decoder.finish()


@pytest.mark.parametrize("before", ["[DONE]", '{"error": {"message": "Down.", "code": 503}}'])
def test_a_second_response_after_an_end_without_finish_reason_is_refused_in_any_pieces(before: str) -> None:
    docs = [chunk(id, {"content": text}) for id in ("c1", "c2") for text in "abcdefgh"]
    texts = [json.dumps(doc) for doc in docs]
    pieces = [f"data: {text}\n\n".encode() for text in (*texts[:8], before, *texts[8:])]
    for fed_pieces in (pieces, [b"".join(pieces)]):
        decoder = StreamDecoder("openai.chat")
        with pytest.raises(SeveralBodies):
            [decoder.feed(piece) for piece in fed_pieces]


def test_a_stream_whose_first_line_is_cut_off_is_a_stream_and_a_cut_off_object_is_not() -> None:
    line = b'{"model": "m", "message": {"role": "assistant", "content": "a"}, "done": false}'
    response = normalize(line[:20] + b"\n" + line, "ollama.chat")
    assert (response.complete, response.calls, response.error is not None) == (False, [], True)
    assert response == fed(line[:20] + b"\n" + line, "ollama.chat")
    with pytest.raises(MalformedBody):
        normalize(line[:20], "ollama.chat")
