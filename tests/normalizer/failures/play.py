"""One answer, given as steps, played on every wire; and how these tests look at what came out.

A step is what the model does (`Say`, `Think`, `Call`); `stream` and `plain` spell the steps on a wire, so that one
test holds for all of them. `play` feeds a stream whole and byte by byte, and insists that both give one response.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xai_sdk.proto import chat_pb2

from tests.support import eventstream
from tests.support.wires import WIRES
from toolparity import Response, StreamDecoder, ToolCall, normalize, select
from toolparity.normalizer.events import Event
from toolparity.normalizer.policies import POLICIES

DONE = b"data: [DONE]\n\n"


@dataclass
class Say:
    text: str


@dataclass
class Think:
    text: str


@dataclass
class Call:
    """``pieces``: the argument text as it is streamed. ``closed``: the wire says that this call is whole."""

    pieces: Sequence[str]
    id: str = "call_a"
    name: str = "lookup"
    closed: bool = True

    @property
    def text(self) -> str:
        return "".join(self.pieces)


Step = Say | Think | Call
LOOKUP = Call(('{"city": ', '"Turin"}'))

#: How each wire spells a stop reason.
STOPS: dict[str, dict[str, str]] = {
    "openai.chat": {
        "end_turn": "stop",
        "tool_calls": "tool_calls",
        "max_tokens": "length",
        "content_filter": "content_filter",
    },
    "openai.responses": {
        "end_turn": "completed",
        "tool_calls": "completed",
        "max_tokens": "max_output_tokens",
        "content_filter": "content_filter",
    },
    "anthropic.messages": {
        "end_turn": "end_turn",
        "tool_calls": "tool_use",
        "max_tokens": "max_tokens",
        "refusal": "refusal",
        "pause": "pause_turn",
    },
    "xai.grpc": {"end_turn": "REASON_STOP", "tool_calls": "REASON_TOOL_CALLS", "max_tokens": "REASON_MAX_LEN"},
    "google.gemini": {
        "end_turn": "STOP",
        "tool_calls": "STOP",
        "max_tokens": "MAX_TOKENS",
        "content_filter": "SAFETY",
    },
    "cohere.chat": {
        "end_turn": "COMPLETE",
        "tool_calls": "TOOL_CALL",
        "max_tokens": "MAX_TOKENS",
        "content_filter": "ERROR_TOXIC",
    },
    "bedrock.converse": {
        "end_turn": "end_turn",
        "tool_calls": "tool_use",
        "max_tokens": "max_tokens",
        "content_filter": "content_filtered",
    },
    "ollama.chat": {"end_turn": "stop", "tool_calls": "stop", "max_tokens": "length"},
    "google.interactions": {"end_turn": "completed", "tool_calls": "requires_action", "max_tokens": "incomplete"},
}


def sse(*events: Any) -> bytes:
    """Server-sent events: bytes are sent unchanged, a text is a payload, anything else is a payload in JSON."""
    spelled = []
    for event in events:
        if isinstance(event, bytes):
            spelled.append(event)
            continue
        name = event.get("type", event.get("event_type")) if isinstance(event, dict) else None
        head = f"event: {name}\n" if isinstance(name, str) else ""
        payload = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        spelled.append(f"{head}data: {payload}\n\n".encode())
    return b"".join(spelled)


# openai.chat


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A ChatCompletionChunk of one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "r1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def fragment(text: str = "", index: int = 0, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A delta with one fragment of one call."""
    call: dict[str, Any] = {"index": index, "function": {"arguments": text}}
    if id is not None:
        call |= {"id": id, "type": "function"}
    if name is not None:
        call["function"]["name"] = name
    return {"tool_calls": [call]}


def _chat_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames = [chunk({"role": "assistant"})]
    calls = 0
    for step in steps:
        if isinstance(step, Call):
            frames.append(chunk(fragment("", calls, step.id, step.name)))
            frames += [chunk(fragment(piece, calls)) for piece in step.pieces]
            calls += 1
        else:
            frames.append(chunk({"content" if isinstance(step, Say) else "reasoning_content": step.text}))
    if stop is None:
        return [sse(frame) for frame in frames]
    return [sse(frame) for frame in [*frames, chunk({}, stop)]] + [DONE]


