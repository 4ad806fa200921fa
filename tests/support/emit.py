"""Traffic for tests: what a model answers, as the emulated provider of a wire sends it, and damage to that.

    parts of an answer -> a `Play` with the wanted fragments -> the emulated provider -> a body, or frames
    frames -> `damage`: payloads are dropped, changed or repeated -> frames

A frame is one event of a stream as it is sent: a server-sent event, a JSON line, a message of an AWS event stream, or a
message of xai.grpc. Its payload is JSON, the text of a server-sent event that is not JSON, or the message. A payload of
an AWS event stream has the type of its event in the member `:event-type`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace
from xai_sdk.proto import chat_pb2, sample_pb2

from tests.support import eventstream
from tests.support.wires import EVENT_STREAM_WIRES, LINE_WIRES
from toolparity.cassettes.emulated.encoding import encoded
from toolparity.cassettes.emulated.provider import scripted
from toolparity.cassettes.emulated.script_player import Play
from toolparity.cassettes.recorder.script_driver import opened
from toolparity.cassettes.scripts import Hit, Part, Round, Say, ScriptedCall, ServerCall, Think
from toolparity.cassettes.surfaces import surface
from toolparity.normalizer.wires.registry import spec

Edit = Callable[[Any], Any]
EVENT_TYPE = ":event-type"
#: The wires that name their server-sent events, and the member of the payload that repeats the name.
NAMES = dict.fromkeys(("openai.responses", "anthropic.messages", "cohere.chat"), "type")
NAMES["google.interactions"] = "event_type"
#: Stop reasons that a script has an ending for. With any other, the emulated provider ends the answer by itself.
_ENDINGS: dict[str, Any] = {"max_tokens": "length", "content_filter": "content_filter", "pause": "pause"}
#: The providers' words for the stop reasons of an answer, and the members that hold them.
STOP_WORDS: dict[str, dict[str, str]] = {
    wire: dict(zip(("end_turn", "tool_calls", "max_tokens", "content_filter"), words, strict=False))
    for wire, words in {
        "openai.chat": ("stop", "tool_calls", "length", "content_filter"),
        "openai.responses": ("completed", "completed", "max_output_tokens", "content_filter"),
        "anthropic.messages": ("end_turn", "tool_use", "max_tokens"),
        "xai.grpc": ("REASON_STOP", "REASON_TOOL_CALLS", "REASON_MAX_LEN"),
        "google.gemini": ("STOP", "STOP", "MAX_TOKENS", "SAFETY"),
        "cohere.chat": ("COMPLETE", "TOOL_CALL", "MAX_TOKENS", "ERROR_TOXIC"),
        "bedrock.converse": ("end_turn", "tool_use", "max_tokens", "content_filtered"),
        "ollama.chat": ("stop", "stop", "length"),
        "google.interactions": ("completed", "requires_action", "incomplete"),
    }.items()
}
STOP_WORDS["anthropic.messages"] |= {"refusal": "refusal", "pause": "pause_turn"}
_STOP_MEMBERS = ("finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason")
#: The events that end a block, and the member with the block's index.
_ENDS = dict.fromkeys(("content_block_stop", "step.stop", "tool-call-end"), "index")
_ENDS |= dict.fromkeys(("response.function_call_arguments.done", "response.output_item.done"), "output_index")
_ENDS["contentBlockStop"] = "contentBlockIndex"


class _Text(Say, frozen=True, tag="text"):
    pieces: Sequence[str] = ()


class _Reasoning(Think, frozen=True, tag="reasoning"):
    pieces: Sequence[str] = ()


class _Call(ScriptedCall, frozen=True, tag="call"):
    pieces: Sequence[str] = ()
    open: bool = False


def say(*pieces: str) -> Say:
    """Return a text that is streamed in these fragments."""
    return _Text("".join(pieces), pieces=pieces)


def think(*pieces: str) -> Think:
    """Return reasoning that is streamed in these fragments."""
    return _Reasoning("".join(pieces), pieces=pieces)


def scripted_call(
    pieces: str | Sequence[str], id: str | None = "call_a", name: str = "lookup", *, closed: bool = True
) -> ScriptedCall:
    """Return a call whose argument text is streamed in these fragments. ``closed``: the stream ends it."""
    fragments = [pieces] if isinstance(pieces, str) else pieces
    return _Call(name, arguments_text="".join(fragments), id=id, pieces=fragments, open=not closed)


LOOKUP = scripted_call(('{"city":', '"Turin"}'))


_HITS = [Hit("https://example.test/turin", "Turin", "Sunny, 21 degrees.")]
#: One answer of each kind, as seeds for tests that damage them.
ANSWERS: dict[str, list[Part]] = {
    "text": [say("Grüße, ", "世界 🎉")],
    "three calls": [
        think("Two cities\nand a note."),
        say("Let me ", "see."),
        scripted_call('{"city": "Oslo"}'),
        scripted_call(('{"city":"Rom",', '"days":[1,2,{"x":"}{"}]}'), "call_b", "weather"),
        scripted_call("{}", "call_c", "note"),
    ],
    "a call cut by the limit": [LOOKUP, scripted_call(('{"file": ', '"cu"}'), "call_b", "write", closed=False)],
    "a search": [ServerCall("web_search", {"query": "Turin"}, _HITS), say("It is sunny.")],
}


class Emission(Play):
    """The play of one answer, in the fragments that its parts want; other texts are sent in one."""

    def pieces(self, text: str) -> list[str]:
        for part in self.round.parts:
            if isinstance(part, _Text | _Reasoning | _Call) and part.text == text and part.pieces:
                return list(part.pieces)
        return super().pieces(text)


def emission(wire: str, parts: Sequence[Part], *, streamed: bool, stop: str | None = None) -> Emission:
    """Return the play of an answer, without the server calls that the provider of the wire has not.

    On openai.chat, xAI is the provider of an answer with reasoning, which OpenAI hides.
    """
    thinks = any(isinstance(part, Think) for part in parts)
    if wire == "google.gemini":  # arguments are objects: what is not one is left out
        parts = [replace(part, arguments_text="{}") if _is_cut(part) else part for part in parts]
    name = "xai.chat" if wire == "openai.chat" and thinks else wire
    able = surface(name).able
    parts = [part for part in parts if not isinstance(part, ServerCall) or f"server:{part.tool}" in able]
    hosted = tuple({part.tool: None for part in parts if isinstance(part, ServerCall)})
    ending = _ENDINGS.get(stop or "")
    round = Round(parts, ending=ending if f"ending:{ending}" in able else None, pieces="whole")
    return Emission(*_opened(name, streamed, thinks, hosted))._replace(script=scripted(round), round=round)


def _is_cut(part: Part) -> bool:
    return isinstance(part, _Call) and part.open and not part.text.endswith("}")


@cache
def _opened(name: str, streamed: bool, thinks: bool, hosted: tuple[str, ...]) -> Play:
    """Return an answer to a request for the mode, the reasoning and the provider's tools that are wanted."""
    script = scripted([Think("Hm."), Say("Hi.")] if thinks else [Say("Hi.")], hosted=list(hosted))
    return opened(script, surface(name), stream=streamed)


