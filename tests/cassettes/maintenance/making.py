"""Cassettes of other projects, as text: made here, so that no secret is in a file of this project."""

from __future__ import annotations

import json

from tests.cassettes.secrets.fakes import fake
from toolparity.cassettes.interchange.model import CassetteContent, Interaction, Request, Response

#: A key without an owner.
KEY = fake("openai")

REQUEST = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"My key is {KEY}."}]}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
}


def vcrpy_text(key: str = KEY, header: str = "Bearer ") -> str:
    """A cassette as vcrpy writes it, with a comment, single quotes and a folded line."""
    request = json.dumps(REQUEST).replace(KEY, key).replace("'", "''").replace('"role"', '\n      "role"')
    return f"""# recorded by hand
interactions:
- request:
    body: '{request}'
    headers:
      authorization:
      - {header}{key}
      Content-Type: [application/json]   # a list in one line
    method: POST
    uri: https://api.openai.com/v1/chat/completions
  response:
    body:
      string: '{json.dumps(ANSWER)}'
    headers:
      content-type:
      - application/json
      x-custom:
      - kept
    status:
      code: 200
      message: OK
version: 1
"""


def content(*, body: bytes | None = None, answer: bytes | None = None) -> CassetteContent:
    """Two interactions with everything that a format must hold: several headers of a name, bytes, dates."""
    asked = Request(
        "POST",
        "https://api.openai.com/v1/chat/completions?b=2&a=1",
        [("content-type", "application/json"), ("accept", "a"), ("accept", "b")],
        json.dumps(REQUEST).encode() if body is None else body,
    )
    headers = [("Content-Type", "application/json"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    data = json.dumps(ANSWER, ensure_ascii=False).encode() if answer is None else answer
    missing = "nicht gefunden: größer\n\r\n\x85 \u2028😶 'x' \"y\" # z: -".encode()
    return CassetteContent(
        [
            Interaction(asked, Response(200, headers, data, "OK", "1.1"), "2026-01-02T03:04:05.678000Z"),
            Interaction(Request("GET", "http://localhost:8080/v1/models", [], None), Response(404, [], missing, None)),
        ]
    )
