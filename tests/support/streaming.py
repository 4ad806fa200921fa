"""Whole bodies given as streams: what each provider would have sent for the same answer, cut at random places.

Only well-behaved servers live here; how real ones misbehave is reported in `tests/normalizer/failures`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

from xai_sdk.proto import chat_pb2

from tests.support import eventstream
from tests.support.wires import EVENT_STREAM_WIRES

Json = dict[str, Any]


def pieces(text: str, chance: Random) -> list[str]:
    """The text in one to six pieces, none empty."""
    edges = sorted({0, len(text), *(chance.randint(0, len(text)) for _ in range(chance.randint(0, 5)))})
    return [text[start:end] for start, end in pairwise(edges)]


def _sse(events: list[Json], *, named: bool) -> bytes:
    out = []
    for event in events:
        data = b"data: " + json.dumps(event).encode() + b"\n\n"
        name = event.get("type", event.get("event_type"))
        out.append(f"event: {name}\n".encode() + data if named else data)
    return b"".join(out)


def chat(body: Json, chance: Random) -> bytes:
    """Chat Completions: deltas of every choice in turn, then the stop reasons, then the usage alone."""
    head = {key: body[key] for key in body if key not in ("choices", "usage", "object")}
    head["object"] = "chat.completion.chunk"
    chunks: list[Json] = []
    choices = [{"index": place, **choice} for place, choice in enumerate(body["choices"])]

    def say(choice: Json, delta: Json, **more: Any) -> None:
        chunks.append({**head, "choices": [{"index": choice["index"], "delta": delta, "finish_reason": None, **more}]})

    for choice in choices:
        message = choice["message"]
        say(choice, {"role": "assistant", "content": None})
        for member in ("reasoning_content", "reasoning", "content", "refusal"):
            if isinstance(message.get(member), str):
                for piece in pieces(message[member], chance):
                    say(choice, {member: piece})
            elif message.get(member):
                say(choice, {member: message[member]})
        for index, call in enumerate(message.get("tool_calls") or ()):
            kind, member = ("custom", "input") if call.get("custom") else ("function", "arguments")
            opening = {**call, "index": index, kind: {**call[kind], member: ""}}
            say(choice, {"tool_calls": [opening]})
            for piece in pieces(call[kind].get(member) or "", chance):
                say(choice, {"tool_calls": [{"index": index, kind: {member: piece}}]})
        legacy = message.get("function_call")
        if legacy:
            say(choice, {"function_call": {"name": legacy["name"], "arguments": ""}})
            for piece in pieces(legacy["arguments"], chance):
                say(choice, {"function_call": {"arguments": piece}})
        rest = {k: v for k, v in message.items() if k not in _CHAT_TOLD}
        if rest:
            say(choice, rest)
    for choice in choices:
        more = {key: value for key, value in choice.items() if key not in ("index", "message", "delta")}
        say(choice, {}, **more)
    if body.get("usage") is not None:
        chunks.append({**head, "choices": [], "usage": body["usage"]})
    return _sse(chunks, named=False) + b"data: [DONE]\n\n"


_CHAT_TOLD = (
    "role",
    "content",
    "reasoning",
    "reasoning_content",
    "refusal",
    "tool_calls",
    "function_call",
)


def messages(body: Json, chance: Random) -> bytes:
    """Anthropic: each content block begins, grows and stops; the stop reason and the final usage come after them."""
    begun = {**body, "content": [], "stop_reason": None, "stop_sequence": None}
    late = ("stop_reason", "stop_sequence", "container", "stop_details")
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(body["content"]):
        opening, deltas = _opened(block, chance)
        events.append({"type": "content_block_start", "index": index, "content_block": opening})
        events += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    events.append(
        {"type": "message_delta", "delta": {k: body[k] for k in late if k in body}, "usage": body.get("usage") or {}}
    )
    events.append({"type": "message_stop"})
    return _sse(events, named=True)


def _opened(block: Json, chance: Random) -> tuple[Json, list[Json]]:
    kind = block["type"]
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], chance)]
        cited = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
        return {**block, "text": "", "citations": [] if cited else block.get("citations")}, cited + deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], chance)]
        return {**block, "thinking": "", "signature": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block.get("signature") or ""},
        ]
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        spelled = json.dumps(block["input"], ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(spelled, chance)]
        ]
    return block, []


def responses(body: Json, chance: Random) -> bytes:
    """Responses: each item is added, grows, is done; the terminal event repeats the output, or leaves it empty."""
    unfinished = {**body, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": unfinished}]
    for index, item in enumerate(body["output"]):
        place = {"output_index": index, "item_id": item.get("id")}
        events.append({"type": "response.output_item.added", "output_index": index, "item": _added(item)})
        events += ({**place, **event} for event in _grown(item, chance))
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    status = body.get("status") or "completed"
    output = [] if chance.random() < 0.3 else body["output"]
    kind = status if status in ("incomplete", "failed") else "completed"
    events.append({"type": f"response.{kind}", "response": {**body, "output": output}})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return _sse(events, named=True)


_TEXTS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "code_interpreter_call": ("code", "response.code_interpreter_call_code"),
}


def _added(item: Json) -> Json:
    kind = item["type"]
    if kind == "message":
        return {**item, "content": [], "status": "in_progress"}
    if kind == "reasoning":
        return {**item, "summary": []}
    if kind in _TEXTS:
        return {**item, _TEXTS[kind][0]: "", "status": "in_progress"}
    return item


def _grown(item: Json, chance: Random) -> Iterator[Json]:
    kind = item["type"]
    if kind == "message":
        for number, part in enumerate(item["content"]):
            member, name = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
            yield {"type": "response.content_part.added", "content_index": number, "part": {**part, member: ""}}
            for piece in pieces(part[member], chance):
                yield {"type": f"response.{name}.delta", "content_index": number, "delta": piece}
            yield {"type": f"response.{name}.done", "content_index": number, member: part[member]}
    elif kind == "reasoning":
        for number, part in enumerate(item.get("summary") or ()):
            for piece in pieces(part["text"], chance):
                yield {"type": "response.reasoning_summary_text.delta", "summary_index": number, "delta": piece}
    elif kind in _TEXTS and isinstance(item.get(_TEXTS[kind][0]), str):
        member, name = _TEXTS[kind]
        for piece in pieces(item[member], chance):
            yield {"type": f"{name}.delta", "delta": piece}
        yield {"type": f"{name}.done", member: item[member]}


def grpc(message: chat_pb2.GetChatCompletionResponse, chance: Random) -> list[bytes]:
    """xAI: words in pieces, calls whole, the finish reason and the usage in the last chunk."""
    chunks = []

    def chunk() -> Any:
        chunks.append(chat_pb2.GetChatCompletionChunk(id=message.id, model=message.model))
        return chunks[-1]

    for output in message.outputs:
        said = output.message

        def delta(index: int = output.index, role: int = said.role) -> Any:
            return chunk().outputs.add(index=index, delta={"role": role}).delta

        for piece in pieces(said.reasoning_content, chance):
            delta().reasoning_content = piece
        if said.encrypted_content:
            delta().encrypted_content = said.encrypted_content
        for piece in pieces(said.content, chance):
            delta().content = piece
        for call in said.tool_calls:
            delta().tool_calls.add().CopyFrom(call)
        for citation in said.citations:
            delta().citations.add().CopyFrom(citation)
    last = chunk()
    for output in message.outputs:
        last.outputs.add(index=output.index, finish_reason=output.finish_reason)
        if output.HasField("logprobs"):
            last.outputs[-1].logprobs.CopyFrom(output.logprobs)
    for name in ("usage", "created", "debug_output"):
        if message.HasField(name):
            getattr(last, name).CopyFrom(getattr(message, name))
    last.citations.extend(message.citations)
    last.system_fingerprint = message.system_fingerprint
    last.service_tier = message.service_tier
    return [each.SerializeToString() for each in chunks]


def cohere(body: Json, chance: Random) -> bytes:
    """Cohere: the plan, the contents and the calls grow one after the other; citations follow their content."""
    message = body["message"]
    events: list[Json] = [
        {
            "type": "message-start",
            "id": body["id"],
            "delta": {
                "message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
            },
        }
    ]

    def grow(kind: str, index: int | None = None, **members: Any) -> None:
        place = {} if index is None else {"index": index}
        delta = {"delta": {"message": members}} if members else {}
        events.append({"type": kind, **place, **delta})

    for piece in pieces(message.get("tool_plan") or "", chance):
        grow("tool-plan-delta", tool_plan=piece)
    for index, content in enumerate(message.get("content") or ()):
        kind = content["type"]
        grow("content-start", index, content={**content, kind: ""} if kind in ("text", "thinking") else content)
        for piece in pieces(content.get(kind) or "", chance) if kind in ("text", "thinking") else ():
            grow("content-delta", index, content={kind: piece})
        grow("content-end", index)
    for index, citation in enumerate(message.get("citations") or ()):
        grow("citation-start", index, citations=citation)
        grow("citation-end", index)
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        grow("tool-call-start", index, tool_calls={**call, "function": {**function, "arguments": ""}})
        for piece in pieces(function.get("arguments") or "", chance):
            grow("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
        grow("tool-call-end", index)
    late = {key: body[key] for key in ("finish_reason", "usage") if key in body}
    events.append({"type": "message-end", "delta": late})
    return _sse(events, named=True) + b"data: [DONE]\n\n"


def converse(body: Json, chance: Random) -> bytes:
    """Converse: text and reasoning begin with their first delta, calls with a start; the figures come last."""
    events: list[tuple[str, Json]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(body["output"]["message"]["content"]):
        place = {"contentBlockIndex": index}
        start, deltas = _converse_block(block, chance)
        if start:
            events.append(("contentBlockStart", {**place, "start": start}))
        events += (("contentBlockDelta", {**place, "delta": delta}) for delta in deltas)
        events.append(("contentBlockStop", place))
    late = {key: body[key] for key in ("usage", "metrics", "trace") if key in body}
    events += [("messageStop", {"stopReason": body["stopReason"]}), ("metadata", late)]
    return b"".join(eventstream.event(kind, {**event, "p": "abc"}) for kind, event in events)


def _converse_block(block: Json, chance: Random) -> tuple[Json, list[Json]]:
    if "text" in block:
        return {}, [{"text": piece} for piece in pieces(block["text"], chance)]
    if "toolUse" in block:
        call = {key: value for key, value in block["toolUse"].items() if key != "input"}
        text = json.dumps(block["toolUse"]["input"], ensure_ascii=False)
        return {"toolUse": call}, [{"toolUse": {"input": piece}} for piece in pieces(text, chance)]
    if "toolResult" in block:
        result = {key: value for key, value in block["toolResult"].items() if key != "content"}
        return {"toolResult": result}, [{"toolResult": [part]} for part in block["toolResult"]["content"]]
    if "citationsContent" in block:
        cited = block["citationsContent"]
        deltas = [{"citation": citation} for citation in cited["citations"]]
        return {}, deltas + [{"text": piece} for part in cited["content"] for piece in pieces(part["text"], chance)]
    content = block["reasoningContent"]
    if "redactedContent" in content:
        return {}, [{"reasoningContent": content}]
    thought = content["reasoningText"]
    deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(thought["text"], chance)]
    signature = thought.get("signature")
    return {}, [*deltas, {"reasoningContent": {"signature": signature}}] if signature else deltas


def gemini(body: Json, chance: Random) -> bytes:
    """Gemini: each event has the next parts; texts come in pieces, and the signature of a text in an empty one."""
    head = {key: value for key, value in body.items() if key not in ("candidates", "usageMetadata")}
    events: list[Json] = []
    for place, candidate in enumerate(body.get("candidates") or ()):
        index = candidate.get("index", place)

        def say(*parts: Json, at: int = index, **more: Any) -> None:
            content = {"parts": list(parts), "role": "model"}
            events.append({"candidates": [{"content": content, "index": at, **more}], **head})

        for part in (candidate.get("content") or {}).get("parts") or ():
            text = part.get("text") if isinstance(part, dict) else None
            if not isinstance(text, str) or not text:
                say(part)
                continue
            rest = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
            for piece in pieces(text, chance):
                say({"text": piece, **rest})
            if "thoughtSignature" in part:
                say({"text": "", **rest, "thoughtSignature": part["thoughtSignature"]})
        say({"text": ""}, **{key: value for key, value in candidate.items() if key not in ("content", "index")})
    if not events:
        events.append(dict(head))
    if "usageMetadata" in body:
        events[-1]["usageMetadata"] = body["usageMetadata"]
    return _sse(events, named=False)


def ollama(body: Json, chance: Random) -> bytes:
    """Ollama: thoughts and words in pieces, each call whole; the stop reason and the figures in the last line."""
    message = body["message"]
    said: list[Json] = []
    for member in ("thinking", "content"):
        said += [{"content": "", member: piece} for piece in pieces(message.get(member) or "", chance)]
    said += [{"content": "", "tool_calls": [call]} for call in message.get("tool_calls") or ()]
    head = {"model": body["model"], "created_at": body.get("created_at")}
    events = [{**head, "message": {"role": "assistant", **delta}, "done": False} for delta in said]
    rest = {name: value for name, value in message.items() if name not in ("thinking", "content", "tool_calls")}
    events.append({**body, "message": {**rest, "content": ""}})
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def interactions(body: Json, chance: Random) -> bytes:
    """Interactions: each step starts, grows and stops; the end has the interaction without its steps."""
    head = {name: value for name, value in body.items() if name != "steps"}
    begun = {"id": body["id"], "model": body.get("model"), "object": "interaction", "status": "in_progress"}
    events: list[Json] = [{"event_type": "interaction.created", "interaction": begun}]
    for index, step in enumerate(body.get("steps") or ()):
        start, deltas = _interaction_step(step, chance)
        events.append({"event_type": "step.start", "index": index, "step": start})
        events += ({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"event_type": "step.stop", "index": index})
    events.append({"event_type": "interaction.completed", "interaction": head})
    return _sse(events, named=True) + b"event: done\ndata: [DONE]\n\n"


def _interaction_step(step: Json, chance: Random) -> tuple[Json, list[Json]]:
    kind = step["type"]
    deltas: list[Json] = []
    if kind == "function_call":
        text = json.dumps(step.get("arguments"), ensure_ascii=False)
        return {**step, "arguments": {}}, [
            {"type": "arguments_delta", "arguments": piece} for piece in pieces(text, chance)
        ]
    if kind == "thought":
        for content in step.get("summary") or ():
            texts = pieces(content["text"], chance)
            deltas += [{"type": "thought_summary", "content": {**content, "text": piece}} for piece in texts]
        if "signature" in step:
            deltas.append({"type": "thought_signature", "signature": step["signature"]})
        return {name: value for name, value in step.items() if name not in ("summary", "signature")}, deltas
    if kind == "model_output" and all(content["type"] == "text" for content in step.get("content") or ()):
        for content in step.get("content") or ():
            deltas += [{"type": "text", "text": piece} for piece in pieces(content["text"], chance)]
            if content.get("annotations"):
                deltas.append({"type": "text_annotation_delta", "annotations": content["annotations"]})
        return {name: value for name, value in step.items() if name != "content"}, deltas
    return step, []


def events_of(wire: str, stream: bytes) -> list[Any]:
    """The parsed events of a well-behaved stream, in the form in which `StreamDecoder` takes them."""
    if wire in EVENT_STREAM_WIRES:
        found = eventstream.messages(stream)
        return [{headers[":event-type"]: json.loads(payload)} for headers, payload in found]
    lines = [line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith((b"data: {", b"{"))]
    return [json.loads(line) for line in lines]


AS_STREAM: dict[str, Callable[[Json, Random], bytes]] = {
    "google.gemini": gemini,
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": messages,
    "cohere.chat": cohere,
    "ollama.chat": ollama,
    "google.interactions": interactions,
    "bedrock.converse": converse,
}
