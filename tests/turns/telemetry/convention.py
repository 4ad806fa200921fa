"""What the semantic conventions for generative AI state about the spans and metrics that turns make.

Facts of `model/gen-ai/spans.yaml`, `registry.yaml` and `metrics.yaml` of open-telemetry/semantic-conventions-genai at
commit 002c8a6e, and of open-telemetry/semantic-conventions 1.41: the requirement level and the type of each attribute.
The names are those of the package opentelemetry-semantic-conventions, so that a wrong one cannot be written here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.semconv._incubating.attributes import error_attributes as error
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as ai
from opentelemetry.semconv._incubating.attributes import server_attributes as server
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind

#: Levels: required, conditional (under a condition that the value's absence may show), recommended, opt-in.
R, C, S, O = "required", "conditional", "recommended", "opt-in"  # noqa: E741

_ERROR = {error.ERROR_TYPE: C}
_SERVER = {server.SERVER_ADDRESS: S, server.SERVER_PORT: C}
_MODEL = {ai.GEN_AI_OPERATION_NAME: R, ai.GEN_AI_PROVIDER_NAME: R, ai.GEN_AI_REQUEST_MODEL: C}
_PARAMETERS = {
    ai.GEN_AI_REQUEST_MAX_TOKENS: S,
    ai.GEN_AI_REQUEST_CHOICE_COUNT: C,
    ai.GEN_AI_REQUEST_TEMPERATURE: S,
    ai.GEN_AI_REQUEST_TOP_P: S,
    ai.GEN_AI_REQUEST_STOP_SEQUENCES: S,
    ai.GEN_AI_REQUEST_FREQUENCY_PENALTY: S,
    ai.GEN_AI_REQUEST_PRESENCE_PENALTY: S,
    ai.GEN_AI_REQUEST_SEED: C,
    ai.GEN_AI_OUTPUT_TYPE: C,
}
_USAGE = {
    ai.GEN_AI_USAGE_INPUT_TOKENS: S,
    ai.GEN_AI_USAGE_OUTPUT_TOKENS: S,
    ai.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: S,
    ai.GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS: S,
}
_CONTENT = {
    ai.GEN_AI_SYSTEM_INSTRUCTIONS: O,
    ai.GEN_AI_INPUT_MESSAGES: O,
    ai.GEN_AI_OUTPUT_MESSAGES: O,
    ai.GEN_AI_TOOL_DEFINITIONS: O,
}


class SpanType(NamedTuple):
    """A type of span: its kind, the attribute that its name contains, and the levels of its attributes."""

    kind: SpanKind
    named: str
    levels: Mapping[str, str]


SPANS = {
    "chat": SpanType(
        SpanKind.CLIENT,
        ai.GEN_AI_REQUEST_MODEL,
        {
            **_MODEL,
            **_SERVER,
            **_PARAMETERS,
            **_USAGE,
            **_CONTENT,
            **_ERROR,
            ai.GEN_AI_REQUEST_TOP_K: C,
            ai.GEN_AI_REQUEST_STREAM: C,
            ai.GEN_AI_RESPONSE_ID: S,
            ai.GEN_AI_RESPONSE_MODEL: S,
            ai.GEN_AI_RESPONSE_FINISH_REASONS: S,
            ai.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: S,
            ai.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: S,
            ai.GEN_AI_CONVERSATION_ID: C,
        },
    ),
    "invoke_agent": SpanType(
        SpanKind.INTERNAL,
        ai.GEN_AI_AGENT_NAME,
        {
            **_MODEL,
            **_PARAMETERS,
            **_USAGE,
            **_CONTENT,
            **_ERROR,
            ai.GEN_AI_RESPONSE_FINISH_REASONS: S,
            ai.GEN_AI_CONVERSATION_ID: C,
            ai.GEN_AI_AGENT_ID: C,
            ai.GEN_AI_AGENT_NAME: C,
            ai.GEN_AI_AGENT_DESCRIPTION: C,
            ai.GEN_AI_DATA_SOURCE_ID: C,
        },
    ),
    "execute_tool": SpanType(
        SpanKind.INTERNAL,
        ai.GEN_AI_TOOL_NAME,
        {
            **_ERROR,
            ai.GEN_AI_OPERATION_NAME: R,
            ai.GEN_AI_TOOL_NAME: R,
            ai.GEN_AI_TOOL_CALL_ID: S,
            ai.GEN_AI_TOOL_DESCRIPTION: S,
            ai.GEN_AI_TOOL_TYPE: S,
            ai.GEN_AI_TOOL_CALL_ARGUMENTS: O,
            ai.GEN_AI_TOOL_CALL_RESULT: O,
        },
    ),
}

_LABELS = {**_MODEL, **_SERVER, ai.GEN_AI_RESPONSE_MODEL: S}
METRICS = {
    gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE: {**_LABELS, ai.GEN_AI_TOKEN_TYPE: R},
    gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION: {**_LABELS, **_ERROR},
    gen_ai_metrics.GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK: _LABELS,
}

#: Types other than text. Opt-in content is a structure, recorded as JSON text.
_TYPES: dict[str, type] = {
    **dict.fromkeys(
        (
            server.SERVER_PORT,
            ai.GEN_AI_REQUEST_MAX_TOKENS,
            ai.GEN_AI_REQUEST_CHOICE_COUNT,
            ai.GEN_AI_REQUEST_SEED,
            ai.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
            *_USAGE,
        ),
        int,
    ),
    **dict.fromkeys(
        (
            ai.GEN_AI_REQUEST_TEMPERATURE,
            ai.GEN_AI_REQUEST_TOP_P,
            ai.GEN_AI_REQUEST_TOP_K,
            ai.GEN_AI_REQUEST_FREQUENCY_PENALTY,
            ai.GEN_AI_REQUEST_PRESENCE_PENALTY,
            ai.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
        ),
        float,
    ),
    **dict.fromkeys((ai.GEN_AI_REQUEST_STOP_SEQUENCES, ai.GEN_AI_RESPONSE_FINISH_REASONS), tuple),
    ai.GEN_AI_REQUEST_STREAM: bool,
}


def values_of(enum: str) -> set[str]:
    """The well-known values of an attribute. Its class in the package warns that the conventions have moved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        members: type[Enum] = getattr(ai, enum)
        return {str(member.value) for member in members}


