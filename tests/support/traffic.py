"""Small bodies of the wires, for tests of what reads and reports them; and the files they are kept in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

CHAT_URL = "https://api.openai.com/v1/chat/completions"


def chat_body(*names: str, finish: str = "tool_calls", arguments: str = "{}", id: str = "chatcmpl-1") -> str:
    """A Chat Completions body that calls these tools."""
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, name in enumerate(names)
    ]
    message = {"role": "assistant", "content": None if calls else "hello", "tool_calls": calls or None}
    choice = {"index": 0, "message": message, "finish_reason": finish if calls else "stop"}
    return json.dumps({"id": id, "object": "chat.completion", "model": "m", "choices": [choice]})


def chat_stream(*names: str, end: bool = True) -> str:
    """The same, streamed; without ``end`` the stream breaks off."""
    deltas: list[Any] = [
        {"tool_calls": [{"index": n, "id": f"call_{n}", "function": {"name": name, "arguments": "{}"}}]}
        for n, name in enumerate(names)
    ]
    chunks = [{"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": d}]} for d in deltas]
    if end:
        chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return "".join(f"data: {json.dumps(c)}\n\n" for c in chunks) + ("data: [DONE]\n\n" if end else "")


def row(body: str | None = None, **members: Any) -> dict[str, Any]:
    """One recording."""
    given = {"id": "r", "provider": "openai", "wire": "openai.chat", "stream": False, "status": 200, "body": body}
    return given | members


def write_rows(path: Path, *rows: dict[str, Any] | str) -> Path:
    """A file of recordings, packed where its name says so; a text is a line as it is."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def interaction(body: Any, url: str = CHAT_URL, request: Any = "{}", **headers: str) -> dict[str, Any]:
    """One interaction of a vcrpy cassette; header names with underscores."""
    return {
        "request": {"method": "POST", "uri": url, "body": request, "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {name.replace("_", "-"): [value] for name, value in headers.items()},
            "body": body,
        },
    }
