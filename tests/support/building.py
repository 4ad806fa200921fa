"""Traffic made by hand: the same calls on every wire, plain and streamed, and the single pieces of each wire's streams.

Ids, names and argument texts go onto the wire exactly as given, so that tests can write what a broken server writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.support import eventstream
from tests.support.wires import TEXT_WIRES, WIRES
from toolparity import Response, StreamDecoder, ToolCall, normalize
from toolparity.normalizer.wires.registry import spec

Given = tuple[str | None, str | None, str]  # id, name, argument text

#: Every wire, plain and streamed; the second list leaves out bodies that carry arguments as JSON, not as text.
FORMS = [(wire, stream) for wire in WIRES for stream in (False, True)]
TEXT_FORMS = [
    (wire, stream) for wire, stream in FORMS if wire in TEXT_WIRES and (stream or not spec(wire).parsed_arguments)
]


# What to compare


def triples(response: Response) -> list[tuple[str, str, Any]]:
    """Id, name and arguments of the first choice's calls."""
    return [(call.id, call.name, call.arguments) for call in response.calls]


def texts(response: Response) -> list[tuple[str, str, str]]:
    """Id, name and argument text of the first choice's calls."""
    return [(call.id, call.name, call.arguments_text) for call in response.calls]


def shapes(response: Response) -> list[tuple[str, Any, str]]:
    """Name, arguments and status of the first choice's calls."""
    return [(call.name, call.arguments, call.status) for call in response.calls]


def codes(response: Response) -> list[str]:
    """The finding codes, in order."""
    return [finding.code for finding in response.findings]


def only(response: Response) -> ToolCall:
    """The one call that there must be."""
    (call,) = response.calls
    return call


# Framing


