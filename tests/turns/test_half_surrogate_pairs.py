"""Item 16: half a surrogate pair, wherever it came from, ends neither a request nor a turn on any wire."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import URL

from tests.support.decoding import traffic
from tests.support.emit import emit_body
from tests.support.events import gemini_body, grpc_call, grpc_chunk
from tests.support.events import sse as events
from tests.support.wires import BYTE_WIRES, WIRES
from toolparity import (
    Choice,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    StreamDecoder,
    Text,
    ToolCall,
    normalize,
    select,
)
from toolparity.cassettes.scripts import Say
from toolparity.cli import main
from toolparity.normalizer import json_codec
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import (
    Assistant,
    Encoded,
    JsonPart,
    MediaPart,
    Request,
    System,
    TextPart,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    ToolResults,
    User,
)
from toolparity.normalizer.model import Stop
from toolparity.normalizer.requests import RequestWriter, read_request, write_request
from toolparity.normalizer.wires.registry import spec
from toolparity.turns import Tools, Turn, sse
from toolparity.turns.execution.tool import Tool as RunTool
from toolparity.turns.log import Log

PROVIDERS = {wire: spec(wire).owner for wire in WIRES}
HALVES = ("\ud83d", "\ude00", "\udfff\ud800")


def sent(encoded: Encoded) -> Any:
    """The body as its provider reads it, through the encoders that the SDKs use."""
    if encoded.wire == "xai.grpc":
        return type(encoded.body).FromString(encoded.body.SerializeToString())
    return json.loads(json.dumps(encoded.body, ensure_ascii=False, allow_nan=False).encode())


def _request(wire: str, provider: str | None, words: dict[str, str]) -> Request:
    """A request that says each of these words at the position that it is named after."""
    given = words.__getitem__
    arguments = {given("argument name"): [given("argument")], "n": 1}
    spelled = json.dumps(arguments, ensure_ascii=False)
    calls = [
        ToolCall(given("id"), given("name"), arguments, spelled),
        ToolCall("b", "broken", None, "{" + given("broken arguments"), "invalid"),
        ToolCall("c", "free", None, given("free text"), "complete", "custom"),
        ToolCall("d", "escaped", {"x": given("argument")}, json_codec.text({"x": given("argument")})),
    ]
    blocks = [
        Reasoning(given("reasoning"), "sig"),
        ServerToolCall("srvtoolu_1", "web_search", "web_search", json_codec.text({"query": given("query")})),
        ServerToolResult("srvtoolu_1", "web_search", raw={"type": "web_search_tool_result", "x": given("server")}),
        Text(given("text"), [{"title": given("annotation")}], {"more": given("extra")}),
        Refusal(given("refusal")),
        *calls,
    ]
    response = Response(wire, provider, "r", "m", [Choice(0, blocks, Stop("tool_calls"))])
    results = [
        ToolResult(given("id"), [TextPart(given("result"))], name=given("name"), extra={"more": given("extra")}),
        ToolResult("b", [JsonPart({given("result"): given("result")})], is_error=True),
        ToolResult("c", [TextPart(given("result")), TextPart("b")], kind="custom", plain=False),
        ToolResult("d", [MediaPart("image", url=f"https://x.test/{given('address')}", name=given("file name"))]),
    ]
    return Request(
        wire,
        given("model"),
        [
            System([TextPart(given("instructions"))]),
            User([TextPart(given("user"))]),
            User([TextPart("a", {"title": given("extra")}), TextPart(given("user"))], plain=False),
            Assistant(response),
            ToolResults(results),
            Assistant(Response(wire, provider, "q", "m", [Choice(0, [Text(given("text"))], Stop("end_turn"))])),
            User([TextPart("Go on.")]),
        ],
        [
            ToolDefinition(given("name"), given("description"), {"type": "object", "title": given("schema")}),
            ToolDefinition("broken"),
            ToolDefinition("free", kind="custom"),
        ],
        ToolChoice("named", given("name")),
        provider=provider,
        params={"user": given("parameter"), "stop": [given("parameter")], "metadata": {given("parameter"): "x"}},
    )


POSITIONS = (
    *("id", "name", "argument name", "argument", "broken arguments", "free text", "reasoning", "query", "server"),
    *("text", "annotation", "extra", "refusal", "result", "address", "file name", "model", "instructions", "user"),
    *("description", "schema", "parameter"),
)
ROUTES = st.tuples(st.sampled_from(WIRES), st.sampled_from(WIRES), st.booleans())
#: Texts that hold half a pair somewhere, and others that hold none.
TEXTS = st.one_of(
    st.builds("{}{}{}".format, st.text(max_size=3), st.sampled_from(HALVES), st.text(max_size=3)),
    st.text(min_size=1, max_size=5, alphabet=st.characters(exclude_categories=("Cs", "Cc"))),
)


@given(route=ROUTES, words=st.fixed_dictionaries(dict.fromkeys(POSITIONS, TEXTS)))
def test_item_16_every_request_can_be_sent_with_any_text(route: tuple[str, str, bool], words: dict[str, str]) -> None:
    source, target, known = route
    request = _request(source, PROVIDERS[source] if known else None, words)
    before = copy.deepcopy(request)
    provider = PROVIDERS[target] if known else None
    encoded = write_request(request, target, provider=provider)
    sent(encoded)
    assert request == before
    writer = RequestWriter(target, provider=provider)
    for end in (2, 5, len(request.messages)):
        grown = writer.write(msgspec.structs.replace(request, messages=request.messages[:end]))
        sent(grown)
    assert grown.body == encoded.body
    assert sorted(map(str, grown.losses)) == sorted(map(str, encoded.losses))


@pytest.mark.thorough(keep=44)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("target", WIRES)
def test_item_16_replaced_text_in_a_request_is_reported_as_a_loss(position: str, target: str) -> None:
    """The words of one position arrive unchanged, or are replaced with the loss `corrupt-text`, or are lost."""
    plain = dict.fromkeys(POSITIONS, "w")
    request = _request(target, PROVIDERS[target], plain | {position: "w\ud83dw"})
    encoded = write_request(request, target, provider=PROVIDERS[target])
    codes = {loss.code for loss in encoded.losses}
    said = str(sent(encoded)) if target == "xai.grpc" else json.dumps(sent(encoded), ensure_ascii=False)
    # Protobuf's text format spells U+FFFD as the octal escapes of its UTF-8.
    replaced = "w\ufffdw" in said or "w\\357\\277\\275w" in said
    if target == "xai.grpc":  # a turn is made whole before it is known which of its members are sent
        assert not replaced or "corrupt-text" in codes
    else:
        assert replaced == ("corrupt-text" in codes)


@pytest.mark.parametrize("target", WIRES)
def test_item_16_ids_with_lone_surrogates_stay_distinct(target: str) -> None:
    ids = [f"call_{half}" for half in HALVES]
    calls = [ToolCall(id, "f", {}, "{}") for id in ids]
    said = Assistant(Response(target, None, "r", "m", [Choice(0, [*calls], Stop("tool_calls"))]))
    answers = ToolResults([ToolResult(id, [TextPart("ok")]) for id in ids])
    encoded = write_request(Request(target, "m", [User([TextPart("Go.")]), said, answers], [ToolDefinition("f")]))
    sent(encoded)
    back = read_request(encoded.body, target)
    (turn,) = (turn for turn in back.messages if isinstance(turn, Assistant))
    (results,) = (turn for turn in back.messages if isinstance(turn, ToolResults))
    found = [call.id for call in turn.response.calls]
    assert [encoded.ids[id] for id in found] == ids
    assert [result.call_id for result in results.results] == found


@pytest.mark.parametrize("target", ["openai.chat", "openai.responses", "xai.grpc"])
def test_item_16_arguments_keep_their_value(target: str) -> None:
    """In the JSON text of arguments the half is escaped: that is the same value, so nothing is lost."""
    given = {"a": "x\ud83dy"}
    call = ToolCall("call_1", "f", given, json.dumps(given, ensure_ascii=False))
    said = Assistant(Response(target, None, "r", "m", [Choice(0, [call], Stop("tool_calls"))]))
    answers = ToolResults([ToolResult("call_1", [TextPart("ok")])])
    encoded = write_request(Request(target, "m", [User([TextPart("Go.")]), said, answers], [ToolDefinition("f")]))
    sent(encoded)
    assert encoded.losses == []
    back = read_request(encoded.body, target)
    (turn,) = (turn for turn in back.messages if isinstance(turn, Assistant))
    assert [call.arguments for call in turn.response.calls] == [given]


# A turn


class Strict:
    """A provider that encodes what it is asked as its SDK does, and plays an answer with a call, then one in words."""

    def __init__(self, wire: str, name: str, arguments: str) -> None:
        self.wire = wire
        self.name = PROVIDERS[wire]
        self.model = "m"
        self.bodies: list[Any] = []
        self._call = ("call_1", name, arguments)

    async def ask(self, body: Any) -> AsyncIterator[Any]:
        self.bodies.append(sent(Encoded(self.wire, body)))
        if len(self.bodies) == 1:
            for piece in _calling(self.wire, self._call):
                yield piece
        else:
            yield _saying(self.wire)


def _calling(wire: str, call: tuple[str, str, str]) -> list[bytes]:
    if wire == "xai.grpc":
        return [grpc_chunk(grpc_call(*call), role=2), grpc_chunk(finish=4)]
    return traffic(wire, True, [call], 5)


def _ollama(message: dict[str, Any]) -> bytes:
    body = {"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": message, "done": True, "done_reason": "stop"}
    return json.dumps(body).encode() + b"\n"


def _saying(wire: str) -> Any:
    if wire == "ollama.chat":
        return _ollama({"role": "assistant", "content": "Done \ud83d."})
    if wire == "openai.chat":
        choice = {"index": 0, "delta": {"content": "Done \ud83d."}, "finish_reason": "stop"}
        return events({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}, done=True)
    if wire == "openai.responses":
        part = {"type": "output_text", "text": "Done \ud83d.", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        body = {"id": "r", "object": "response", "model": "m", "status": "completed", "output": [item]}
        return events({"type": "response.completed", "response": body})
    if wire == "anthropic.messages":
        content = [{"type": "text", "text": "Done \ud83d."}]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
        return json.dumps(
            {**body, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        ).encode()
    if wire == "google.gemini":
        return gemini_body(json.dumps({"text": "Done \ud83d."}))
    if wire != "xai.grpc":
        return emit_body(wire, [Say("Done \ud83d.")], "end_turn")
    return grpc_chunk(content="Done.", role=2, finish=3)


#: What a tool returns: half a pair as text, inside JSON, as a key, in an error.
RETURNS: dict[str, Any] = {
    "text": "half \ud83d of it",
    "json": {"k\ude00": ["half \ud83d"]},
    "parts": [TextPart("one"), TextPart("half \ud83d")],
    "error": ValueError("half \ud83d"),
}


@pytest.mark.thorough(keep=2, per="{what}")
@pytest.mark.parametrize("what", RETURNS)
@pytest.mark.parametrize("wire", WIRES)
def test_item_16_a_turn_continues_after_a_lone_surrogate(
    wire: str, what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the arguments, in the result, in the answer: the turn ends naturally, is logged, and is shown as events."""
    caplog.set_level(logging.CRITICAL, logger="toolparity")  # pytest-xdist cannot carry a captured half

    def look(**given: Any) -> Any:
        assert given == {"what": "half \ud83d"}
        returned = RETURNS[what]
        if isinstance(returned, Exception):
            raise returned
        return returned

    async def run() -> None:
        # Escapes are what JSON bodies hold; on xai.grpc the text itself is UTF-8, so only its JSON can hold one.
        provider = Strict(wire, "look", '{"what": "half \\ud83d"}')
        tools = Tools([RunTool(name="look", function=look)])
        with Log(URL.create("sqlite", database=str(tmp_path / "turns.db"))) as log:
            async with log.record() as recorder:
                turn = Turn(provider, tools, observers=[recorder])
                outcome = await turn.run("Look at half \ud83d of it.")
            shown = [piece async for piece in sse.events(log, turn.state.id)]
        if what != "error":
            assert outcome.text.startswith("Done")
            assert len(provider.bodies) == 2
        for piece in shown:
            piece.decode()

    asyncio.run(run())


