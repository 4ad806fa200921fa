"""Correct gateways that are unusual: no law may fail them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from toolparity.normalizer.decoder import StreamDecoder

from . import CHAT, MESSAGES, RESPONSES, add, gateway
from .passing import Asked, Event, Reply, chat, parse

_SCENARIOS = "single-call parallel-three two-rounds text-only breaks-off-after-a-call"
#: The scenarios that each of them must pass, plain and streamed.
_CASES = f"{_SCENARIOS} server-error error-rate-limit overloaded wrong-key emoji-in-arguments both"

for _wire in (CHAT, RESPONSES, MESSAGES):
    add(f"passes-on-{_wire}", "Passes everything on.", "", _CASES, "request", lambda asked: None, _wire)
for _surface in (RESPONSES, MESSAGES, "xai.grpc"):
    sentence = f"Translates Chat Completions for {_surface}."
    add(f"translates-for-{_surface}", sentence, "", _CASES, "request", lambda asked: None, CHAT, _surface)


@gateway("", _CASES, "reply")
def _merges_events(reply: Reply, asked: Asked) -> None:
    """Sends eight events at a time."""
    if reply.streamed:
        events = map(Event.encode, parse(reply.parts))
        reply.parts = (b"".join(some) for some in iter(lambda: [*itertools.islice(events, 8)], []))


@gateway("", _CASES, "reply", MESSAGES)
def _splits_events(reply: Reply, asked: Asked) -> None:
    """Sends a few bytes at a time."""
    if reply.streamed:
        reply.parts = (part[i : i + 7] for part in reply.parts for i in range(0, len(part), 7))


@gateway("", _CASES, "reply", RESPONSES)
def _sends_keep_alives(reply: Reply, asked: Asked) -> None:
    """Sends a comment before each event, and other line ends."""
    if reply.streamed:
        events = map(Event.encode, parse(reply.parts))
        reply.parts = (b": keep-alive\r\n\r\n" + event.replace(b"\n", b"\r\n") for event in events)


@gateway("", _CASES, "reply")
def _writes_headers_differently(reply: Reply, asked: Asked) -> None:
    """Writes the names of header fields in another case, and names the character set."""
    kind = reply.headers.pop("content-type")
    reply.headers = {name.title(): value for name, value in reply.headers.items()} | {
        "CONTENT-TYPE": f"{kind}; charset=utf-8"
    }


@gateway("", _CASES, "events", RESPONSES)
def _ends_every_stream_with_done(events: Iterator[Event]) -> Iterator[Event]:
    """Adds [DONE] to the streams of Responses."""
    for event in events:
        yield event
        if isinstance(event.data, dict) and event.data["type"] in ("response.completed", "response.incomplete"):
            yield Event("", "[DONE]")


@gateway("", _CASES, "events", MESSAGES)
def _sends_pings_and_traces(events: Iterator[Event]) -> Iterator[Event]:
    """Sends a ping before each event, and an event of an unknown type after it."""
    for event in events:
        yield from (Event("ping", {"type": "ping"}), event, Event("trace", {"type": "trace", "index": 0}))


@gateway("", _CASES, "events", RESPONSES)
def _sends_no_names_and_numbers(events: Iterator[Event]) -> Iterator[Event]:
    """Sends Responses without the names of events and without numbers, and with keep-alive events."""
    for event in events:
        if isinstance(event.data, dict):
            event.data.pop("sequence_number", None)
        yield from (Event("", event.data), Event("", {"type": "keepalive"}))


@gateway("", _CASES, "events")
def _repeats_the_finish_with_the_usage(events: Iterator[Event]) -> Iterator[Event]:
    """Sends the finish reason again with the usage, and the role in each chunk, as OpenRouter does."""
    finish: Any = None
    for event in events:
        if isinstance(event.data, dict) and event.data.get("usage") and finish:
            event.data["choices"] = [
                {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": finish}
            ]
        for choice in event.data.get("choices") or () if isinstance(event.data, dict) else ():
            finish = choice.get("finish_reason") or finish
            choice["delta"].setdefault("role", "assistant")
        yield event


@gateway("", _CASES, "reply")
def _writes_every_field_in_small_pieces(reply: Reply, asked: Asked) -> None:
    """Sends ids, times to reconnect and comments, ends lines with CRLF, and sends a few bytes at a time."""
    if reply.streamed:
        events = (b": x\nid: 1\nretry: 10\n" + event.encode() for event in parse(reply.parts))
        lines = (event.replace(b"\n", b"\r\n") for event in events)
        reply.parts = (line[i : i + 5] for line in lines for i in range(0, len(line), 5))


@gateway("", _CASES, "event")
def _names_its_own_model(chunk: Any) -> None:
    """Replaces the id, the time and the model of a response, and adds members."""
    if isinstance(chunk, dict) and "choices" in chunk:
        chunk.update({"id": "gen-1", "created": 1, "model": "fast", "provider": "ours"})


@gateway("", _CASES, "events")
def _divides_fragments(events: Iterator[Event]) -> Iterator[Event]:
    """Sends the text and the arguments of a stream letter by letter."""
    for event in events:
        choices = event.data.get("choices") if isinstance(event.data, dict) else None
        delta = choices[0]["delta"] if choices else {}
        fragments = [(delta, "content")] + [(part["function"], "arguments") for part in delta.get("tool_calls") or ()]
        member, name = next(((one, name) for one, name in fragments if len(one.get(name) or "") > 1), ({}, ""))
        first, *rest = member.get(name) or [""]
        if rest:
            member[name] = first
        yield event
        for letter in rest:
            part, calls = {name: letter}, delta.get("tool_calls")
            sent = {"tool_calls": [{"index": calls[0]["index"], "function": part}]} if calls else part
            yield Event("", event.data | {"choices": [{"index": 0, "delta": sent, "finish_reason": None}]})


@gateway("", _CASES, "reply", MESSAGES)
def _reports_other_statuses(reply: Reply, asked: Asked) -> None:
    """Reports errors of the provider as 502, and errors of the client as 400."""
    if reply.status >= 400 and reply.status != 429:
        reply.status = 502 if reply.status >= 500 else 400


@gateway("", _CASES, "request")
def _adds_members(asked: Asked) -> None:
    """Adds members for its accounts, and states defaults."""
    asked.body |= {"user": "gateway", "metadata": {"team": "a"}, "temperature": 1, "stop": None}


def _ask_for_a_stream(asked: Asked) -> None:
    asked.body |= {"stream": True, "stream_options": {"include_usage": True}}


def _merge(reply: Reply, asked: Asked) -> None:
    if reply.streamed and not asked.body.get("stream"):
        decoder = StreamDecoder(CHAT)
        for part in reply.parts:
            decoder.feed(part)
        reply.become(json.dumps(chat(decoder.finish(), "message")).encode())


_PLAIN = "single-call parallel-three two-rounds text-only plain"
sentence = "Asks the provider for a stream, and merges it for a client without one."
add("merges-streams-for-plain-clients", sentence, "", _PLAIN, "reply", _merge, request=_ask_for_a_stream)
