"""Bedrock's Converse and ConverseStream: bodies, events and error responses, in the format of recorded traffic.

Sources: recorded responses, event streams, headers and error bodies; the service model `bedrock-runtime` of botocore.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator
from itertools import cycle
from typing import Any, NamedTuple
from zlib import crc32

from toolparity.normalizer import json_codec

from ..scripts import Part, ScriptedCall, ServerCall, Think
from .encoding import Encoding
from .script_player import Play, ProviderRefusal

ENCODING = Encoding(stream_type="application/vnd.amazon.eventstream")
_ENDINGS = {"length": "max_tokens", "content_filter": "content_filtered"}
#: `ProviderRefusal.kind` -> HTTP status and the name of the exception.
_ERRORS = {
    "invalid_request": (400, "ValidationException"),
    "authentication": (403, "UnrecognizedClientException"),
    "not_found": (404, "ResourceNotFoundException"),
    "rate_limit": (429, "ThrottlingException"),
    "server_error": (500, "InternalServerException"),
    "overloaded": (503, "ServiceUnavailableException"),
}
#: Bedrock's messages for errors that the request does not cause.
_WORDS = {
    "authentication": "The security token included in the request is invalid.",
    "rate_limit": "Too many requests, please wait before trying again.",
    "server_error": "The system encountered an unexpected error during processing. Try your request again.",
    "overloaded": "Bedrock is unable to process your request.",
}
#: Canonical hosted tool -> system tool. Search results of Nova are not recorded, so it is not emulated.
_SYSTEM_TOOLS = {"code_execution": "nova_code_interpreter"}
#: The counts of the cache, under both names, in bodies of Claude. Its streams, and other models, have them only if
#: something was cached.
_NO_CACHE = dict.fromkeys((f"cache{kind}InputToken{name}" for kind in ("Read", "Write") for name in ("Count", "s")), 0)
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Block(NamedTuple):
    """The forms of a content block: complete, at the start of its stream (None for text), and its deltas.

    ``cut``: the answer ends inside the block, so the stream does not stop it.
    """

    whole: dict[str, Any]
    start: dict[str, Any] | None
    deltas: list[dict[str, Any]]
    cut: bool = False


def answer(play: Play) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    content = [block.whole for block in _blocks(play, play.parts)]
    return {
        "metrics": _metrics(play),
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": _stop(play),
        "usage": _usage(play, _NO_CACHE if "anthropic." in play.model else {}),
    }


def events(play: Play) -> Iterator[bytes]:
    """Yield the messages of the streamed body. Raises ConnectionReset where the script says so."""
    pads = cycle(int(figure, 16) for figure in play.hex("pads", 48))
    yield _event(next(pads), "messageStart", role="assistant")
    for index, block in enumerate(_blocks(play, play.streamed_parts)):
        if block.start is not None:
            yield _event(next(pads), "contentBlockStart", contentBlockIndex=index, start=block.start)
        for delta in block.deltas:
            yield _event(next(pads), "contentBlockDelta", contentBlockIndex=index, delta=delta)
        if not block.cut:
            yield _event(next(pads), "contentBlockStop", contentBlockIndex=index)
    if play.fault is None:
        yield _event(next(pads), "messageStop", stopReason=_stop(play))
        yield _event(next(pads), "metadata", metrics=_metrics(play), usage=_usage(play, {}))
    elif (refused := play.failure()) is not None:
        _, _, body = error(refused)
        name = _ERRORS.get(refused.kind, _ERRORS["server_error"])[1]
        yield message(
            json_codec.encode(body),
            {
                ":exception-type": name[0].lower() + name[1:],
                ":content-type": "application/json",
                ":message-type": "exception",
            },
        )


def message(payload: bytes, headers: dict[str, str]) -> bytes:
    """Return one message of an AWS event stream. Source: AWS, Event Stream Encoding."""
    spelled = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(spelled) + len(payload), len(spelled))
    checked = prelude + struct.pack(">I", crc32(prelude)) + spelled + payload
    return checked + struct.pack(">I", crc32(checked))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(text)) + text


def _event(pad: int, type: str, **members: Any) -> bytes:
    """Return one event, with padding that hides its length."""
    payload = json_codec.encode({**members, "p": _PADDING[: 4 + 3 * pad]})
    headers = {":event-type": type, ":content-type": "application/json", ":message-type": "event"}
    return message(payload, headers)


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, additional headers and body of an error response."""
    status, name = _ERRORS.get(refused.kind, _ERRORS["server_error"])
    status = refused.status or status
    headers = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
    if refused.retry_after is not None:
        headers["retry-after"] = str(refused.retry_after)
    return status, headers, {"message": _words(refused)}


