"""Gemini's generateContent and streamGenerateContent: bodies, events and error responses, as in recorded traffic.

Sources: recorded responses and streams; https://ai.google.dev/gemini-api/docs/thought-signatures for the parts with a
signature; https://ai.google.dev/gemini-api/docs/tool-combination for the searches, which the service only shows if the
request sets `includeServerSideToolInvocations`. Calls mostly have no ids: here, scripted ones and those beside searches
have one.
"""

from __future__ import annotations

import base64
import string
from collections.abc import Iterator
from itertools import count
from typing import Any

from toolparity.normalizer import json_codec

from ..scripts import Hit, Part, ScriptedCall, ServerCall, Think
from .encoding import Encoding
from .google_interactions import headers, model_list
from .script_player import Play, ProviderRefusal

__all__ = ("ENCODING", "answer", "error", "events", "headers", "model_entry", "model_list")

ENCODING = Encoding(stream_type="text/event-stream", indented=True)

#: The alphabet of response ids.
_BASE64URL = string.ascii_letters + string.digits + "-_"
_OF_CALL_IDS = string.ascii_lowercase + string.digits
_ENDINGS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
#: Beginning of the model's name -> members that most recorded answers of the model have and those of others lack. The
#: first that matches. "candidatesTokenCount": in each event. "last": the stream ends with an event that has no content.
_MEMBERS = {
    "gemini-2.0": "avgLogprobs candidatesTokensDetails serviceTier",
    "gemini-2.5": "candidatesTokenCount finishMessage index serviceTier thoughtSignature",
    "": "candidatesTokenCount finishMessage index last thoughtSignature",
}
#: `ProviderRefusal.kind` -> HTTP status and the name of the error.
_ERRORS = {
    "invalid_request": (400, "INVALID_ARGUMENT"),
    "authentication": (400, "INVALID_ARGUMENT"),
    "not_found": (404, "NOT_FOUND"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "server_error": (500, "INTERNAL"),
    "overloaded": (503, "UNAVAILABLE"),
}
#: Messages for errors that the request does not cause.
_WORDS = {
    "authentication": "API key not valid. Please pass a valid API key.",
    "rate_limit": "Resource exhausted. Please try again later.",
    "server_error": "An internal error has occurred. Please retry or report in https://developers.generativeai.google",
    "overloaded": "The model is overloaded. Please try again later.",
}
_KEY_INVALID = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "generativelanguage.googleapis.com"},
}

_Json = dict[str, Any]


def answer(play: Play) -> _Json:
    """Return the body of an answer that is not streamed."""
    parts = [member for part in _parts(play, play.parts) for member in part[:1]]
    if parts and "text" in parts[-1] and not play.calls:
        parts[-1] = {**parts[-1], **_signature(play)}
    return _response(play, parts, _end(play) | _sent(play, avgLogprobs=_mean_logprob(play)), _usage(play))


def events(play: Play) -> Iterator[bytes]:
    """Yield the events of the streamed body. Raises ConnectionReset where the script says so."""
    sent = [piece for _, *pieces in _parts(play, play.streamed_parts) for piece in pieces]
    alone = _sends(play, "last") or not sent
    if play.fault is None and alone:
        sent.append({"text": ""} if play.calls else {"text": "", **_signature(play)})
    last = sent.pop() if play.fault is None else {}
    usage = _prompt_usage(play)
    for piece in sent:
        yield _event(_response(play, [piece], {}, usage))
    if play.fault is None:
        yield _event(_response(play, [last], _end(play, alone=alone), _usage(play)))
    elif (refused := play.failure()) is not None:
        yield _event(error(refused)[2])


def _event(value: _Json) -> bytes:
    return b"data: " + json_codec.encode(value) + b"\r\n\r\n"


def error(refused: ProviderRefusal) -> tuple[int, dict[str, str], _Json]:
    """Return the status, additional headers and body of an error response."""
    code, status = _ERRORS.get(refused.kind, _ERRORS["server_error"])
    code = refused.status or code
    message = _WORDS.get(refused.kind) or (f"{refused.path}: {refused.message}" if refused.path else refused.message)
    members: _Json = {"code": code, "message": message, "status": status}
    if refused.kind == "authentication":
        members["details"] = [_KEY_INVALID]
    return code, {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}, {"error": members}


def model_entry(model: str, provider: str) -> _Json:
    """Return the description of a model."""
    return {"name": f"models/{model}", "displayName": model, "supportedGenerationMethods": ["generateContent"]}


def _response(play: Play, parts: list[_Json], end: _Json, usage: _Json) -> _Json:
    """Return a body, or an event: both have the same form."""
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, **end, **_sent(play, index=0)}],
        "usageMetadata": usage,
        "modelVersion": play.model,
        "responseId": play.id("answer", 23, alphabet=_BASE64URL),
    }


def _end(play: Play, *, alone: bool = False) -> _Json:
    """Return the members with which the candidate ends. Only a message says that there are calls.

    ``alone``: the event of the end has no content. Such an event has no message either.
    """
    end: _Json = {"finishReason": _ENDINGS.get(play.round.ending or "", "STOP")}
    if play.calls and not alone and end["finishReason"] == "STOP":
        end |= _sent(play, finishMessage="Model generated function call(s).")
    hits = [hit for part in play.parts if isinstance(part, ServerCall) for hit in part.hits]
    return {**end, "groundingMetadata": _grounding(play, hits)} if hits else end


