"""Which type of the official SDK represents a plain body, and for each event of a stream."""

from __future__ import annotations

from functools import cache
from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from tests.support.sdk_types import models, tags


@cache
def sdk_models(wire: str) -> dict[str, Any]:
    """By the type of the event, "chunk" where events have none, and "body"."""
    if wire == "openai.chat":
        return {"body": ChatCompletion, "chunk": ChatCompletionChunk}
    return {"body": Response, **{tag: model for model in models(ResponseStreamEvent) for tag in tags(model)}}
