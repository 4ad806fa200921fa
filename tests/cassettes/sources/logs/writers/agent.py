"""An agent that asks about the weather, on two wires. The programs of this folder import it as a top-level module.

The model makes three calls, then two, then it answers. A lossy agent sends only the first call of the first round back,
with its result. `COUNTS` has what the agent saw through the SDK: the truth that a log must have.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTION = "Where is it dry in Portugal?"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
DESCRIPTION = "Tomorrow's weather."
CHAT_TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS}}
]
RESPONSES_TOOLS = [{"type": "function", "name": "get_weather", "description": DESCRIPTION, "parameters": PARAMETERS}]
ANTHROPIC_TOOLS = [{"name": "get_weather", "description": DESCRIPTION, "input_schema": PARAMETERS}]
CHAT_MODEL, ANTHROPIC_MODEL = "gpt-5-mini", "claude-sonnet-4-5"

COUNTS = {"exchanges": 0, "calls": 0, "lost": 0}

Plain = dict[str, Any]


def chat(complete: Callable[[list[Plain]], Plain], *, lossy: bool = True) -> None:
    """Run the agent on Chat Completions. ``complete`` returns the assistant message for a list of messages."""
    messages: list[Plain] = [{"role": "user", "content": QUESTION}]
    while True:
        message = complete(messages)
        calls = message.get("tool_calls") or []
        kept = _kept(calls, first=len(messages) == 1, lossy=lossy)
        if not calls:
            return
        messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": kept})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "dry"} for call in kept]


def anthropic(complete: Callable[[list[Plain]], Plain], *, lossy: bool = True) -> None:
    """Run the agent on the Messages API. ``complete`` returns the message for a list of messages."""
    messages: list[Plain] = [{"role": "user", "content": QUESTION}]
    while True:
        content = complete(messages)["content"]
        calls = [block for block in content if block["type"] == "tool_use"]
        kept = _kept(calls, first=len(messages) == 1, lossy=lossy)
        if not calls:
            return
        sent = [block for block in content if block["type"] != "tool_use" or block in kept]
        messages.append({"role": "assistant", "content": sent})
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "dry"} for call in kept]
        messages.append({"role": "user", "content": results})


def _kept(calls: list[Plain], *, first: bool, lossy: bool) -> list[Plain]:
    kept = calls[:1] if lossy and first else calls
    COUNTS["exchanges"] += 1
    COUNTS["calls"] += len(calls)
    COUNTS["lost"] += len(calls) - len(kept)
    return kept


def message_of(chunks: Iterable[Any]) -> Plain:
    """Return the assistant message of a stream of Chat Completions."""
    text, calls = "", {}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for delta in choice.delta.tool_calls or ():
                made = calls.setdefault(delta.index, {"id": "", "type": "function", "function": {"name": ""}})
                made["id"] = delta.id or made["id"]
                made["function"]["name"] = delta.function.name or made["function"]["name"]
                made["function"]["arguments"] = made["function"].get("arguments", "") + (delta.function.arguments or "")
    return {"content": text or None, "tool_calls": [calls[index] for index in sorted(calls)]}


def openai_conversations(client: Any, *, streamed: bool = True) -> None:
    """Run the lossy agent with plain responses, and with ``streamed`` one that loses nothing with streams.

    The emulated provider gives the calls of both the same ids.
    """

    def create(messages: list[Plain], **options: Any) -> Any:
        return client.chat.completions.create(model=CHAT_MODEL, messages=messages, tools=CHAT_TOOLS, **options)

    chat(lambda messages: create(messages).choices[0].message.model_dump(exclude_none=True))
    if streamed:
        chat(lambda messages: message_of(create(messages, stream=True)), lossy=False)


def anthropic_conversation(client: Any) -> None:
    """Run an agent that loses nothing with plain responses."""

    def create(messages: list[Plain]) -> Plain:
        options = {"model": ANTHROPIC_MODEL, "max_tokens": 1000, "tools": ANTHROPIC_TOOLS}
        return dict(client.messages.create(messages=messages, **options).model_dump(exclude_none=True))

    anthropic(create, lossy=False)


def responses_conversation(client: Any) -> None:
    """Run an agent on the Responses API."""
    sent: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        output = client.responses.create(model=CHAT_MODEL, input=sent, tools=RESPONSES_TOOLS).output
        calls = [item for item in output if item.type == "function_call"]
        count(1, [item.type for item in output])
        if not calls:
            return
        sent += [item.model_dump(exclude_none=True) for item in output]
        sent += [{"type": "function_call_output", "call_id": call.call_id, "output": "dry"} for call in calls]


def count(exchanges: int, kinds: list[str]) -> None:
    """Count exchanges, and the calls among the kinds of their items."""
    COUNTS["exchanges"] += exchanges
    COUNTS["calls"] += kinds.count("function_call")


def get_weather(city: str) -> str:
    """Tomorrow's weather."""
    return "dry"


async def get_weather_soon(city: str) -> str:
    """Tomorrow's weather."""
    return "dry"


@contextmanager
def receiver(keep: Callable[[str, Any, bytes], None]) -> Iterator[str]:
    """Serve on loopback and yield the URL. ``keep`` gets the path, the headers and the body of each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            keep(self.path, self.headers, self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_PATCH(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def report() -> None:
    """Print what the agent saw."""
    json.dump(COUNTS, sys.stdout)