def emit_body(wire: str, parts: Sequence[Part], stop: str = "") -> bytes:
    """Return an answer as a body. ``stop``: a stop reason in the words of the canonical form, if another is wanted."""
    played = emission(wire, parts, streamed=False, stop=stop)
    answer = played.surface.emulation.answer(played)
    if wire == "cohere.chat":
        answer["message"].pop("tool_plan", None)  # a text of the provider's own
    return encoded(played.surface, _with_stop(wire, answer, stop))


def emit_stream(wire: str, parts: Sequence[Part], stop: str | None = "") -> list[bytes]:
    """Return an answer as the frames of a stream. ``stop``: as for `emit_body`; None: it has no end."""
    played = emission(wire, parts, streamed=True, stop=stop)
    sent = [frame for frame in played.sent(stream=True) if b"tool-plan-delta" not in frame]
    for number, part in enumerate(parts):
        if isinstance(part, _Call) and part.open:
            before = sum(isinstance(each, ScriptedCall) for each in parts[:number])
            sent = _without_end(wire, sent, before if wire == "cohere.chat" else number, part.id)
    if stop is None:
        return _without_terminal(wire, sent)
    return damage(wire, sent, lambda payload: _with_stop(wire, payload, stop)) if stop else sent


def damage(wire: str, frames: Iterable[bytes], edit: Edit) -> list[bytes]:
    """Return the frames with their payloads edited.

    ``edit`` gets each payload that is JSON or a message, and returns it, another one, several in a list, or None to
    drop its frame. It may change the payload that it gets.
    """
    damaged = []
    for frame in frames:
        before = payload(wire, frame)
        if isinstance(before, str):
            damaged.append(frame)
            continue
        after = edit(payload(wire, frame))
        many = after if isinstance(after, list) else [] if after is None else [after]
        damaged += [frame if each == before else framed(wire, each) for each in many]
    return damaged


