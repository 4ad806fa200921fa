"""Events and bodies written by hand, for tests of what no provider sends on purpose. Well-formed answers: `emit`.

Ids, names and argument texts are in them exactly as given, so that a test can write what a broken server sends.
"""

from __future__ import annotations

import json
from typing import Any

from xai_sdk.proto import chat_pb2

from tests.support import eventstream

Json = dict[str, Any]
DONE = b"data: [DONE]\n\n"
CLIENT = chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")
ASSISTANT = chat_pb2.MessageRole.Value("ROLE_ASSISTANT")
TOOL = chat_pb2.MessageRole.Value("ROLE_TOOL")


def sse(*events: Any, done: bool = False) -> bytes:
    """Server-sent events: bytes are sent unchanged, a text is a payload, anything else is a payload in JSON.

    An event with a type also gets it as its name. ``done``: `[DONE]` ends the stream.
    """
    sent = []
    for event in events:
        if isinstance(event, bytes):
            sent.append(event)
            continue
        name = event.get("type", event.get("event_type")) if isinstance(event, dict) else None
        head = f"event: {name}\n" if isinstance(name, str) else ""
        data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        sent.append(f"{head}data: {data}\n\n".encode("utf-8", "surrogatepass"))
    return b"".join(sent) + (DONE if done else b"")


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
    return delta_chunk(delta | ({"tool_calls": list(pieces)} if pieces else {}), finish, index=choice)


def delta_chunk(
    delta: dict[str, Any] | None = None, finish: str | None = None, *, index: int = 0, **more: Any
) -> dict[str, Any]:
    """A chunk with this delta and further members."""
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def fragment(text: str = "", index: int = 0, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A delta with one fragment of one call."""
    return {"tool_calls": [piece(index, id, name, text, **({} if id is None else {"type": "function"}))]}


def chat_body(*calls: dict[str, Any], finish: str = "tool_calls", **message: Any) -> dict[str, Any]:
    """A whole body whose message has these `tool_calls`."""
    content_message = {"role": "assistant", "content": None, **message}
    if calls:
        content_message["tool_calls"] = list(calls)
    choices = [{"index": 0, "message": content_message, "finish_reason": finish}]
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


def message_item(text: str, **more: Any) -> dict[str, Any]:
    """A message item with a text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]} | more


