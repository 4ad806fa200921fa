"""Gateways with one fault each."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from . import CHAT, MESSAGES, RESPONSES, add, gateway
from .passing import Asked, Event, Reply

_Events = Iterator[Event]


def _deltas(chunk: Any) -> Iterator[Any]:
    """Yield the deltas of a chunk of Chat Completions."""
    for choice in chunk.get("choices") or () if isinstance(chunk, dict) else ():
        yield choice["delta"]


def _parts(chunk: Any) -> Iterator[Any]:
    """Yield the parts of calls in a chunk."""
    for delta in _deltas(chunk):
        yield from delta.get("tool_calls") or ()


def _choices(body: Any) -> Iterator[Any]:
    """Yield the choices of a plain reply or of a chunk."""
    yield from body.get("choices") or () if isinstance(body, dict) else ()


def _message_calls(body: Any) -> Iterator[Any]:
    for choice in _choices(body):
        yield from choice["message"].get("tool_calls") or ()


# Streams of Chat Completions


@gateway("conservation", "parallel-three stream", "event")
def _calls_share_index_0(chunk: Any) -> None:
    """Sends every streamed call under index 0."""
    for part in _parts(chunk):
        part["index"] = 0


@gateway("conservation", "parallel-three stream", "event")
def _streamed_calls_without_index(chunk: Any) -> None:
    """Leaves out the index of streamed calls."""
    for part in _parts(chunk):
        del part["index"]


@gateway("conservation", "parallel-three stream", "events")
def _ids_in_every_fragment(events: _Events) -> _Events:
    """Repeats the id of a call in each of its fragments."""
    ids: dict[int, str] = {}
    for event in events:
        for part in _parts(event.data):
            part["id"] = ids.setdefault(part["index"], part.get("id", ""))
        yield event


@gateway("conservation", "parallel-three stream", "events")
def _names_in_every_fragment(events: _Events) -> _Events:
    """Repeats the name of a call in each of its fragments."""
    names: dict[int, str] = {}
    for event in events:
        for part in _parts(event.data):
            part["function"]["name"] = names.setdefault(part["index"], part["function"].get("name", ""))
        yield event


@gateway("conservation", "parallel-three stream", "event")
def _streamed_calls_without_ids(chunk: Any) -> None:
    """Leaves out the ids of streamed calls."""
    for part in _parts(chunk):
        part.pop("id", None)


@gateway("conservation", "parallel-three stream", "event")
def _later_calls_are_lost(chunk: Any) -> None:
    """Passes on the first streamed call only."""
    for delta in _deltas(chunk):
        if parts := delta.get("tool_calls"):
            delta["tool_calls"] = [part for part in parts if part["index"] == 0]


@gateway("usage", "single-call stream", "event")
def _usage_chunk_is_dropped(chunk: Any) -> bool:
    """Drops the chunk with the token counts, which has no choices."""
    return not isinstance(chunk, dict) or bool(chunk["choices"])


@gateway("usage", "single-call stream", "request")
def _stream_options_are_dropped(asked: Asked) -> None:
    """Drops the client's request for token counts."""
    asked.body.pop("stream_options", None)


