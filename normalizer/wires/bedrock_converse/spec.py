"""Spec of the wire `bedrock.converse`: Amazon Bedrock's Converse and ConverseStream.

Nova models answer InvokeModel in the format of Converse, too. Bodies of Claude there are `anthropic.messages`.

A stream is an AWS event stream. The reader puts the type of an event around its payload, as boto3 does:
``{"contentBlockDelta": {…}}``. The model is in the path of a request, and boto3 takes it as ``modelId``.
"""

from __future__ import annotations

from typing import Any

from ..grammar import Grammar, Unit
from ..limits import Boundary
from ..registry import History, Shape, WireSpec
from .schema import EXCEPTIONS, WIRE

GRAMMAR = Grammar(
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html",
    (
        Unit("the message", start="messageStart", end="messageStop"),
        Unit(
            "content block",
            start="contentBlockStart",
            within="contentBlockDelta",
            end="contentBlockStop",
            keys="contentBlockIndex",
            parent="the message",
            implied="delta.text delta.reasoningContent delta.citation",
        ),
    ),
    type="*",
    after="metadata",
    stop="stopReason",
)
#: The vendors in the ids of models, which an area of inference may precede: `us.anthropic.claude-sonnet-4-6`.
_VENDORS = (
    "amazon|anthropic|meta|mistral|cohere|ai21|deepseek|qwen|openai|moonshotai|moonshot|minimax|google|nvidia|writer"
    "|stability|luma|twelvelabs|zai"
)
_EVENT = Shape(event=True, marked=True)
_ERROR = Shape(event=True, error=True, marked=True)
_BEGIN, _WITHIN, _END = Boundary(begins=True), Boundary(), Boundary(ends=True)


def shape(body: dict[str, Any]) -> Shape | None:
    """See `Shape`. An event has one member, named like its type; a body has ``output`` and ``stopReason``."""
    output = body.get("output")
    if isinstance(output, dict) and "stopReason" in body:
        message = output.get("message")
        whole = isinstance(message, dict) and isinstance(message.get("content"), list)
        return Shape(body=True, whole=whole, marked=True)
    if len(body) != 1:
        return None
    ((kind, payload),) = body.items()
    if not isinstance(payload, dict):
        return None
    return _EVENT if kind in GRAMMAR.types else _ERROR if kind in EXCEPTIONS else None


def boundary(event: dict[str, Any]) -> Boundary:
    """See `Boundary`. The metadata may follow the end."""
    if "messageStart" in event:
        return _BEGIN
    return _WITHIN if EXCEPTIONS.isdisjoint(event) and "messageStop" not in event else _END


SPEC = WireSpec(
    name=WIRE,
    package=__package__,
    owner="bedrock",
    history=History("messages", ("assistant",)),
    models=rf"(([a-z-]+)\.)?({_VENDORS})\.|arn:aws",
    parsed_arguments=True,
    results="adjacent",
    path="/model/{model}/converse",
    stream_path="/model/{model}/converse-stream",
    stream_type="application/vnd.amazon.eventstream",
    model_member="modelId",
    models_path="/foundation-models",
    hosts=("amazonaws.com",),
    addresses=(
        r"/model/[^/]+(/[^/]+)?/converse(-stream)?$",
        r"/model/.*amazon\.nova.*/invoke(-with-response-stream)?$",
    ),
    sdk="boto3",
    shape=shape,
    boundary=boundary,
    grammar=GRAMMAR,
)