def sse(*events: Any, done: bool = False) -> bytes:
    """Server-sent events; an Anthropic or Responses event also gets its name."""
    lines = []
    for event in events:
        name = event.get("type") if isinstance(event, dict) else None
        head = f"event: {name}\n" if isinstance(name, str) else ""
        lines.append(f"{head}data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
    return "".join(lines).encode() + (b"data: [DONE]\n\n" if done else b"")


def stream(wire: str, body: bytes | Iterable[bytes], **told: Any) -> Response:
    """Decode a streamed body, whole or in pieces."""
    decoder = StreamDecoder(wire, **told)
    for piece in [body] if isinstance(body, bytes) else body:
        decoder.feed(piece)
    return decoder.finish()


def cut(text: str, size: int) -> list[str]:
    """A text in pieces of a size (the last one may be shorter)."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# openai.chat


def piece(
    index: Any = None, id: str | None = None, name: str | None = None, arguments: str | None = None, **more: Any
) -> dict[str, Any]:
    """One element of a delta's `tool_calls`; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {"index": index, "id": id, "function": function or None}
    return {key: value for key, value in given.items() if value is not None} | more


def chunk(*pieces: dict[str, Any], choice: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One chunk, its delta holding the pieces of calls and whatever else is given."""
    if pieces:
        delta["tool_calls"] = list(pieces)
    choices = [{"index": choice, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": choices}


def chat(*chunks: dict[str, Any], finish: str | None = "tool_calls", **told: Any) -> Response:
    """Decode a stream of chunks; its end is added. A plain piece of a call becomes its own chunk."""
    events = [given if "choices" in given else chunk(given) for given in chunks]
    if finish is not None:
        events.append(chunk(finish=finish))
    return stream("openai.chat", sse(*events, done=True), **told)


def chat_body(*calls: dict[str, Any], finish: str = "tool_calls", **message: Any) -> dict[str, Any]:
    """A whole body whose message has these `tool_calls`."""
    said = {"role": "assistant", "content": None, **message}
    if calls:
        said["tool_calls"] = list(calls)
    choices = [{"index": 0, "message": said, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": choices}


def chat_call(id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    """One element of a whole message's `tool_calls`; a null id is left out."""
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if id is None else {"id": id, **call}


# openai.responses


def function_call(call_id: str | None, name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    """A function_call item."""
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, "status": "completed"}
    return {key: value for key, value in item.items() if value is not None} | more


def responses_body(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """A whole body with these output items."""
    return {"id": "resp_1", "object": "response", "model": "m", "status": status, "output": list(items), **more}


def responses_events(*events: dict[str, Any], end: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """A whole stream with these events. ``end``: the body in its terminal event."""
    body = responses_body() if end is None else end
    created = {"type": "response.created", "response": responses_body(status="in_progress")}
    return [created, *events, {"type": "response.completed", "response": body}]


def responses(*events: dict[str, Any], end: dict[str, Any] | None = None, **told: Any) -> Response:
    """Decode a stream of `responses_events`."""
    return stream("openai.responses", sse(*responses_events(*events, end=end)), **told)


def item_events(index: int, item: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    """What a server streams for one item: added, deltas of its arguments, done, done."""
    part = "input" if "input" in item else "arguments"
    text = item.get(part, "")
    kind = "custom_tool_call_input" if part == "input" else "function_call_arguments"
    where = {"output_index": index, "item_id": item.get("id", f"item_{index}")}
    return [
        {
            "type": "response.output_item.added",
            "output_index": index,
            "item": {**item, part: "", "status": "in_progress"},
        },
        *({"type": f"response.{kind}.delta", "delta": text, **where} for text in cut(text, size)),
        {"type": f"response.{kind}.done", part: text, **where},
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


# anthropic.messages


def anthropic_body(*blocks: dict[str, Any], stop: str = "tool_use", **more: Any) -> dict[str, Any]:
    """A whole message with these content blocks."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    return {**head, "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}, **more}


def block_start(index: int, **block: Any) -> dict[str, Any]:
    """A content_block_start."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def tool_start(index: int, id: str | None, name: str | None, given: Any = None) -> dict[str, Any]:
    """The start of a tool_use block."""
    more = {} if id is None else {"id": id}
    return block_start(index, type="tool_use", name=name, input={} if given is None else given, **more)


def json_delta(index: int, text: str) -> dict[str, Any]:
    """A piece of a call's input."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def text_delta(index: int, text: str) -> dict[str, Any]:
    """A piece of a text block."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


def block_stop(index: int) -> dict[str, Any]:
    """A content_block_stop."""
    return {"type": "content_block_stop", "index": index}


def anthropic_stream(*events: dict[str, Any], stop: str = "tool_use") -> bytes:
    """The bytes of a whole message around these events."""
    begin = {"type": "message_start", "message": anthropic_body(stop="") | {"stop_reason": None}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}
    return sse(begin, *events, end, {"type": "message_stop"})


def anthropic(*events: dict[str, Any], stop: str = "tool_use", **told: Any) -> Response:
    """Decode a stream of events; the message around them is added."""
    return stream("anthropic.messages", anthropic_stream(*events, stop=stop), **told)


# google.interactions


def interaction(status: str = "requires_action", **more: Any) -> dict[str, Any]:
    """An interaction, by default one that waits for the results of calls."""
    return {"id": "v1_1", "object": "interaction", "model": "m", "status": status, **more}


# xai.grpc


def grpc_call(id: str, name: str, arguments: str, kind: int = 1, status: int = 0) -> Any:
    """A protobuf ToolCall; kind 1 is the caller's, 0 unset, 2 and above xAI's own."""
    from xai_sdk.proto import chat_pb2 as pb

    function = pb.FunctionCall(name=name, arguments=arguments)
    return pb.ToolCall(id=id, type=kind, status=status, function=function)


def grpc_chunk(*calls: Any, index: int = 0, finish: int = 0, role: int = 0, content: str = "") -> bytes:
    """A serialized GetChatCompletionChunk with one output."""
    from xai_sdk.proto import chat_pb2 as pb

    delta = pb.Delta(content=content, role=role, tool_calls=calls)
    output = pb.CompletionOutputChunk(index=index, delta=delta, finish_reason=finish)
    return pb.GetChatCompletionChunk(id="x1", model="m", outputs=[output]).SerializeToString()


def grpc_body(*calls: Any, finish: int = 4, content: str = "") -> bytes:
    """A serialized GetChatCompletionResponse with one output."""
    from xai_sdk.proto import chat_pb2 as pb

    message = pb.CompletionMessage(content=content, role=2, tool_calls=calls)
    output = pb.CompletionOutput(index=0, message=message, finish_reason=finish)
    return pb.GetChatCompletionResponse(id="x1", model="m", outputs=[output]).SerializeToString()


# ollama.chat


def ollama_line(message: str, stop: str | None = None) -> bytes:
    """An event, or with a stop a whole body. ``message``: the members of the message besides its role, in JSON."""
    end = f'"done_reason": {json.dumps(stop)}, "done": true' if stop else '"done": false'
    head = f'{{"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {{"role": "assistant", {message}}}'
    return f"{head}, {end}}}\n".encode()


def ollama_call(id: str | None, name: str | None, arguments: str) -> str:
    """The JSON of a call; a null id is left out, and the arguments are the given text."""
    function = f'"name": {json.dumps(name)}, "arguments": {arguments}'
    head = "" if id is None else f'"id": {json.dumps(id)}, '
    return f'{{{head}"function": {{{function}}}}}'


def ollama_lines(calls: Sequence[Given]) -> bytes:
    """A streamed ollama.chat body, each call in its own event."""
    events = [ollama_line(f'"content": "", "tool_calls": [{ollama_call(*call)}]') for call in calls]
    return b"".join([*events, ollama_line('"content": ""', "stop")])


# google.gemini


def gemini_body(*parts: str, finish: str | None = "STOP") -> bytes:
    """A whole response, or a stream event, whose candidate has parts with this JSON."""
    candidate = f'{{"content": {{"role": "model", "parts": [{", ".join(parts)}]}}'
    ended = "" if finish is None else f', "finishReason": "{finish}"'
    return f'{{"candidates": [{candidate}{ended}}}], "modelVersion": "m", "responseId": "g1"}}'.encode()


def gemini_call(id: str | None, name: str | None, text: str) -> str:
    """The JSON of a part with a call."""
    given = {key: value for key, value in (("id", id), ("name", name)) if value is not None}
    return f'{{"functionCall": {json.dumps(given)[:-1]}{", " if given else ""}"args": {text}}}}}'


# The same calls on any wire


def respond(wire: str, streamed: bool, calls: Sequence[Given], size: int = 3, **told: Any) -> Response:
    """The calls as this wire carries them, whole or with argument texts in pieces of ``size``; decoded."""
    return (_streamed if streamed else _plain)[wire](calls, size, told)


def _chat_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return normalize(chat_bytes(calls), "openai.chat", **told)


def chat_bytes(calls: Sequence[Given]) -> bytes:
    """A whole openai.chat body."""
    return json.dumps(chat_body(*(chat_call(*call) for call in calls))).encode()


def chat_sse(calls: Sequence[Given], size: int) -> bytes:
    """A streamed openai.chat body."""
    events = []
    for index, (id, name, text) in enumerate(calls):
        events.append(chunk(piece(index, id, name, "", type="function")))
        events.extend(chunk(piece(index, arguments=part)) for part in cut(text, size))
    return sse(*events, chunk(finish="tool_calls"), done=True)


def _chat_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("openai.chat", chat_sse(calls, size), **told)


def _responses_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    body = responses_body(*(function_call(*call) for call in calls))
    return normalize(json.dumps(body).encode(), "openai.responses", **told)


def responses_sse(calls: Sequence[Given], size: int) -> bytes:
    """A streamed openai.responses body."""
    items = [function_call(*call, id=f"fc_{number}") for number, call in enumerate(calls)]
    events = [event for index, item in enumerate(items) for event in item_events(index, item, size)]
    return sse(*responses_events(*events, end=responses_body(*items)))


def _responses_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("openai.responses", responses_sse(calls, size), **told)


def _anthropic_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    blocks = []
    for id, name, text in calls:
        given = {"type": "tool_use", "id": id, "name": name}
        head = json.dumps({key: value for key, value in given.items() if value is not None})
        blocks.append(f'{head[:-1]}, "input": {text}}}')
    body = json.dumps(anthropic_body()).replace('"content": []', f'"content": [{", ".join(blocks)}]')
    return normalize(body.encode(), "anthropic.messages", **told)


def anthropic_sse(calls: Sequence[Given], size: int) -> bytes:
    """A streamed anthropic.messages body."""
    events = []
    for index, (id, name, text) in enumerate(calls):
        events.append(tool_start(index, id, name))
        events.extend(json_delta(index, part) for part in cut(text, size))
        events.append(block_stop(index))
    return anthropic_stream(*events)


def _anthropic_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("anthropic.messages", anthropic_sse(calls, size), **told)


def _grpc_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return normalize(
        grpc_body(*(grpc_call(id or "", name or "", text) for id, name, text in calls)), "xai.grpc", **told
    )


def _grpc_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    """xAI sends each call whole, in its own chunk."""
    chunks = [grpc_chunk(grpc_call(id or "", name or "", text), role=2) for id, name, text in calls]
    return stream("xai.grpc", [*chunks, grpc_chunk(finish=4)], **told)


def _cohere_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    given = [chat_call(*call) for call in calls]
    message = {"role": "assistant", "tool_calls": given}
    body = {"id": "c1", "message": message, "finish_reason": "TOOL_CALL"}
    return normalize(json.dumps(body).encode(), "cohere.chat", **told)


def _cohere_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    events: list[dict[str, Any]] = [{"type": "message-start", "id": "c1", "delta": {"message": {"role": "assistant"}}}]
    for index, (id, name, text) in enumerate(calls):
        begun = {"message": {"tool_calls": chat_call(id, name, "")}}
        events.append({"type": "tool-call-start", "index": index, "delta": begun})
        for part in cut(text, size):
            delta = {"message": {"tool_calls": {"function": {"arguments": part}}}}
            events.append({"type": "tool-call-delta", "index": index, "delta": delta})
        events.append({"type": "tool-call-end", "index": index})
    events.append({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}})
    return stream("cohere.chat", sse(*events, done=True), **told)


def _ollama_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    message = f'"content": "", "tool_calls": [{", ".join(ollama_call(*call) for call in calls)}]'
    return normalize(ollama_line(message, "stop"), "ollama.chat", **told)


def _ollama_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    """Ollama sends each call whole."""
    return stream("ollama.chat", ollama_lines(calls), **told)


def _interactions_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    steps = []
    for id, name, text in calls:
        given = {"type": "function_call", "id": id, "name": name}
        head = json.dumps({key: value for key, value in given.items() if value is not None})
        steps.append(f'{head[:-1]}, "arguments": {text}}}')
    body = json.dumps(interaction(steps=[])).replace('"steps": []', f'"steps": [{", ".join(steps)}]')
    return normalize(body.encode(), "google.interactions", **told)


def interactions_sse(calls: Sequence[Given], size: int) -> bytes:
    """A streamed google.interactions body."""
    events: list[dict[str, Any]] = []
    for index, (id, name, text) in enumerate(calls):
        step = {"type": "function_call", "id": id, "name": name, "arguments": {}}
        step = {key: value for key, value in step.items() if value is not None}
        events.append({"event_type": "step.start", "index": index, "step": step})
        for part in cut(text, size):
            delta = {"type": "arguments_delta", "arguments": part}
            events.append({"event_type": "step.delta", "index": index, "delta": delta})
        events.append({"event_type": "step.stop", "index": index})
    begin = {"event_type": "interaction.created", "interaction": interaction("in_progress")}
    return sse(begin, *events, {"event_type": "interaction.completed", "interaction": interaction()}, done=True)


def _interactions_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("google.interactions", interactions_sse(calls, size), **told)


def _converse_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    blocks = []
    for id, name, text in calls:
        given = {key: value for key, value in (("toolUseId", id), ("name", name)) if value is not None}
        head = json.dumps(given)[:-1]
        blocks.append(f'{{"toolUse": {head}{", " if given else ""}"input": {text}}}}}')
    body = f'{{"output":{{"message":{{"role":"assistant","content":[{", ".join(blocks)}]}}}},"stopReason":"tool_use"}}'
    return normalize(body.encode(), "bedrock.converse", **told)


def converse_stream(calls: Sequence[Given], size: int) -> bytes:
    """A streamed bedrock.converse body."""
    events = [eventstream.event("messageStart", {"role": "assistant"})]
    for index, (id, name, text) in enumerate(calls):
        use = {key: value for key, value in (("toolUseId", id), ("name", name)) if value is not None}
        place = {"contentBlockIndex": index}
        events.append(eventstream.event("contentBlockStart", {**place, "start": {"toolUse": use}}))
        deltas = ({**place, "delta": {"toolUse": {"input": part}}} for part in cut(text, size))
        events += (eventstream.event("contentBlockDelta", delta) for delta in deltas)
        events.append(eventstream.event("contentBlockStop", place))
    return b"".join([*events, eventstream.event("messageStop", {"stopReason": "tool_use"})])


def _converse_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("bedrock.converse", converse_stream(calls, size), **told)


def _gemini_plain(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return normalize(gemini_body(*(gemini_call(*call) for call in calls)), "google.gemini", **told)


def gemini_sse(calls: Sequence[Given], size: int) -> bytes:
    """A streamed google.gemini body: each call is whole, in its own event."""
    events = [gemini_body(gemini_call(*call), finish=None) for call in calls]
    lines = [event.replace(b"\n", b"\ndata: ") for event in (*events, gemini_body('{"text": ""}'))]
    return b"".join(b"data: " + line + b"\n\n" for line in lines)


def _gemini_streamed(calls: Sequence[Given], size: int, told: dict[str, Any]) -> Response:
    return stream("google.gemini", gemini_sse(calls, size), **told)


_plain = {
    "openai.chat": _chat_plain,
    "openai.responses": _responses_plain,
    "anthropic.messages": _anthropic_plain,
    "xai.grpc": _grpc_plain,
    "cohere.chat": _cohere_plain,
    "ollama.chat": _ollama_plain,
    "google.interactions": _interactions_plain,
    "bedrock.converse": _converse_plain,
    "google.gemini": _gemini_plain,
}
_streamed = {
    "openai.chat": _chat_streamed,
    "openai.responses": _responses_streamed,
    "anthropic.messages": _anthropic_streamed,
    "xai.grpc": _grpc_streamed,
    "cohere.chat": _cohere_streamed,
    "ollama.chat": _ollama_streamed,
    "google.interactions": _interactions_streamed,
    "bedrock.converse": _converse_streamed,
    "google.gemini": _gemini_streamed,
}
