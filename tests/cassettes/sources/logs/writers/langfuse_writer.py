"""Writes what the SDK of Langfuse sends to its server: OTLP, which a server on loopback receives and decodes."""

from __future__ import annotations

import gzip
import os
import sys
from importlib.metadata import version
from typing import Any

os.environ |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-sample", "LANGFUSE_SECRET_KEY": "sk-lf-sample"}

import agent
import telemetry
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_RECEIVED: list[Any] = []


def keep(path: str, headers: Any, body: bytes) -> None:
    """Keep the spans of a request to the endpoint for traces."""
    if path.endswith("/v1/traces"):
        data = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        _RECEIVED.append(telemetry.document(ExportTraceServiceRequest.FromString(data)))


def main(openai_base: str, target: str) -> None:
    """Play the conversations and write what was received."""
    with agent.receiver(keep) as url:
        os.environ["LANGFUSE_HOST"] = url
        from langfuse import get_client
        from langfuse.openai import openai

        agent.openai_conversations(openai.OpenAI(base_url=openai_base, api_key="any"))
        get_client().flush()
    telemetry.write(target, _RECEIVED)
    agent.report(langfuse=version("langfuse"), openai=version("openai"))


main(*sys.argv[1:])