@pytest.mark.parametrize("wire", WIRES)
def test_item_16_a_call_with_a_lone_surrogate_can_be_answered_on_every_wire(wire: str) -> None:
    decoder = StreamDecoder(wire)
    for piece in _calling(wire, ("call_1", "look", '{"what": "half \\ud83d"}')):
        decoder.feed(piece)
    response = decoder.finish()
    assert response.calls[0].arguments == {"what": "half \ud83d"}
    turns = answer(response, select(response), {response.calls[0].id: "half \ud83d"})
    for target in WIRES:
        sent(write_request(Request(wire, "m", [User([TextPart("Go.")]), *turns], [ToolDefinition("look")]), target))


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_item_16_the_output_of_normalize_is_utf_8(wire: str, tmp_path: Path) -> None:
    path = tmp_path / "body.sse"
    path.write_bytes(b"".join(_calling(wire, ("call_\\ud83d", "look", '{"what": "half \\ud83d"}'))))

    result = CliRunner().invoke(main, ["normalize", str(path)])
    assert result.exit_code == 0, result.output
    (line,) = result.stdout_bytes.splitlines()
    (call,) = normalize(path.read_bytes(), wire).calls
    blocks = json_codec.decode(line)["response"]["choices"][0]["blocks"]
    assert [block["arguments"] for block in blocks if block["type"] == "tool_call"] == [call.arguments]
