"""Addresses beside the chats: counts of tokens, descriptions of models and compactions; the others say what they lack.

The counts are those of the emulated providers. What is not offered gets the provider's own error with status 404, which
no SDK repeats. Sources: the SDKs openai, anthropic, google-genai, cohere, ollama, and AWS's reference of CountTokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import TextPart, User
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.requests import read_request

from .. import emulation_marker
from ..emulated.http import request_body, without_model
from ..emulated.script_player import EPOCH, ProviderRefusal, input_tokens
from ..emulated.script_player import refusal as broken_rule
from ..surfaces import Surface
from . import instructions
from .journal import entry_of
from .provider_format import member, refused, unoffered, with_fault
from .response_index import ResponseIndex

#: Wire -> the members in which a request to count may contain the request that it is about.
_WRAPPERS = {"google.gemini": ("generateContentRequest",), "bedrock.converse": ("input", "converse")}
_Answer = Callable[[ResponseIndex, Surface, dict[str, Any]], dict[str, Any]]


def _counted(body: dict[str, Any], surface: Surface) -> int:
    """Return the number of tokens of a request. Raises ProviderRefusal if it cannot be read."""
    for name in _WRAPPERS.get(surface.wire, ()):
        body = body[name] if isinstance(body.get(name), dict) else body
    try:
        return input_tokens(read_request(body, surface.wire, provider=surface.provider))
    except ToolparityError as error:
        raise ProviderRefusal("invalid_request", error.what) from None


def _gemini_count(index: ResponseIndex, surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
    count = _counted(body, surface)
    return {"totalTokens": count, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count}]}


def _compaction(index: ResponseIndex, surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation as OpenAI compacts it: the user's messages, and one item for everything else."""
    if (refusal := without_model(body) or broken_rule(surface, body)) is not None:
        raise refusal
    count, mark = _counted(body, surface), hashlib.sha256(json_codec.encode(body)).hexdigest()
    output: list[dict[str, Any]] = []
    for user in (turn for turn in read_request(body, surface.wire).messages if isinstance(turn, User)):
        content = [{"type": "input_text", "text": part.text} for part in user.parts if isinstance(part, TextPart)]
        about: dict[str, Any] = {"id": f"msg_{mark[:46]}{len(output):04x}", "type": "message", "status": "completed"}
        output.append({**about, "content": content, "role": "user"})
    output.append({"id": f"cmp_{mark[:50]}", "type": "compaction", "encrypted_content": f"gAAAAAB{mark}"})
    usage: dict[str, Any] = {
        "input_tokens": count,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
    }
    usage |= {"output_tokens": 60, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": count + 60}
    about = {"id": f"resp_{mark[:50]}", "object": "response.compaction", "created_at": EPOCH}
    return {**about, "output": output, "usage": usage}


def _ollama_model(index: ResponseIndex, surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
    model = body.get("model") or body.get("name")
    if model not in index.models(surface.provider):
        raise ProviderRefusal("not_found", f"model '{model}' not found")
    entry = member(surface, "model_entry")(model, surface.provider)
    kept = {name: entry[name] for name in ("details", "modified_at")}
    return {"modelfile": "", "parameters": "", "template": "", **kept, "model_info": {}, "capabilities": _CAPABILITIES}


_CAPABILITIES = ["completion", "tools", "thinking"]
#: Wire -> path below the provider's address -> its answer.
_ANSWERS: dict[str, dict[str, _Answer]] = {
    "anthropic.messages": {
        "/v1/messages/count_tokens": lambda index, surface, body: {"input_tokens": _counted(body, surface)}
    },
    "openai.responses": {
        "/v1/responses/compact": _compaction,
        "/v1/responses/input_tokens": lambda index, surface, body: {
            "object": "response.input_tokens",
            "input_tokens": _counted(body, surface),
        },
    },
    "google.gemini": {"/{version}/models/{model}:countTokens": _gemini_count},
    "bedrock.converse": {
        "/model/{model:path}/count-tokens": lambda index, surface, body: {"inputTokens": _counted(body, surface)}
    },
    "ollama.chat": {"/api/show": _ollama_model},
}
#: Wire -> path -> what is not offered there.
_UNOFFERED: dict[str, dict[str, str]] = {
    "openai.chat": {
        "/v1/embeddings": "embeddings",
        "/v1/completions": "completions without messages",
        "/v1/moderations": "moderations",
    },
    "anthropic.messages": {"/v1/messages/batches": "batches"},
    "google.gemini": {
        "/{version}/models/{model}:embedContent": "embeddings",
        "/{version}/models/{model}:batchEmbedContents": "embeddings",
    },
    "cohere.chat": {"/v1/embed": "embeddings", "/v2/embed": "embeddings", "/v2/rerank": "rankings"},
    "ollama.chat": {
        "/api/embed": "embeddings",
        "/api/embeddings": "embeddings",
        "/api/generate": "completions without messages",
    },
}


def routes(index: ResponseIndex, surfaces: Iterable[Surface]) -> list[Route]:
    """Return the routes below each provider's base, and at the root those of the wire's owner."""
    listed = []
    for surface in surfaces:
        if surface.by_messages:
            continue
        base = surface.base_path.removesuffix(surface.spec.base_path)
        bases = (base, "") if surface.provider == surface.spec.owner else (base,)
        for path, answer in _ANSWERS.get(surface.wire, {}).items():
            listed += [Route(at + path, _answering(index, surface, answer), methods=["POST"]) for at in bases]
        for path, what in _UNOFFERED.get(surface.wire, {}).items():
            listed += [Route(at + path, _refusing(surface, what), methods=["POST"]) for at in bases]
    return listed


def _answering(index: ResponseIndex, surface: Surface, answer: _Answer) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        try:
            content = answer(index, surface, request_body(await request.body()))
        except ProviderRefusal as refusal:
            entry_of(request.scope).why = refusal.message
            return with_fault(instructions.of(request.scope).fault, surface, refused(surface, refusal))
        headers = {emulation_marker.HEADER: emulation_marker.EMULATED}
        response = Response(json_codec.encode(content), headers=headers, media_type="application/json")
        return with_fault(instructions.of(request.scope).fault, surface, response)

    return respond


def _refusing(surface: Surface, what: str) -> Callable[[Request], Awaitable[Response]]:
    words = f"This stand-in provider offers no {what}, only recorded chats; GET / lists its addresses"

    async def respond(request: Request) -> Response:
        entry_of(request.scope).why = words
        return with_fault(instructions.of(request.scope).fault, surface, unoffered(surface, words, 404))

    return respond