@gateway("usage", "single-call stream", "event")
def _usage_is_zero(chunk: Any) -> None:
    """Replaces the token counts by 0."""
    if isinstance(chunk, dict) and chunk.get("usage"):
        chunk["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@gateway("stop", "single-call stream", "event")
def _stop_word_is_always_stop(chunk: Any) -> None:
    """Ends each stream with the word stop."""
    for choice in _choices(chunk):
        if choice.get("finish_reason"):
            choice["finish_reason"] = "stop"


@gateway("stop", "single-call stream", "event")
def _stop_word_is_lost(chunk: Any) -> None:
    """Sends no finish reason."""
    for choice in _choices(chunk):
        choice["finish_reason"] = None


@gateway("stream-parity", "text-only stream", "event")
def _spaces_are_stripped(chunk: Any) -> None:
    """Strips the spaces of each fragment of text."""
    for delta in _deltas(chunk):
        delta["content"] = (delta.get("content") or "").strip()


@gateway("stream-parity", "parallel-three stream", "event")
def _text_beside_calls_is_lost(chunk: Any) -> None:
    """Drops the text of a stream with calls."""
    for delta in _deltas(chunk):
        delta.pop("content", None)


@gateway("conservation", "single-call stream", "events")
def _keep_alives_are_data(events: _Events) -> _Events:
    """Sends a keep-alive before each event as an event with empty data."""
    for event in events:
        yield from (Event("", ""), event)


@gateway("incomplete", "breaks-off-after-a-call stream", "events")
def _every_stream_is_complete(events: _Events) -> _Events:
    """Ends each stream as if it were complete."""
    for event in itertools.chain(events, [None]):
        if event is None:
            yield Event("", {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            yield Event("", "[DONE]")
        elif event.data != "[DONE]":
            yield event


@gateway("stream-form", "parallel-three stream", "reply")
def _streams_are_buffered(reply: Reply, asked: Asked) -> None:
    """Sends a stream when it is complete."""
    reply.parts = [b"".join(reply.parts)]


@gateway("stream-form", "parallel-three stream", "events", MESSAGES)
def _streams_are_buffered_after_their_start(events: _Events) -> _Events:
    """Passes on the first event of a stream, and buffers the rest."""
    yield next(events)
    yield from [*events]


@gateway("stream-form", "parallel-three stream", "reply", RESPONSES)
def _keep_alives_until_the_end(reply: Reply, asked: Asked) -> None:
    """Sends comments while it buffers a stream."""
    parts = reply.parts
    if reply.streamed:
        reply.parts = itertools.chain([b": waiting\n\n"] * 3, (b"".join(parts) for _ in range(1)))


@gateway("any-split", "emoji-in-arguments stream", "reply")
def _pieces_are_decoded_one_by_one(reply: Reply, asked: Asked) -> None:
    """Decodes each piece of a stream on its own, so that characters between two pieces are lost."""
    if reply.streamed:
        pieces = ((part[i : i + 7] for i in range(0, len(part), 7)) for part in reply.parts)
        reply.parts = (piece.decode("utf-8", "ignore").encode() for piece in itertools.chain.from_iterable(pieces))


# The form of a reply


@gateway("stream-form", "parallel-three stream", "reply")
def _plain_replies_to_streaming_clients(reply: Reply, asked: Asked) -> None:
    """Answers a client that asks for a stream with one JSON body."""
    if reply.streamed:
        merged: dict[str, Any] = {"content": "", "tool_calls": []}
        for data in (json.loads(line[6:]) for line in b"".join(reply.parts).split(b"\n") if line[6:7] == b"{"):
            for delta in _deltas(data):
                merged["content"] += delta.get("content") or ""
                for part in delta.get("tool_calls") or ():
                    if part.get("id"):
                        merged["tool_calls"].append(part)
                    else:
                        merged["tool_calls"][-1]["function"]["arguments"] += part["function"]["arguments"]
        choice = {"index": 0, "message": {"role": "assistant", **merged}, "finish_reason": "tool_calls"}
        reply.become(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


@gateway("conservation", "parallel-three stream", "request")
def _streams_are_not_asked_for(asked: Asked) -> None:
    """Asks the provider for a plain response whatever the client wants."""
    asked.body.pop("stream", None)
    asked.body.pop("stream_options", None)


@gateway("incomplete", "parallel-three plain", "request")
def _streams_for_every_client(asked: Asked) -> None:
    """Asks the provider for a stream whatever the client wants, and passes it on."""
    asked.body["stream"] = True


@gateway("stream-form", "single-call stream", "reply", MESSAGES)
def _streams_have_the_content_type_of_json(reply: Reply, asked: Asked) -> None:
    """Sends each reply with the content type of JSON."""
    reply.headers["content-type"] = "application/json"


@gateway("incomplete", "single-call plain", "reply", RESPONSES)
def _plain_replies_have_the_content_type_of_text(reply: Reply, asked: Asked) -> None:
    """Sends each plain reply with the content type of text."""
    reply.headers["content-type"] = "text/plain; charset=utf-8"


@gateway("conservation", "single-call plain", "body")
def _arguments_are_objects(body: Any) -> None:
    """Sends the arguments of Chat Completions as an object instead of as text."""
    for call in _message_calls(body):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


@gateway("conservation", "parallel-three plain", "body")
def _ids_are_lost(body: Any) -> None:
    """Leaves out the ids of calls."""
    for call in _message_calls(body):
        del call["id"]


@gateway("arguments", "large-numbers plain", "body")
def _numbers_are_rounded(body: Any) -> None:
    """Rounds integers as JavaScript does."""
    for call in _message_calls(body):
        parsed = json.loads(call["function"]["arguments"], parse_int=lambda text: int(float(text)))
        call["function"]["arguments"] = json.dumps(parsed)


@gateway("conservation", "parallel-three plain", "body")
def _first_call_only(body: Any) -> None:
    """Passes on the first call only."""
    for choice in _choices(body):
        choice["message"]["tool_calls"] = choice["message"].get("tool_calls", [])[:1]


@gateway("order", "parallel-three plain", "body")
def _calls_in_reverse(body: Any) -> None:
    """Reverses the calls."""
    for choice in _choices(body):
        choice["message"].get("tool_calls", []).reverse()


@gateway("usage", "figures-with-a-cache plain", "body", MESSAGES)
def _cached_tokens_are_dropped(body: Any) -> None:
    """Drops the counts of the cache."""
    body["usage"] = {name: body["usage"][name] for name in ("input_tokens", "output_tokens")}


# Errors


def _status(name: str, sentence: str, cases: str, statuses: dict[int, int], client: str = CHAT) -> None:
    def change(reply: Reply, asked: Asked) -> None:
        reply.status = statuses.get(reply.status, reply.status)

    add(name, sentence, "incomplete", cases, "reply", change, client)


_status("rate-limits-become-500", "Reports 429 as 500.", "error-rate-limit both", {429: 500})
_status("rate-limits-become-503", "Reports 429 as 503.", "error-rate-limit both", {429: 503}, MESSAGES)
_status("refused-keys-become-500", "Reports 401 as 500.", "wrong-key plain", {401: 500}, RESPONSES)
_status("overloads-become-400", "Reports 529 as 400.", "overloaded both", {529: 400}, MESSAGES)
_status("server-errors-become-429", "Reports 500 as 429.", "server-error plain", {500: 429})
_status("errors-become-200", "Passes the error of 500 on with 200.", "server-error both", {500: 200}, RESPONSES)


@gateway("incomplete", "error-rate-limit plain", "reply", MESSAGES)
def _retry_after_is_dropped(reply: Reply, asked: Asked) -> None:
    """Passes on the content type only of the header fields."""
    reply.headers = {"content-type": reply.headers["content-type"]}


@gateway("incomplete", "overloaded plain", "reply")
def _retry_after_is_0(reply: Reply, asked: Asked) -> None:
    """Asks the client to try again at once."""
    reply.headers["retry-after"] = "0"


@gateway("incomplete", "server-error plain", "reply")
def _errors_become_empty_replies(reply: Reply, asked: Asked) -> None:
    """Answers an error of the provider with an empty good reply."""
    if reply.status >= 400:
        choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "stop"}
        reply.become(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


@gateway("incomplete", "error-rate-limit stream", "reply")
def _errors_become_streams(reply: Reply, asked: Asked) -> None:
    """Answers a streaming client with 200 and the error as an event."""
    if reply.status >= 400 and asked.body.get("stream"):
        error = Event("", reply.as_json()).encode()
        reply.become(error, "text/event-stream")
        reply.streamed = True


@gateway("incomplete", "wrong-key both", "reply")
def _errors_are_pages(reply: Reply, asked: Asked) -> None:
    """Answers errors with a page in HTML."""
    if reply.status >= 400:
        reply.become(b"<html><h1>Bad gateway</h1></html>", "text/html", reply.status)


# Streams of the other wires


def _drop(name: str, sentence: str, law: str, kind: str, client: str = CHAT, **more: Any) -> None:
    def is_kept(data: Any) -> bool:
        return kind not in (data, data.get("type") if isinstance(data, dict) else "")

    add(name, sentence, law, "single-call stream", "event", is_kept, client, **more)


_drop("done-is-dropped", "Ends a stream of Chat Completions without [DONE].", "stream-form", "[DONE]")
_drop("translation-without-done", "Translates without [DONE].", "stream-form", "[DONE]", upstream=RESPONSES)
_drop("message-stop-is-dropped", "Ends a stream without message_stop.", "incomplete", "message_stop", MESSAGES)
_drop("message-start-is-dropped", "Drops message_start.", "conservation", "message_start", MESSAGES)
_drop("completed-is-dropped", "Drops response.completed.", "incomplete", "response.completed", RESPONSES)
_drop("created-is-dropped", "Drops response.created.", "conservation", "response.created", RESPONSES)
_drop("items-do-not-start", "Drops the start of items.", "conservation", "response.output_item.added", RESPONSES)


@gateway("conservation", "parallel-three stream", "events", MESSAGES)
def _events_without_names(events: _Events) -> _Events:
    """Sends the events of Anthropic's wire without their names."""
    return (Event("", event.data) for event in events)


@gateway("conservation", "parallel-three stream", "event", MESSAGES)
def _blocks_share_index_0(event: Any) -> None:
    """Sends every block of Anthropic's wire under index 0."""
    if "index" in event:
        event["index"] = 0


@gateway("conservation", "parallel-three stream", "event", MESSAGES)
def _text_blocks_do_not_start(event: Any) -> bool:
    """Drops the start of text blocks."""
    return bool(event["type"] != "content_block_start" or event["content_block"]["type"] != "text")


@gateway("usage", "single-call stream", "event", MESSAGES)
def _last_counts_are_dropped(event: Any) -> None:
    """Leaves out the token counts at the end of a stream of Anthropic's wire."""
    if event["type"] == "message_delta":
        event["usage"] = {"output_tokens": 0}


@gateway("conservation", "parallel-three stream", "event", RESPONSES)
def _completed_without_output(event: Any) -> None:
    """Ends a stream of Responses with an empty output."""
    if event["type"] == "response.completed":
        event["response"]["output"] = []


@gateway("conservation", "parallel-three stream", "event", RESPONSES)
def _items_share_index_0(event: Any) -> None:
    """Sends every item of Responses under index 0."""
    if "output_index" in event:
        event["output_index"] = 0


# Requests


def _without(name: str, sentence: str, law: str, cases: str, members: tuple[str, ...], client: str = CHAT) -> None:
    def change(asked: Asked) -> None:
        for member in members:
            asked.body.pop(member, None)
            asked.headers.pop(member, None)

    add(name, sentence, law, cases, "request", change, client)


_KEYS = ("authorization", "x-api-key")
_without("no-key", "Sends no key.", "replay", "single-call plain", _KEYS)
_without("no-key-on-messages", "Sends no key to Anthropic.", "replay", "single-call plain", _KEYS, MESSAGES)
_without("no-version", "Drops the version.", "replay", "single-call plain", ("anthropic-version",), MESSAGES)
_without("no-betas", "Drops the betas.", "replay", "parallel-three plain", ("anthropic-beta",), MESSAGES)
_without("no-content-type", "Sends no content type.", "replay", "single-call plain", ("content-type",), RESPONSES)
_without("no-tools", "Drops the tools.", "replay", "parallel-three plain", ("tools",))
_without("no-tool-choice", "Drops the choice of tools.", "replay", "parallel-three plain", ("tool_choice",))
_without("no-effort", "Drops the effort.", "replay", "two-rounds plain", ("reasoning_effort",))
_without("no-limit", "Drops the token limit.", "replay", "text-only plain", ("max_completion_tokens",))
_without("no-system", "Drops the system prompt.", "replay", "single-call plain", ("system",), MESSAGES)
_without("no-thinking", "Drops thinking.", "replay", "thinks-and-answers plain", ("thinking",), MESSAGES)


@gateway("replay", "parallel-three plain", "request", MESSAGES)
def _one_beta_only(asked: Asked) -> None:
    """Keeps the first of several betas."""
    if betas := asked.headers.get("anthropic-beta"):
        asked.headers["anthropic-beta"] = betas.partition(",")[0]


@gateway("answered", "parallel-three plain", "request")
def _results_are_dropped(asked: Asked) -> None:
    """Drops the results of tools."""
    asked.body["messages"] = [message for message in asked.body["messages"] if message["role"] != "tool"]


@gateway("replay", "parallel-three plain", "request")
def _ids_are_replaced(asked: Asked) -> None:
    """Gives past calls and their results other ids."""
    for message in asked.body["messages"]:
        for call in message.get("tool_calls") or ():
            call["id"] = call["id"][::-1]
        if message["role"] == "tool":
            message["tool_call_id"] = message["tool_call_id"][::-1]


@gateway("replay", "text-only plain", "request")
def _a_system_prompt_is_added(asked: Asked) -> None:
    """Adds a system prompt."""
    asked.body["messages"].insert(0, {"role": "system", "content": "You are a pirate."})


@gateway("replay", "parallel-three plain", "request")
def _one_tool_only(asked: Asked) -> None:
    """Offers the first tool only."""
    asked.body["tools"] = asked.body["tools"][:1]


@gateway("conservation", "parallel-three plain", "request", repeats=2)
def _requests_are_sent_twice(asked: Asked) -> None:
    """Sends each request to the provider twice."""


# Translation of Chat Completions into another wire


@gateway("handoff", "single-call plain", "request", upstream=MESSAGES)
def _translation_drops_the_system_prompt(asked: Asked) -> None:
    """Drops the system prompt when it translates a request."""
    asked.body["messages"] = [message for message in asked.body["messages"] if message["role"] != "system"]


@gateway("handoff", "parallel-three plain", "request", upstream=RESPONSES)
def _translation_drops_tools(asked: Asked) -> None:
    """Drops all tools but the first one when it translates a request."""
    asked.body["tools"] = asked.body["tools"][:1]


@gateway("handoff", "single-call plain", "request", upstream="xai.grpc")
def _translation_cuts_texts(asked: Asked) -> None:
    """Keeps the end of the user's texts when it translates a request."""
    for message in asked.body["messages"]:
        if message["role"] == "user":
            message["content"] = message["content"][-30:]


@gateway("usage", "single-call stream", "event", upstream=MESSAGES)
def _translation_drops_usage(chunk: Any) -> None:
    """Drops the token counts when it translates a stream."""
    if isinstance(chunk, dict):
        chunk["usage"] = None


@gateway("handoff", "single-call plain", "request", upstream=MESSAGES)
def _translation_keeps_the_key_for_itself(asked: Asked) -> None:
    """Sends no key when it translates a request."""
    asked.headers = {}
