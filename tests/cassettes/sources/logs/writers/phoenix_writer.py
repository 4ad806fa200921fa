"""Writes what Phoenix exports: its server receives the spans of OpenInference and returns them as JSON.

The server runs on loopback with a database in a temporary folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import agent
import anthropic
import openai
from openinference.instrumentation.anthropic import AnthropicInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor


def main(openai_base: str, anthropic_base: str, port: str, grpc_port: str, target: str) -> None:
    """Play the conversations and write the exported spans. The ports must be free."""
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        settings = {"PHOENIX_WORKING_DIR": folder, "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": port}
        settings |= {"PHOENIX_GRPC_PORT": grpc_port, "PHOENIX_TELEMETRY_ENABLED": "false"}
        program = str(Path(sys.executable).with_name("phoenix"))
        server = subprocess.Popen([program, "serve"], env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
        try:
            _get(f"{url}/healthz")
            _play(url, openai_base, anthropic_base)
            spans = _spans(url, agent.COUNTS["exchanges"])
        finally:
            server.terminate()
            server.wait()
    Path(target).write_text(json.dumps({"data": spans, "next_cursor": None}, indent=1) + "\n", "utf-8")
    agent.report()


def _play(url: str, openai_base: str, anthropic_base: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    AnthropicInstrumentor().instrument(tracer_provider=provider)
    # Newest first, ids must be unique to prove a link.
    agent.openai_conversations(openai.OpenAI(base_url=openai_base, api_key="any"), streamed=False)
    agent.anthropic_conversation(anthropic.Anthropic(base_url=anthropic_base, api_key="any"))


def _spans(url: str, count: int) -> list[Any]:
    """Return the spans that the server exports, the newest first, once it has stored all."""
    spans: list[Any] = []
    for _ in range(300):
        spans = json.loads(_get(f"{url}/v1/projects/default/spans?limit=1000"))["data"]
        if len(spans) == count:
            return spans
        time.sleep(0.2)
    raise SystemExit(f"{len(spans)} of {count} spans")


def _get(url: str) -> bytes:
    for _ in range(600):
        try:
            with urlopen(url, timeout=30) as response:
                return bytes(response.read())
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"{url} does not answer")


main(*sys.argv[1:])