def edited(wire: str, body: bytes, edit: Edit) -> bytes:
    """Return a body whose JSON or message was edited, see `damage`."""
    if spec(wire).framing == "messages":
        message = chat_pb2.GetChatCompletionResponse.FromString(body)
        return bytes(edit(message).SerializeToString(deterministic=True))
    return _json(edit(json.loads(body)))


def payload(wire: str, frame: bytes) -> Any:
    """Return the payload of a frame."""
    if spec(wire).framing == "messages":
        return chat_pb2.GetChatCompletionChunk.FromString(frame)
    if wire in EVENT_STREAM_WIRES:
        ((headers, data),) = eventstream.messages(frame)
        return {EVENT_TYPE: headers[EVENT_TYPE], **json.loads(data)}
    text = frame.decode("utf-8", "surrogatepass")
    if wire not in LINE_WIRES:
        text = "\n".join(line[5:].lstrip(" ") for line in text.splitlines() if line.startswith("data:"))
    try:
        return json.loads(text)
    except ValueError:
        return text


def framed(wire: str, payload: Any) -> bytes:
    """Return the frame of a payload, with its characters escaped where UTF-8 cannot hold one."""
    if not isinstance(payload, dict | str):
        return bytes(payload.SerializeToString(deterministic=True))
    if wire in EVENT_STREAM_WIRES and isinstance(payload, dict):
        return eventstream.event(payload[EVENT_TYPE], {key: payload[key] for key in payload if key != EVENT_TYPE})
    data = payload.encode() if isinstance(payload, str) else _json(payload)
    if wire in LINE_WIRES:
        return data + b"\n"
    name = payload.get(NAMES.get(wire, "")) if isinstance(payload, dict) else None
    return (f"event: {name}\n".encode() if isinstance(name, str) else b"") + b"data: " + data + b"\n\n"


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _with_stop(wire: str, payload: Any, stop: str | None) -> Any:
    """Return a body or a payload with another stop reason where it has one."""
    word = STOP_WORDS.get(wire, {}).get(stop or "")
    if word is None:
        return payload
    if wire == "xai.grpc":
        for output in payload.outputs:
            output.finish_reason = output.finish_reason and sample_pb2.FinishReason.Value(word)
        return payload
    for holder in (payload, payload.get("delta"), payload.get("interaction"), *payload.get("choices", ())):
        for member in _STOP_MEMBERS if wire != "google.interactions" else ("status",):
            if isinstance(holder, dict) and holder.get(member) not in (None, "in_progress"):
                holder[member] = word
    return payload


def _without_end(wire: str, frames: list[bytes], index: int, id: str | None) -> list[bytes]:
    def edit(payload: Any) -> Any:
        if wire == "google.gemini":
            for part in payload["candidates"][0]["content"]["parts"]:
                call = part.get("functionCall", {})
                if call.get("id") == id:
                    call["willContinue"] = True
                    call.pop("args" if call.get("args") == {} else "", None)
            return payload
        kind = payload.get(NAMES.get(wire, EVENT_TYPE))
        return None if kind in _ENDS and payload.get(_ENDS[kind]) == index else payload

    return frames if wire in ("openai.chat", "ollama.chat", "xai.grpc") else damage(wire, frames, edit)


def _without_terminal(wire: str, frames: list[bytes]) -> list[bytes]:
    """Return the frames before the first one that has a stop reason, or that ends the response."""
    for number, frame in enumerate(frames):
        found = payload(wire, frame)
        if wire == "xai.grpc":
            ended = any(output.finish_reason for output in found.outputs)
        else:
            holders = (found, found.get("delta"), *found.get("choices", ()), *found.get("candidates", ()))
            ended = found.get(NAMES.get(wire, "")) in ("response.completed", "interaction.completed") or any(
                holder.get(member) for holder in holders if isinstance(holder, dict) for member in _STOP_MEMBERS
            )
        if ended:
            return frames[:number]
    return frames
