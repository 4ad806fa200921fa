"""Rules about particular models: what they lack of the wire."""

from __future__ import annotations

import re
from typing import Any

from ...rule import Violations, rule
from ...traverse import items, member, objects, text
from .messages import OPENAI

_O1 = re.compile(r"o1-(mini|preview)")
_GUARD = re.compile(r"(meta-llama/)?llama-(prompt-)?guard-")
_WORDS = re.compile(r"mai-ds-r1", re.IGNORECASE)
_FREE_GEMMA = re.compile(r"google/gemma-3n-.*:free")


def _model(body: Any) -> str:
    return text(member(body, "model"))


@rule(
    "model-instructions",
    "OpenAI's error message ('messages[0].role' does not support 'developer' with this model); "
    "https://github.com/janhq/jan/issues/4392 ('system')",
    OPENAI,
)
def model_instructions(body: Any) -> Violations:
    """o1-mini and o1-preview accept neither system nor developer messages."""
    if _O1.match(_model(body)):
        yield from _instructions(body)


@rule("model-instructions-gemma", "error message (Developer instruction is not enabled)", ["openrouter"])
def model_instructions_gemma(body: Any) -> Violations:
    """Google AI Studio, which serves the free variants of Gemma 3n, accepts no system message for them."""
    if _FREE_GEMMA.fullmatch(_model(body)):
        yield from _instructions(body)


def _instructions(body: Any) -> Violations:
    for path, message in objects(body, "messages"):
        if message.get("role") in ("system", "developer"):
            yield f"{path}.role", f"{body['model']} does not support the role {message['role']}"


@rule("model-tools", "Groq's error message (`tool calling` is not supported with this model)", ["groq"])
def model_tools(body: Any) -> Violations:
    """Llama Guard has no tools."""
    if items(body, "tools") and _GUARD.match(_model(body)):
        yield "tools", f"{body['model']} does not support tools"


@rule("model-choice", "Azure's error message (body, tool_choice: Input should be a valid string)", status=422)
def model_choice(body: Any) -> Violations:
    """Azure's deployment of MAI-DS-R1 accepts only words as a tool choice."""
    if isinstance(member(body, "tool_choice"), dict) and _WORDS.match(_model(body)):
        yield "tool_choice", f"{body['model']} accepts only a word"
