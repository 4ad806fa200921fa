"""Writes what the SDK of Langfuse sends to its server: OTLP, which a server on loopback receives and decodes."""

from __future__ import annotations

import gzip
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any

os.environ |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-sample", "LANGFUSE_SECRET_KEY": "sk-lf-sample"}

import agent
import telemetry
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_RECEIVED: list[Any] = []


class Handler(BaseHTTPRequestHandler):
    """Langfuse's endpoint for traces."""

    def do_POST(self) -> None:
        """Keep the spans of a request."""
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path.endswith("/v1/traces"):
            _RECEIVED.append(telemetry.document(ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def main(openai_base: str, target: str) -> None:
    """Play the conversations and write what was received."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["LANGFUSE_HOST"] = f"http://127.0.0.1:{server.server_port}"
    from langfuse import get_client
    from langfuse.openai import openai

    agent.openai_conversations(openai.OpenAI(base_url=openai_base, api_key="any"))
    get_client().flush()
    server.shutdown()
    telemetry.write(target, _RECEIVED)
    agent.report(langfuse=version("langfuse"), openai=version("openai"))


main(*sys.argv[1:])