def deviations(span: ReadableSpan, *, content: bool = False) -> Iterator[str]:
    """Yield how a span deviates from the conventions. ``content``: the application switched it on."""
    attributes = dict(span.attributes or {})
    operation = str(attributes.get(ai.GEN_AI_OPERATION_NAME))
    type = SPANS[operation]
    if operation not in values_of("GenAiOperationNameValues"):
        yield f"unknown operation {operation}"
    name = attributes.get(type.named)
    if span.name != (f"{operation} {name}" if name else operation):
        yield f"name {span.name}"
    if span.kind is not type.kind:
        yield f"kind {span.kind}"
    yield from labels_deviate(attributes, type.levels)
    if not content:
        yield from (f"content in {name}" for name in attributes if type.levels.get(name) == O)
    if (error.ERROR_TYPE in attributes) == span.status.is_unset:
        yield f"status {span.status.status_code} with error {attributes.get(error.ERROR_TYPE)}"


def labels_deviate(attributes: Mapping[str, Any], levels: Mapping[str, str]) -> Iterator[str]:
    """Yield how the attributes of a span or a metric deviate from the levels and types."""
    yield from (f"missing {name}" for name, level in levels.items() if level == R and name not in attributes)
    for name, value in attributes.items():
        if name not in levels and not name.startswith("toolparity."):
            yield f"unexpected {name}"
        elif name in levels and not isinstance(value, _TYPES.get(name, str)):
            yield f"{name} is {value!r}"
    if (server.SERVER_ADDRESS in attributes) != (server.SERVER_PORT in attributes):
        yield "server.address without server.port"
