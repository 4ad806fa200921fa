"""Writes the flows that ``mitmdump -w`` records as a reverse proxy: chat, plain and streamed, and messages."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import agent

_HEADERS = {"content-type": "application/json", "authorization": "Bearer any", "x-api-key": "any"}
_HEADERS |= {"anthropic-version": "2023-06-01"}


def post(url: str, body: Any) -> bytes:
    """Send a request and return the body of the response."""
    with urlopen(Request(url, json.dumps(body).encode(), _HEADERS)) as response:
        return bytes(response.read())


def chunks_of(body: bytes) -> Any:
    """Yield the events of a stream as objects with attributes."""
    for line in body.decode().splitlines():
        if line.startswith("data: {"):
            yield json.loads(line[6:], object_hook=lambda value: _Lenient(**value))


class _Lenient(SimpleNamespace):
    def __getattr__(self, name: str) -> None:
        return None


def main(openai_base: str, anthropic_base: str, port: str, target: str) -> None:
    """Play the conversations through mitmdump. ``port``: a free port."""
    upstream = urlsplit(openai_base)
    mode = f"reverse:{upstream.scheme}://{upstream.netloc}@127.0.0.1:{port}"
    program = str(Path(sys.executable).with_name("mitmdump"))
    Path(target).unlink(missing_ok=True)
    proxy = subprocess.Popen([program, "--mode", mode, "-q", "-w", target])
    try:
        chat = f"http://127.0.0.1:{port}{upstream.path}/chat/completions"
        messages = f"http://127.0.0.1:{port}{urlsplit(anthropic_base).path}/v1/messages"
        _wait(int(port))
        options = {"model": agent.CHAT_MODEL, "tools": agent.CHAT_TOOLS}
        agent.chat(lambda history: json.loads(post(chat, {**options, "messages": history}))["choices"][0]["message"])
        streamed = {**options, "stream": True}

        def stream(history: Any) -> Any:
            return agent.message_of(chunks_of(post(chat, {**streamed, "messages": history})))

        agent.chat(stream, lossy=False)
        asked = {"model": agent.ANTHROPIC_MODEL, "max_tokens": 1000, "tools": agent.ANTHROPIC_TOOLS}
        agent.anthropic(lambda history: json.loads(post(messages, {**asked, "messages": history})), lossy=False)
    finally:
        proxy.terminate()
        proxy.wait()
    agent.report(mitmproxy=version("mitmproxy"))


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)


main(*sys.argv[1:])