def _chat_body(steps: Sequence[Step], stop: str | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for step in steps:
        if isinstance(step, Call):
            call = {"id": step.id, "type": "function", "function": {"name": step.name, "arguments": step.text}}
            message.setdefault("tool_calls", []).append(call)
        else:
            message["content" if isinstance(step, Say) else "reasoning_content"] = step.text
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return {"id": "r1", "object": "chat.completion", "model": "m", "choices": [choice]}


# openai.responses


def item_of(step: Step, number: int) -> dict[str, Any]:
    """The whole output item of a step."""
    if isinstance(step, Call):
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": step.id,
            "name": step.name,
            "arguments": step.text,
            "status": "completed" if step.closed else "incomplete",
        }
    if isinstance(step, Think):
        return {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": step.text}]}
    part = {"type": "output_text", "text": step.text, "annotations": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}


def added(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": place, "item": item}


def done(place: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": place, "item": item}


def grow(kind: str, place: int, text: str, **more: Any) -> dict[str, Any]:
    """A delta event of an output item."""
    return {"type": f"response.{kind}.delta", "output_index": place, "delta": text, **more}


CREATED = {
    "type": "response.created",
    "response": {"id": "r1", "object": "response", "model": "m", "status": "in_progress", "output": []},
}


def terminal(output: list[dict[str, Any]], stop: str = "completed", **more: Any) -> dict[str, Any]:
    """The terminal event of a Responses stream, the response inside it."""
    status = "completed" if stop == "completed" else "incomplete"
    response = {"id": "r1", "object": "response", "model": "m", "status": status, "output": output, **more}
    if status == "incomplete":
        response["incomplete_details"] = {"reason": stop}
    return {"type": f"response.{status}", "response": response}


def _responses_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames: list[dict[str, Any]] = [CREATED]
    output = []
    for number, step in enumerate(steps):
        item = item_of(step, number)
        output.append(item)
        if isinstance(step, Call):
            frames.append(added(number, {**item, "arguments": "", "status": "in_progress"}))
            frames += [grow("function_call_arguments", number, piece, item_id=item["id"]) for piece in step.pieces]
        elif isinstance(step, Say):
            frames.append(added(number, {**item, "content": [], "status": "in_progress"}))
            part = {"type": "output_text", "text": "", "annotations": []}
            place = {"output_index": number, "item_id": item["id"], "content_index": 0}
            frames.append({"type": "response.content_part.added", **place, "part": part})
            frames.append(grow("output_text", number, step.text, item_id=item["id"], content_index=0))
        else:
            frames.append(added(number, {**item, "summary": []}))
            frames.append(grow("reasoning_summary_text", number, step.text, item_id=item["id"], summary_index=0))
        if not isinstance(step, Call) or step.closed:
            frames.append(done(number, item))
    if stop is not None:
        frames.append(terminal(output, stop))
    return [sse(frame) for frame in frames]


def _responses_body(steps: Sequence[Step], stop: str | None) -> dict[str, Any]:
    output = [item_of(step, number) for number, step in enumerate(steps)]
    body: dict[str, Any] = terminal(output, stop or "completed")["response"]
    return body


# anthropic.messages


def block_start(place: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": place, "content_block": block}


def block_delta(place: int, kind: str, value: Any) -> dict[str, Any]:
    member = {"input_json": "partial_json", "citations": "citation"}.get(kind, kind)
    return {"type": "content_block_delta", "index": place, "delta": {"type": f"{kind}_delta", member: value}}


def block_stop(place: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": place}


def message_delta(stop: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, **more}


MESSAGE_START = {
    "type": "message_start",
    "message": {"id": "r1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None},
}
MESSAGE_STOP = {"type": "message_stop"}


def _content(step: Step) -> dict[str, Any]:
    if isinstance(step, Call):
        return {"type": "tool_use", "id": step.id, "name": step.name, "input": {}}
    return {"type": "text", "text": ""} if isinstance(step, Say) else {"type": "thinking", "thinking": ""}


def _anthropic_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames: list[dict[str, Any]] = [MESSAGE_START]
    for number, step in enumerate(steps):
        frames.append(block_start(number, _content(step)))
        if isinstance(step, Call):
            frames += [block_delta(number, "input_json", piece) for piece in step.pieces]
        else:
            frames.append(block_delta(number, "text" if isinstance(step, Say) else "thinking", step.text))
        if not isinstance(step, Call) or step.closed:
            frames.append(block_stop(number))
    if stop is not None:
        frames += [message_delta(stop), MESSAGE_STOP]
    return [sse(frame) for frame in frames]


def _anthropic_body(steps: Sequence[Step], stop: str | None) -> bytes:
    """Written by hand where the input is not a JSON object: there its spelling is the point."""
    blocks = []
    for step in steps:
        block = _content(step)
        if isinstance(step, Call):
            del block["input"]
            blocks.append(json.dumps(block)[:-1] + ', "input": ' + step.text + "}")
        else:
            block["text" if isinstance(step, Say) else "thinking"] = step.text
            blocks.append(json.dumps(block))
    head = json.dumps({**MESSAGE_START["message"], "stop_reason": stop, "content": "…"})  # type: ignore[dict-item]
    return head.replace(json.dumps("…"), "[" + ", ".join(blocks) + "]").encode()


# xai.grpc

CLIENT = chat_pb2.ToolCallType.Value("TOOL_CALL_TYPE_CLIENT_SIDE_TOOL")
ASSISTANT = chat_pb2.MessageRole.Value("ROLE_ASSISTANT")
TOOL = chat_pb2.MessageRole.Value("ROLE_TOOL")


def tool_call(text: str = "", id: str = "", name: str = "", type: int = CLIENT, **more: Any) -> Any:
    """A protobuf ToolCall."""
    return chat_pb2.ToolCall(id=id, type=type, function=chat_pb2.FunctionCall(name=name, arguments=text), **more)


def grpc_chunk(index: int = 0, finish: str | int = 0, role: int = ASSISTANT, usage: Any = None, **delta: Any) -> bytes:
    """A serialized GetChatCompletionChunk of one output."""
    output = chat_pb2.CompletionOutputChunk(
        index=index,
        delta=chat_pb2.Delta(role=role, **delta),
        finish_reason=finish,  # type: ignore[arg-type]
    )
    message: bytes = chat_pb2.GetChatCompletionChunk(
        id="r1", model="m", outputs=[output], usage=usage
    ).SerializeToString()
    return message


def grpc_output(index: int = 0, finish: str | int = 0, role: int = ASSISTANT, **message: Any) -> Any:
    """A protobuf CompletionOutput."""
    return chat_pb2.CompletionOutput(
        index=index,
        message=chat_pb2.CompletionMessage(role=role, **message),
        finish_reason=finish,  # type: ignore[arg-type]
    )


def grpc_body(*outputs: Any, **more: Any) -> bytes:
    """A serialized GetChatCompletionResponse."""
    message: bytes = chat_pb2.GetChatCompletionResponse(id="r1", model="m", outputs=outputs, **more).SerializeToString()
    return message


def _grpc_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames = []
    for step in steps:
        if isinstance(step, Call):
            head, *tail = step.pieces or [""]
            frames.append(grpc_chunk(tool_calls=[tool_call(head, step.id, step.name)]))
            frames += [grpc_chunk(tool_calls=[tool_call(piece)]) for piece in tail]
        elif isinstance(step, Say):
            frames.append(grpc_chunk(content=step.text))
        else:
            frames.append(grpc_chunk(reasoning_content=step.text))
    return frames if stop is None else [*frames, grpc_chunk(finish=stop)]


def _grpc_body(steps: Sequence[Step], stop: str | None) -> bytes:
    message: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, Call):
            message.setdefault("tool_calls", []).append(tool_call(step.text, step.id, step.name))
        else:
            message["content" if isinstance(step, Say) else "reasoning_content"] = step.text
    return grpc_body(grpc_output(finish=stop or 0, **message))


# google.gemini


def gemini(*parts: Any, finish: str | None = None, **more: Any) -> str:
    """The JSON of a response, or of a stream event, with one candidate. A part that is a text is its JSON."""
    spelled = ", ".join(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts)
    candidate = f'{{"content": {{"role": "model", "parts": [{spelled}]}}, "index": 0'
    ended = "" if finish is None else f', "finishReason": "{finish}"'
    head = json.dumps({"modelVersion": "m", "responseId": "r1", **more})
    return f'{{"candidates": [{candidate}{ended}}}], {head[1:]}'


def _gemini_part(step: Step) -> Any:
    """A part; that of a call is written by hand, because the spelling of its arguments is the point.

    The arguments of an unfinished call are in it if they are whole: its next event would add to them.
    """
    if isinstance(step, Say):
        return {"text": step.text}
    if isinstance(step, Think):
        return {"text": step.text, "thought": True}
    head = json.dumps({"id": step.id, "name": step.name})[:-1]
    arguments = f', "args": {step.text}' if step.closed or step.text.endswith("}") else ""
    more = "" if step.closed else ', "willContinue": true'
    return f'{{"functionCall": {head}{arguments}{more}}}}}'


def _gemini_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames = [gemini(_gemini_part(step)) for step in steps]
    return [sse(frame) for frame in (frames if stop is None else [*frames, gemini({"text": ""}, finish=stop)])]


def _gemini_body(steps: Sequence[Step], stop: str | None) -> bytes:
    return gemini(*(_gemini_part(step) for step in steps), finish=stop).encode()


# cohere.chat


def cohere_event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    """A stream event with members of the message in its delta."""
    event: dict[str, Any] = {"type": kind} if index is None else {"type": kind, "index": index}
    return {**event, "delta": {"message": message}} if message else event


COHERE_START = {
    **cohere_event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[]),
    "id": "r1",
}


def cohere_end(stop: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": stop, **more}}


def _cohere_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames: list[dict[str, Any]] = [COHERE_START]
    contents = calls = 0
    for step in steps:
        if isinstance(step, Call):
            head = {"id": step.id, "type": "function", "function": {"name": step.name, "arguments": ""}}
            frames.append(cohere_event("tool-call-start", calls, tool_calls=head))
            for piece in step.pieces:
                frames.append(cohere_event("tool-call-delta", calls, tool_calls={"function": {"arguments": piece}}))
            if step.closed:
                frames.append(cohere_event("tool-call-end", calls))
            calls += 1
        else:
            kind = "text" if isinstance(step, Say) else "thinking"
            frames.append(cohere_event("content-start", contents, content={"type": kind, kind: ""}))
            frames.append(cohere_event("content-delta", contents, content={kind: step.text}))
            frames.append(cohere_event("content-end", contents))
            contents += 1
    if stop is None:
        return [sse(frame) for frame in frames]
    return [sse(frame) for frame in [*frames, cohere_end(stop)]] + [DONE]


def _cohere_body(steps: Sequence[Step], stop: str | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    for step in steps:
        if isinstance(step, Call):
            call = {"id": step.id, "type": "function", "function": {"name": step.name, "arguments": step.text}}
            message.setdefault("tool_calls", []).append(call)
        else:
            kind = "text" if isinstance(step, Say) else "thinking"
            message.setdefault("content", []).append({"type": kind, kind: step.text})
    return {"id": "r1", "message": message, "finish_reason": stop}


# ollama.chat


def ollama_line(message: str, stop: str | None = None) -> bytes:
    """An event, or with a stop a whole body. ``message``: the members of the message besides its role, in JSON."""
    end = f'"done_reason":{json.dumps(stop)},"done":true' if stop else '"done":false'
    head = f'{{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{{"role":"assistant"{message}}}'
    return f"{head},{end}}}\n".encode()


def ollama_call(call: Call, index: int = 0) -> str:
    """The JSON of a call, by hand: the arguments are the given text, whether or not it is an object."""
    function = f'"index":{index},"name":{json.dumps(call.name)},"arguments":{call.text}'
    return f'{{"id":{json.dumps(call.id)},"function":{{{function}}}}}'


def _ollama_message(steps: Sequence[Step]) -> str:
    said = {"content": ""}
    calls = []
    for step in steps:
        if isinstance(step, Call):
            calls.append(ollama_call(step, len(calls)))
        else:
            said["content" if isinstance(step, Say) else "thinking"] = step.text
    members = [f',"{name}":{json.dumps(text, ensure_ascii=False)}' for name, text in said.items()]
    return "".join(members) + (f',"tool_calls":[{",".join(calls)}]' if calls else "")


def _ollama_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames = [ollama_line(_ollama_message([step])) for step in steps]
    return frames if stop is None else [*frames, ollama_line(_ollama_message([]), stop)]


def _ollama_body(steps: Sequence[Step], stop: str | None) -> bytes:
    return ollama_line(_ollama_message(steps), stop)


# google.interactions


def interaction(status: str, **more: Any) -> dict[str, Any]:
    """An interaction without its steps."""
    return {"id": "r1", "object": "interaction", "model": "m", "status": status, **more}


def step_start(place: int, step: dict[str, Any]) -> dict[str, Any]:
    return {"index": place, "step": step, "event_type": "step.start"}


def step_delta(place: int, kind: str, **members: Any) -> dict[str, Any]:
    return {"index": place, "delta": {"type": kind, **members}, "event_type": "step.delta"}


def step_stop(place: int) -> dict[str, Any]:
    return {"index": place, "event_type": "step.stop"}


INTERACTION_CREATED = {
    "interaction": interaction("in_progress"),
    "event_type": "interaction.created",
}
INTERACTION_DONE = b"event: done\n" + DONE


def interaction_completed(status: str, **more: Any) -> dict[str, Any]:
    return {"interaction": interaction(status, **more), "event_type": "interaction.completed"}


def _begun_step(step: Step) -> dict[str, Any]:
    if isinstance(step, Call):
        return {"type": "function_call", "id": step.id, "name": step.name, "arguments": {}}
    return {"type": "model_output" if isinstance(step, Say) else "thought"}


def _interaction_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames: list[dict[str, Any]] = [INTERACTION_CREATED]
    for number, step in enumerate(steps):
        frames.append(step_start(number, _begun_step(step)))
        if isinstance(step, Call):
            frames += [step_delta(number, "arguments_delta", arguments=piece) for piece in step.pieces]
        elif isinstance(step, Say):
            frames.append(step_delta(number, "text", text=step.text))
        else:
            frames.append(step_delta(number, "thought_summary", content={"type": "text", "text": step.text}))
        if not isinstance(step, Call) or step.closed:
            frames.append(step_stop(number))
    if stop is None:
        return [sse(frame) for frame in frames]
    return [sse(frame) for frame in [*frames, interaction_completed(stop)]] + [INTERACTION_DONE]


def _interaction_body(steps: Sequence[Step], stop: str | None) -> bytes:
    """Written by hand where the arguments are not a JSON object: there their spelling is the point."""
    written = []
    for step in steps:
        members = _begun_step(step)
        if isinstance(step, Call):
            del members["arguments"]
            written.append(json.dumps(members)[:-1] + ', "arguments": ' + step.text + "}")
        else:
            text = [{"type": "text", "text": step.text}]
            written.append(json.dumps({**members, "content" if isinstance(step, Say) else "summary": text}))
    head = json.dumps(interaction(stop or "completed", steps="…"))
    return head.replace(json.dumps("…"), "[" + ", ".join(written) + "]").encode()


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


def _converse_frames(steps: Sequence[Step], stop: str | None) -> list[bytes]:
    frames = [eventstream.event("messageStart", {"role": "assistant"})]
    for number, step in enumerate(steps):
        if isinstance(step, Call):
            frames.append(converse_start(number, step.id, step.name))
            frames += [converse_delta(number, toolUse={"input": piece}) for piece in step.pieces]
        elif isinstance(step, Say):
            frames.append(converse_delta(number, text=step.text))
        else:
            frames.append(converse_delta(number, reasoningContent={"text": step.text}))
        if not isinstance(step, Call) or step.closed:
            frames.append(converse_stop(number))
    return frames if stop is None else [*frames, eventstream.event("messageStop", {"stopReason": stop})]


def _converse_body(steps: Sequence[Step], stop: str | None) -> bytes:
    """Written by hand where the input is not a JSON object, as above."""
    blocks = []
    for step in steps:
        if isinstance(step, Call):
            head = json.dumps({"toolUseId": step.id, "name": step.name})
            blocks.append('{"toolUse": ' + head[:-1] + ', "input": ' + step.text + "}}")
        elif isinstance(step, Say):
            blocks.append(json.dumps({"text": step.text}))
        else:
            blocks.append(json.dumps({"reasoningContent": {"reasoningText": {"text": step.text}}}))
    body = json.dumps({"output": {"message": {"role": "assistant", "content": "…"}}, "stopReason": stop})
    return body.replace(json.dumps("…"), "[" + ", ".join(blocks) + "]").encode()


_FRAMES: dict[str, Any] = {
    "openai.chat": _chat_frames,
    "openai.responses": _responses_frames,
    "anthropic.messages": _anthropic_frames,
    "xai.grpc": _grpc_frames,
    "google.gemini": _gemini_frames,
    "cohere.chat": _cohere_frames,
    "ollama.chat": _ollama_frames,
    "google.interactions": _interaction_frames,
    "bedrock.converse": _converse_frames,
}
_BODIES: dict[str, Any] = {
    "openai.chat": _chat_body,
    "openai.responses": _responses_body,
    "anthropic.messages": _anthropic_body,
    "xai.grpc": _grpc_body,
    "google.gemini": _gemini_body,
    "cohere.chat": _cohere_body,
    "ollama.chat": _ollama_body,
    "google.interactions": _interaction_body,
    "bedrock.converse": _converse_body,
}
assert _FRAMES.keys() == _BODIES.keys() == set(WIRES)


def stream(wire: str, steps: Sequence[Step], stop: str | None = "tool_calls") -> list[bytes]:
    """The frames of a streamed answer; without a stop it breaks off before its terminal event."""
    frames: list[bytes] = _FRAMES[wire](steps, STOPS[wire][stop] if stop else None)
    return frames


def plain(wire: str, steps: Sequence[Step], stop: str = "tool_calls") -> bytes:
    """The body of the same answer, not streamed."""
    body = _BODIES[wire](steps, STOPS[wire][stop])
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def play(wire: str, frames: bytes | Sequence[bytes], **options: Any) -> Response:
    """The response of a stream. Bytes are fed whole and byte by byte; both must give the same (law `any-split`)."""
    if wire == "xai.grpc":
        return feed(wire, [frames] if isinstance(frames, bytes) else frames, **options)[0]
    body = frames if isinstance(frames, bytes) else b"".join(frames)
    whole, _ = feed(wire, [body], **options)
    bytewise, _ = feed(wire, [body[at : at + 1] for at in range(len(body))], **options)
    assert bytewise == whole
    assert bytewise.findings == whole.findings
    return whole


def feed(wire: str, pieces: Sequence[bytes], **options: Any) -> tuple[Response, list[Event]]:
    """The response and the canonical events of a stream in these pieces."""
    decoder = StreamDecoder(wire, **options)
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return decoder.finish(), events


def both(wire: str, steps: Sequence[Step], stop: str, **options: Any) -> list[Response]:
    """The responses of the plain and of the streamed form."""
    return [normalize(plain(wire, steps, stop), wire, **options), play(wire, stream(wire, steps, stop), **options)]


def codes(response: Response) -> list[str]:
    """The codes of all findings, in order."""
    return [finding.code for finding in response.findings]


def ran(response: Response, policy: str = "all") -> list[str]:
    """The ids of the calls that a policy keeps."""
    return [ref.id for ref in select(response, policy).kept]


def assert_not_executed(response: Response, calls: int | None = None) -> None:
    """No policy keeps or merely drops a call of this response: every one is rejected."""
    places = [(choice.index, at, block.id) for choice, at, block in response.walk() if isinstance(block, ToolCall)]
    if calls is not None:
        assert len(places) == calls
    for policy in POLICIES:
        selection = select(response, policy)
        assert (selection.kept, selection.dropped) == ([], [])
        assert [(ref.choice, ref.block, ref.id) for ref in selection.rejected] == places
