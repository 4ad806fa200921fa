"""Clouds that host another provider's models: their addresses name the model, and some change the body.

Requests to them are compared without the members that the cloud moves or adds.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolparity.normalizer import json_codec

from ..chunking import events
from ..emulated.bedrock_converse import message


class Hosting(NamedTuple):
    """``ignored``: members of a request that do not count. ``stream_type``, ``stream``: the form of a stream."""

    name: str
    ignored: frozenset[str] = frozenset()
    stream_type: str | None = None
    stream: Callable[[bytes], bytes] = bytes


def _event_stream(body: bytes) -> bytes:
    """Return server-sent events as the AWS event stream of InvokeModelWithResponseStream."""
    return b"".join(message(json_codec.encode({"bytes": chunk}), _CHUNK) for chunk in _payloads(body))


_CHUNK = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}


def _payloads(body: bytes) -> Iterator[str]:
    for event in events(body):
        for line in event.splitlines():
            if line.startswith(b"data:"):
                yield base64.b64encode(line[5:].strip()).decode()


#: The provider itself.
DIRECT = Hosting("direct")
#: Azure OpenAI: the deployment is the model.
AZURE = Hosting("azure", frozenset(("model",)))
#: Claude on Vertex AI: the body has ``anthropic_version`` instead of ``model``.
VERTEX = Hosting("vertex", frozenset(("model", "anthropic_version")))
#: Claude on Amazon Bedrock: as on Vertex AI, and the address decides about the stream.
BEDROCK = Hosting(
    "bedrock",
    frozenset(("model", "anthropic_version", "anthropic_beta", "stream")),
    "application/vnd.amazon.eventstream",
    _event_stream,
)
