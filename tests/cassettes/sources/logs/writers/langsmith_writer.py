"""Writes the runs that the SDK of LangSmith sends to its server: a run as it begins, updated by its end.

The members of ``extra`` that describe the machine are left out.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "sample"}

import agent
import anthropic
import langsmith
import openai
from langsmith.wrappers import wrap_anthropic, wrap_openai

_RUNS: dict[str, Any] = {}


class Handler(BaseHTTPRequestHandler):
    """LangSmith's endpoints for one run at a time."""

    def do_POST(self) -> None:
        """Create a run."""
        self._update()

    def do_PATCH(self) -> None:
        """Update a run."""
        self._update()

    def _update(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body.setdefault("id", self.path.rpartition("/")[2])
        extra = body.get("extra") or {}
        extra.pop("runtime", None)
        _RUNS.setdefault(body["id"], {}).update(body)
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def main(openai_base: str, anthropic_base: str, target: str) -> None:
    """Play the conversations and write what was received."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = langsmith.Client(api_url=f"http://127.0.0.1:{server.server_port}", auto_batch_tracing=False, info={})
    extra: Any = {"client": client}
    agent.openai_conversations(wrap_openai(openai.OpenAI(base_url=openai_base, api_key="any"), tracing_extra=extra))
    sdk = anthropic.Anthropic(base_url=anthropic_base, api_key="any")
    agent.anthropic_conversation(wrap_anthropic(sdk, tracing_extra=extra))
    server.shutdown()
    Path(target).write_text("".join(json.dumps(run) + "\n" for run in _RUNS.values()), "utf-8")
    agent.report(langsmith=version("langsmith"), openai=version("openai"), anthropic=version("anthropic"))


main(*sys.argv[1:])