def responses_body(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """A whole body with these output items."""
    return {"id": "resp_1", "object": "response", "model": "m", "status": status, "output": list(items), **more}


def responses_events(*events: dict[str, Any], end: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """A whole stream with these events. ``end``: the body in its terminal event."""
    body = responses_body() if end is None else end
    created = {"type": "response.created", "response": responses_body(status="in_progress")}
    return [created, *events, {"type": "response.completed", "response": body}]


def item_events(index: int, item: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    """What a server streams for one item: added, deltas of its arguments, done, done."""
    part = "input" if "input" in item else "arguments"
    text = item.get(part, "")
    kind = "custom_tool_call_input" if part == "input" else "function_call_arguments"
    where = {"output_index": index, "item_id": item.get("id", f"item_{index}")}
    return [
        added(index, {**item, part: "", "status": "in_progress"}),
        *({"type": f"response.{kind}.delta", "delta": text, **where} for text in cut(text, size)),
        {"type": f"response.{kind}.done", part: text, **where},
        done(index, item),
    ]


def added(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def done(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def grow(kind: str, place: int, text: str, **more: Any) -> dict[str, Any]:
    """A delta event of an output item."""
    return {"type": f"response.{kind}.delta", "output_index": place, "delta": text, **more}


CREATED = {"type": "response.created", "response": responses_body(status="in_progress") | {"id": "r1"}}


def terminal(output: list[dict[str, Any]], stop: str = "completed", **more: Any) -> dict[str, Any]:
    """The terminal event of a Responses stream, the response inside it."""
    status = "completed" if stop == "completed" else "incomplete"
    response = {"id": "r1", "object": "response", "model": "m", "status": status, "output": output, **more}
    if status == "incomplete":
        response["incomplete_details"] = {"reason": stop}
    return {"type": f"response.{status}", "response": response}


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
    return block_delta(index, "input_json", text)


def text_delta(index: int, text: str) -> dict[str, Any]:
    """A piece of a text block."""
    return block_delta(index, "text", text)


def block_stop(index: int) -> dict[str, Any]:
    """A content_block_stop."""
    return {"type": "content_block_stop", "index": index}


def anthropic_stream(*events: dict[str, Any], stop: str = "tool_use") -> bytes:
    """The bytes of a whole message around these events."""
    begin = {"type": "message_start", "message": anthropic_body(stop="") | {"stop_reason": None}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}
    return sse(begin, *events, end, {"type": "message_stop"})


def block_delta(place: int, kind: str, value: Any) -> dict[str, Any]:
    member = {"input_json": "partial_json", "citations": "citation"}.get(kind, kind)
    return {"type": "content_block_delta", "index": place, "delta": {"type": f"{kind}_delta", member: value}}


def message_delta(stop: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, **more}


MESSAGE_START = {
    "type": "message_start",
    "message": {"id": "r1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None},
}
MESSAGE_STOP = {"type": "message_stop"}


# xai.grpc


def tool_call(text: str = "", id: str = "", name: str = "", type: int = CLIENT, **more: Any) -> Any:
    """A protobuf ToolCall."""
    return chat_pb2.ToolCall(id=id, type=type, function=chat_pb2.FunctionCall(name=name, arguments=text), **more)


def grpc_event(index: int = 0, finish: str | int = 0, role: int = ASSISTANT, usage: Any = None, **delta: Any) -> bytes:
    """A serialized GetChatCompletionChunk of one output."""
    output = chat_pb2.CompletionOutputChunk(
        index=index,
        delta=chat_pb2.Delta(role=role, **delta),
        finish_reason=finish,  # type: ignore[arg-type]
    )
    sent: bytes = chat_pb2.GetChatCompletionChunk(id="r1", model="m", outputs=[output], usage=usage).SerializeToString()
    return sent


def grpc_output(index: int = 0, finish: str | int = 0, role: int = ASSISTANT, **message: Any) -> Any:
    """A protobuf CompletionOutput."""
    return chat_pb2.CompletionOutput(
        index=index,
        message=chat_pb2.CompletionMessage(role=role, **message),
        finish_reason=finish,  # type: ignore[arg-type]
    )


def grpc_response(*outputs: Any, **more: Any) -> bytes:
    """A serialized GetChatCompletionResponse."""
    message: bytes = chat_pb2.GetChatCompletionResponse(id="r1", model="m", outputs=outputs, **more).SerializeToString()
    return message


def grpc_call(id: str, name: str, arguments: str, kind: int = 1, status: int = 0) -> Any:
    """A protobuf ToolCall; kind 1 is the caller's, 0 unset, 2 and above xAI's own."""
    return tool_call(arguments, id, name, kind, status=status)


def grpc_chunk(*calls: Any, index: int = 0, finish: int = 0, role: int = 0, content: str = "") -> bytes:
    """A serialized GetChatCompletionChunk with one output."""
    return grpc_event(index, finish, role, content=content, tool_calls=calls)


def grpc_body(*calls: Any, finish: int = 4, content: str = "") -> bytes:
    """A serialized GetChatCompletionResponse with one output."""
    return grpc_response(grpc_output(finish=finish, content=content, tool_calls=calls))


# google.gemini


def gemini(*parts: Any, finish: str | None = None, **more: Any) -> str:
    """The JSON of a response, or of a stream event, with one candidate. A part that is a text is its JSON."""
    texts = ", ".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)
    candidate = f'{{"content": {{"role": "model", "parts": [{texts}]}}, "index": 0'
    ended = "" if finish is None else f', "finishReason": "{finish}"'
    head = json.dumps({"modelVersion": "m", "responseId": "r1", **more})
    return f'{{"candidates": [{candidate}{ended}}}], {head[1:]}'


def gemini_body(*parts: str, finish: str | None = "STOP") -> bytes:
    """A whole response, or a stream event, whose candidate has parts with this JSON."""
    return gemini(*parts, finish=finish, responseId="g1").encode()


def gemini_call(id: str | None, name: str | None, text: str) -> str:
    """The JSON of a part with a call."""
    given = {key: value for key, value in (("id", id), ("name", name)) if value is not None}
    return f'{{"functionCall": {json.dumps(given)[:-1]}{", " if given else ""}"args": {text}}}}}'


# cohere.chat


def cohere_event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    """A stream event with members of the message in its delta."""
    event: dict[str, Any] = {"type": kind} if index is None else {"type": kind, "index": index}
    return {**event, "delta": {"message": message}} if message else event


COHERE_START = cohere_event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[]) | {"id": "r1"}


def cohere_end(stop: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": stop, **more}}


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


# google.interactions


def interaction(status: str = "requires_action", **more: Any) -> dict[str, Any]:
    """An interaction, by default one that waits for the results of calls."""
    return {"id": "v1_1", "object": "interaction", "model": "m", "status": status, **more}


def step_start(place: int, step: dict[str, Any]) -> dict[str, Any]:
    return {"index": place, "step": step, "event_type": "step.start"}


def step_delta(place: int, kind: str, **members: Any) -> dict[str, Any]:
    return {"index": place, "delta": {"type": kind, **members}, "event_type": "step.delta"}


def step_stop(place: int) -> dict[str, Any]:
    return {"index": place, "event_type": "step.stop"}


INTERACTION_CREATED = {"interaction": interaction("in_progress"), "event_type": "interaction.created"}
INTERACTION_DONE = b"event: done\n" + DONE


def interaction_completed(status: str, **more: Any) -> dict[str, Any]:
    return {"interaction": interaction(status, **more), "event_type": "interaction.completed"}


# bedrock.converse


def converse_delta(place: int, **delta: Any) -> bytes:
    """A contentBlockDelta event."""
    return eventstream.event("contentBlockDelta", {"contentBlockIndex": place, "delta": delta, "p": "abc"})


def converse_start(place: int, id: str, name: str, **more: Any) -> bytes:
    """The start of a toolUse block."""
    start = {"toolUse": {"toolUseId": id, "name": name, **more}}
    return eventstream.event("contentBlockStart", {"contentBlockIndex": place, "start": start})


def converse_stop(place: int) -> bytes:
    return eventstream.event("contentBlockStop", {"contentBlockIndex": place})
