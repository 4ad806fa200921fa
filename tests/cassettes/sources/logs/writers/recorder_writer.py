"""Writes what recorders of HTTP record: chat, plain and streamed, and messages.

mitmdump, WireMock, and nock and Polly.js in `relay.mjs` record as reverse proxies, vcrpy in this process.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import agent

_HEADERS = {"content-type": "application/json", "authorization": "Bearer any", "x-api-key": "any"}
_HEADERS |= {"anthropic-version": "2023-06-01"}
_HOST = "127.0.0.1"
_FOLDER = Path(sys.executable).parents[1]


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


def play(openai: str, anthropic: str, post: Any = post) -> None:
    """Play the conversations at the addresses of two providers."""

    def chat(history: Any, **options: Any) -> Any:
        options |= {"model": agent.CHAT_MODEL, "tools": agent.CHAT_TOOLS, "messages": history}
        return post(f"{openai}/chat/completions", options)

    agent.chat(lambda history: json.loads(chat(history))["choices"][0]["message"])
    agent.chat(lambda history: agent.message_of(chunks_of(chat(history, stream=True))), lossy=False)
    asked = {"model": agent.ANTHROPIC_MODEL, "max_tokens": 1000, "tools": agent.ANTHROPIC_TOOLS}
    url = f"{anthropic}/v1/messages"
    agent.anthropic(lambda history: json.loads(post(url, {**asked, "messages": history})), lossy=False)


def proxied(recorder: str, openai: str, anthropic: str, port: str, target: str) -> None:
    """Play through a program that records as a reverse proxy. ``port``: a free port."""
    upstream = "http://" + urlsplit(openai).netloc
    relay = _FOLDER / "relay.mjs"  # it imports what is installed beside it
    relay.write_text(Path(__file__).with_name("relay.mjs").read_text("utf-8"), "utf-8")
    command = ["node", str(relay), recorder, upstream, port, target]
    if recorder == "mitmproxy":
        command = [f"{_FOLDER}/bin/mitmdump", "--mode", f"reverse:{upstream}@{_HOST}:{port}", "-q", "-w", target]
    if recorder == "wiremock":
        command = ["java", "-jar", *map(str, _FOLDER.rglob("wiremock-*.jar")), "--port", port, "--bind-address", _HOST]
    program = subprocess.Popen(command, cwd=_FOLDER)
    admin = f"http://{_HOST}:{port}/__admin/recordings"
    try:
        _wait(int(port))
        if recorder == "wiremock":
            post(f"{admin}/start", {"targetBaseUrl": upstream, "persist": False})
        play(*(f"http://{_HOST}:{port}{urlsplit(base).path}" for base in (openai, anthropic)))
        if recorder == "wiremock":
            Path(target).write_bytes(post(f"{admin}/stop", None))
    finally:
        program.terminate()
        program.wait()
    agent.report()


def with_curl(options: list[str], openai: str, anthropic: str, target: str) -> None:
    """Send each request with curl and once more, because what curl receives is in its log."""
    headers = [part for name, value in _HEADERS.items() for part in ("-H", f"{name}: {value}")]

    def recorded(url: str, body: Any) -> bytes:
        with open(target, "ab") as log:
            command = ["curl", *options, *headers, "-d", json.dumps(body), url]
            subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=True)
        return post(url, body)

    play(openai, anthropic, recorded)
    if "-v" in options:
        agent.COUNTS["lost"] = 0  # the bodies of requests are not in the log
    agent.report()


def with_vcrpy(openai: str, anthropic: str, target: str) -> None:
    """Send requests with headers as a proxy with aiohttp passes them."""
    import requests
    import vcr
    from multidict import istr

    headers = {istr(name): value for name, value in _HEADERS.items()}
    with vcr.use_cassette(target):
        play(openai, anthropic, lambda url, body: requests.post(url, json.dumps(body), headers=headers).content)
    agent.report()


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection((_HOST, port)).close()
            return
        except OSError:
            time.sleep(0.1)


recorder, *addresses, port, target = sys.argv[1:]
Path(target).unlink(missing_ok=True)
if recorder.startswith("curl"):
    with_curl(recorder.split()[1:], *addresses, target)
elif recorder == "vcrpy":
    with_vcrpy(*addresses, target)
else:
    proxied(recorder, *addresses, port, target)