def wrap_error(error: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an error response."""
    return {"message": error.get("message", "")}


def model_entry(model: str, provider: str) -> dict[str, Any]:
    """Return the description of a model, as ListFoundationModels does."""
    return {
        "modelArn": f"arn:aws:bedrock:us-east-1::foundation-model/{model}",
        "modelId": model,
        "modelName": model,
        "providerName": model.removeprefix("us.").partition(".")[0],
        "inputModalities": ["TEXT"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "inferenceTypesSupported": ["ON_DEMAND"],
    }


def model_list(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models."""
    return {"modelSummaries": entries}


def _words(refused: ProviderRefusal) -> str:
    if refused.kind in _WORDS:
        return _WORDS[refused.kind]
    if refused.kind == "not_found" or refused.path in ("model", "modelId"):
        return "The provided model identifier is invalid."
    path = re.sub(r"\[(\d+)\]", r".\1", refused.path or "")
    return f"The value at {path} is invalid: {refused.message}" if path and path != "$" else refused.message


def headers(play: Play) -> dict[str, str]:
    """Return the provider's headers of an answer."""
    return {"x-amzn-requestid": play.uuid("request")}


def _blocks(play: Play, parts: list[Part]) -> Iterator[Block]:
    for number, part in enumerate(parts):
        if isinstance(part, Think):
            if _thinks(play):
                yield _thought(play, part, number)
        elif isinstance(part, ServerCall):
            yield from _executed(play, part, number)
        elif isinstance(part, ScriptedCall):
            yield _call(play, part, number)
        else:
            yield Block({"text": part.text}, None, [{"text": piece} for piece in play.pieces(part.text)])


def _call(play: Play, part: ScriptedCall, number: int) -> Block:
    id = part.id if part.id is not None else _id(play, f"call {number}")
    head = {"name": part.tool, "toolUseId": id}
    cut = play.round.ending == "length" and part is play.parts[-1]
    return Block({"toolUse": {"input": _input(part.text), **head}}, {"toolUse": head}, _inputs(play, part.text), cut)


def _executed(play: Play, part: ServerCall, number: int) -> Iterator[Block]:
    """Yield a call of the code interpreter and its result, as Nova sends them."""
    head = {"name": _SYSTEM_TOOLS[part.tool], "toolUseId": _id(play, f"server {number}"), "type": "server_tool_use"}
    text = json_codec.text({"snippet": part.arguments.get("code", "")})
    yield Block({"toolUse": {"input": _input(text), **head}}, {"toolUse": head}, _inputs(play, text))
    failed = part.failed is not None
    output = {"exitCode": int(failed), "isError": failed, "stdErr": part.failed or "", "stdOut": part.output or ""}
    result = {
        "status": "error" if failed else "success",
        "toolUseId": head["toolUseId"],
        "type": f"{head['name']}_result",
    }
    yield Block(
        {"toolResult": {"content": [{"json": output}], **result}},
        {"toolResult": result},
        [{"toolResult": [{"json": output}]}],
    )


def _thought(play: Play, part: Think, number: int) -> Block:
    if part.withheld:
        redacted = {"redactedContent": base64.b64encode(play.noise(f"withheld {number}", 480)).decode()}
        return Block({"reasoningContent": redacted}, None, [{"reasoningContent": redacted}])
    signature = base64.b64encode(play.noise(f"signature {number}", 280)).decode()
    deltas = [{"reasoningContent": {"text": piece}} for piece in play.pieces(part.text)]
    return Block(
        {"reasoningContent": {"reasoningText": {"signature": signature, "text": part.text}}},
        None,
        [*deltas, {"reasoningContent": {"signature": signature}}],
    )


def _thinks(play: Play) -> bool:
    """Return whether the request enables Claude's thinking."""
    fields = play.body.get("additionalModelRequestFields")
    thinking = fields.get("thinking") if isinstance(fields, dict) else None
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def _id(play: Play, what: str) -> str:
    return f"tooluse_{play.id(what, 22)}"


def _input(text: str) -> Any:
    """Return the arguments as a JSON value. A plain body has no place for invalid text, so that becomes ``{}``."""
    try:
        return json_codec.decode(text) if text else {}
    except ValueError:
        return {}


def _inputs(play: Play, text: str) -> list[dict[str, Any]]:
    """Return the deltas of an input, one empty delta for an empty text."""
    return [{"toolUse": {"input": piece}} for piece in play.pieces(text) or [""]]


def _stop(play: Play) -> str:
    if play.round.ending in _ENDINGS:
        return _ENDINGS[play.round.ending]
    return "tool_use" if play.calls else "end_turn"


def _metrics(play: Play) -> dict[str, Any]:
    return {"latencyMs": 400 + int(play.hex("latency", 3), 16)}


def _usage(play: Play, cache: dict[str, int]) -> dict[str, Any]:
    server_calls = [json_codec.text(part.arguments) for part in play.parts if isinstance(part, ServerCall)]
    used = play.usage(server_calls, reasons=_thinks(play))
    counts = {"inputTokens": used.input, "outputTokens": used.output, "totalTokens": used.input + used.output}
    return {**counts, **cache, "serverToolUsage": {}}
