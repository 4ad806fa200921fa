"""The installed SDKs' unions and enums as plain data: what the field knows today.

Walks pydantic models and protobuf descriptors; nothing here knows the normalizer.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

import anthropic.types as stable
import botocore.session
import openai.types.beta as openai_beta
from anthropic.types import beta
from cohere import AssistantMessageResponseContentItem
from google.genai import interactions
from openai.types import responses
from pydantic import BaseModel

Model = type[BaseModel]


def models(annotation: Any) -> Iterator[Model]:
    """Every model that a union (annotated, optional, list or nested) can hold.

    Google's SDK adds to its unions a model that holds what the SDK does not know.
    """
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if "is_unknown" not in annotation.model_fields:
            yield annotation
    elif typing.get_origin(annotation) is typing.Annotated:
        yield from models(typing.get_args(annotation)[0])
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType, list):
        for argument in typing.get_args(annotation):
            yield from models(argument)


def literals(annotation: Any) -> set[str]:
    """Every literal text that an annotation allows."""
    if typing.get_origin(annotation) is typing.Literal:
        return {value for value in typing.get_args(annotation) if isinstance(value, str)}
    return {text for argument in typing.get_args(annotation) for text in literals(argument)}


def tags(model: Model) -> set[str]:
    """The values of a model's `type`."""
    return literals(model.model_fields["type"].annotation)


def members(model: Model) -> set[str]:
    """The members of a model, as they are called on the wire."""
    return {field.alias or name for name, field in model.model_fields.items()}


def member_models(model: Model, member: str) -> list[Model]:
    """The models that a member of a model can hold."""
    return list(models(model.model_fields[member].annotation))


@cache
def _bedrock() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def bedrock_shape(name: str) -> Any:
    """A shape of botocore's service model of Bedrock's runtime."""
    return _bedrock().shape_for(name)


def block_types() -> dict[str, set[str]]:
    """For each wire, the types of content blocks and output items that its installed SDK names."""

    def tagged(*unions: Any) -> set[str]:
        return {tag for union in unions for model in models(union) for tag in tags(model)}

    return {
        "openai.chat": {"text", "refusal", "thinking"},
        "openai.responses": tagged(responses.ResponseOutputItem, openai_beta.BetaResponseOutputItem),
        "anthropic.messages": tagged(stable.ContentBlock, beta.BetaContentBlock),
        "xai.grpc": set(),
        "cohere.chat": tagged(AssistantMessageResponseContentItem),
        "ollama.chat": set(),
        "google.interactions": tagged(interactions.Step, interactions.Content),
        "bedrock.converse": set(bedrock_shape("ContentBlock").members),
        "google.gemini": set(),
    }