def _grounding(play: Play, hits: list[Hit]) -> _Json:
    """Return the pages that a search found, and the text that the first one supports."""
    queries = [query for part in play.parts if isinstance(part, ServerCall) for query in _queries(part)]
    text = next((part["text"] for part, *_ in _parts(play, play.parts) if part.keys() == {"text"}), "")
    segment = {"endIndex": len(text.encode()), "text": text}
    return {
        "groundingChunks": [{"web": {"uri": hit.url, "title": hit.title}} for hit in hits],
        "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}],
        "webSearchQueries": queries,
    }


def _prompt_usage(play: Play) -> _Json:
    """Return the usage in the events before the last one. Their count of the output is not complete yet."""
    prompt, written = play.usage().input, _sent(play, candidatesTokenCount=1)
    return {
        "promptTokenCount": prompt,
        **written,
        "totalTokenCount": prompt + len(written),
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
        **_sent(play, serviceTier="standard"),
    }


def _usage(play: Play) -> _Json:
    """Return the usage. The service counts the thoughts apart from the answer."""
    used = play.usage([json_codec.text(part.arguments) for part in play.parts if isinstance(part, ServerCall)])
    written = used.output - used.reasoning
    return {
        "promptTokenCount": used.input,
        "candidatesTokenCount": written,
        "totalTokenCount": used.input + used.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": used.input}],
        **_sent(play, candidatesTokensDetails=[{"modality": "TEXT", "tokenCount": written}]),
        **({"thoughtsTokenCount": used.reasoning} if used.reasoning else {}),
        **_sent(play, serviceTier="standard"),
    }


def _parts(play: Play, parts: list[Part]) -> Iterator[list[_Json]]:
    """Yield the parts of ``parts``, the first parts of the answer in ``play``.

    Each is a list: the part as a body has it, and then the parts in which a stream sends it.
    """
    calls = count()
    for number, part in enumerate(parts):
        if isinstance(part, Think):
            if _shows_thoughts(play) and not part.withheld:
                yield [
                    {"text": part.text, "thought": True},
                    *({"text": piece, "thought": True} for piece in play.pieces(part.text)),
                ]
        elif isinstance(part, ServerCall):
            yield from ([made, made] for made in _served(play, part, number))
        elif isinstance(part, ScriptedCall):
            made = _call(play, part, number) | (_signature(play) if next(calls) == 0 else {})
            yield [made, made]
        else:
            yield [{"text": part.text}, *({"text": piece} for piece in play.pieces(part.text))]


def _shows_thoughts(play: Play) -> bool:
    """Return whether the request asks for the summaries of thoughts."""
    config = play.body.get("generationConfig")
    thinking = config.get("thinkingConfig") if isinstance(config, dict) else None
    return isinstance(thinking, dict) and thinking.get("includeThoughts") is True


def _call(play: Play, part: ScriptedCall, number: int) -> _Json:
    call: _Json = {"name": part.tool, "args": json_codec.decode(part.text)}
    id = part.id if part.id is not None or not _shows_searches(play) else _call_id(play, number)
    return {"functionCall": call if id is None else {**call, "id": id}}


def _shows_searches(play: Play) -> bool:
    config = play.body.get("toolConfig")
    return isinstance(config, dict) and config.get("includeServerSideToolInvocations") is True


def _served(play: Play, part: ServerCall, number: int) -> Iterator[_Json]:
    """Yield a call that the service ran, and its result."""
    id, sealed = _call_id(play, number), _signature(play, f"server signature {number}", 90)
    if part.tool == "code_execution":
        yield {"executableCode": {"language": "PYTHON", "code": str(part.arguments["code"]), "id": id}, **sealed}
        outcome = "OUTCOME_OK" if part.failed is None else "OUTCOME_FAILED"
        yield {"codeExecutionResult": {"outcome": outcome, "output": part.failed or part.output or "", "id": id}}
    elif _shows_searches(play):
        tool = {"toolType": "GOOGLE_SEARCH_WEB", "id": id}
        yield {"toolCall": {**tool, "args": {"queries": _queries(part)}}, **sealed}
        found = {"search_suggestions": [f'<a href="{hit.url}">{hit.title}</a>' for hit in part.hits]}
        sealed = _signature(play, f"result signature {number}", 90)
        yield {"toolResponse": {**tool, "response": found if part.failed is None else {"error": part.failed}}, **sealed}


def _queries(part: ServerCall) -> list[str]:
    return [str(part.arguments["query"])] if "query" in part.arguments else []


def _call_id(play: Play, number: int) -> str:
    return play.id(f"call {number}", 8, alphabet=_OF_CALL_IDS)


def _signature(play: Play, what: str = "signature", size: int = 280) -> _Json:
    """Return the signature of a part: ``size`` bytes in Base64."""
    return _sent(play, thoughtSignature=base64.b64encode(play.noise(what, size)).decode())


def _mean_logprob(play: Play) -> float:
    return -int(play.hex("logprobs", 4), 16) / 2**17


def _sends(play: Play, member: str) -> bool:
    """Return whether answers of the model have a member of `_MEMBERS`."""
    return member in next(members for name, members in _MEMBERS.items() if play.model.startswith(name)).split()


def _sent(play: Play, **members: Any) -> _Json:
    """Return those of these members that the model sends."""
    return {name: value for name, value in members.items() if _sends(play, name)}
