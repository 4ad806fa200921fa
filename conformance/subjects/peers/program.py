"""What the programs of this folder share: lines in and out, and a server of their own that gives the answer.

It stands beside them and is imported by its bare name: they run in environments that hold their library and not this
project. Only the standard library is used. Importing it first keeps what libraries print away from standard output,
and their telemetry at home.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from typing import Any, NamedTuple

_OUT = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer

for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]
os.environ.update(
    DO_NOT_TRACK="1",
    LANGCHAIN_TRACING_V2="false",
    LANGSMITH_TRACING="false",
    LITELLM_LOCAL_MODEL_COST_MAP="True",  # else importing it asks the network
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)
for _key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY"):
    os.environ[_key] = "none"


#: So many questions are answered before what they left behind is collected.
_TIDY = 25


class Loopback:
    """A server on a port of its own that answers every request with the answer that was loaded.

    ``url``: where it listens. ``pieces``: sent as chunks where the answer is streamed, one write each.
    """

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.status, self.stream = 200, False
        loaded = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # chunks are kept apart by their framing; one write for all of them

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                streamed = loaded.stream and loaded.status < 400
                self.send_response(loaded.status)
                self.send_header("content-type", "text/event-stream" if streamed else "application/json")
                if not streamed:
                    body = b"".join(loaded.pieces)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                    return
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in loaded.pieces:
                    if piece:
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()


def version(distribution: str) -> str:
    """The version that is installed here."""
    return metadata.version(distribution)


def usage(input_tokens: Any, output_tokens: Any, cached: Any = None, reasoning: Any = None) -> dict[str, Any]:
    """The figures in the suite's words."""
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached_input_tokens": cached,
        "reasoning_tokens": reasoning,
    }


class Function(NamedTuple):
    """A function that the caller declares."""

    name: str
    description: str
    parameters: dict[str, Any]


#: Declared where the case tells of no tools: who gets calls has declared something, and some libraries read by that.
_SOME = Function("some_tool", "A tool.", {"type": "object", "properties": {}})


def functions(ask: dict[str, Any]) -> list[Function]:
    """The functions among the declared tools, however the wire spells them; never none."""
    found = []
    for tool in ask["tools"]:
        held = tool.get("function") or tool
        schema = held.get("parameters") or held.get("input_schema")
        if held.get("name") and isinstance(schema, dict):
            found.append(Function(held["name"], held.get("description") or "", schema))
    return found or [_SOME]


def chat_tools(ask: dict[str, Any]) -> list[dict[str, Any]]:
    """The same as Chat Completions spells them."""
    return [{"type": "function", "function": tool._asdict()} for tool in functions(ask)]


#: Items of Responses that are calls of the caller's -> name where none stands there, and the member with the arguments.
_ITEMS = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "computer_call": ("computer", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


def item_calls(output: Any) -> list[dict[str, Any]]:
    """The calls among the items of a Responses answer, which a library hands on as they are (objects or dicts)."""
    calls = []
    for held in _plain(output):
        if held.get("type") in _ITEMS:
            name, member = _ITEMS[held["type"]]
            calls.append({"id": held.get("call_id"), "name": held.get("name") or name, "arguments": held.get(member)})
    return calls


def unanswered(output: Any) -> list[dict[str, Any]]:
    """The items without the calls whose output is among them.

    For a library that returns both and runs nothing: its caller sees that the provider ran such a call.
    """
    items = _plain(output)
    answered = {held.get("call_id") for held in items if str(held.get("type")).endswith("_output")} - {None}
    return [held for held in items if held.get("type") not in _ITEMS or held.get("call_id") not in answered]


def _plain(output: Any) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in output]


def figures_of(told: Any, words: str = "input output") -> dict[str, Any] | None:
    """The figures of an object with the members of OpenAI's usage."""
    if told is None:
        return None
    into, out = words.split()
    more, less = (getattr(told, f"{word}_tokens_details", None) for word in (into, out))
    return usage(
        getattr(told, f"{into}_tokens"),
        getattr(told, f"{out}_tokens"),
        getattr(more, "cached_tokens", None),
        getattr(less, "reasoning_tokens", None),
    )


def serve(
    name: str,
    distribution: str,
    claims: list[str],
    wires: list[str],
    read: Callable[[dict[str, Any], Loopback], dict[str, Any]],
    *,
    providers: list[str] | None = None,
) -> None:
    """Answer line by line until the input ends. ``read(ask, server)`` gives the calls; what it raises is told.

    ``providers``: whose answers the library reads on these wires; null: of whoever speaks them.
    """
    server = Loopback()
    if len(sys.argv) > 1:
        _OUT.write(json.dumps(_answered(_told(sys.argv[1:]), read, server), default=str, indent=1) + "\n")
        _OUT.flush()
        return
    # Streams that a library leaves unclosed in a cycle are closed between the questions: where the collector comes in
    # the midst of a request, httpcore waits for a lock of its own pool for ever.
    gc.disable()
    told = {"name": name, "version": version(distribution), "claims": claims, "wires": wires, "providers": providers}
    for number, line in enumerate(sys.stdin):
        ask = json.loads(line)
        if ask["op"] == "hello":
            given: dict[str, Any] = told
        else:
            given = _answered(ask, read, server)
        _OUT.write(json.dumps(given, default=str) + "\n")
        _OUT.flush()
        if number % _TIDY == 0:
            gc.collect()
            gc.freeze()


def _answered(
    ask: dict[str, Any], read: Callable[[dict[str, Any], Loopback], dict[str, Any]], server: Loopback
) -> dict[str, Any]:
    server.pieces = [base64.b64decode(piece) for piece in ask["pieces"]]
    server.status, server.stream = ask["status"], ask["stream"]
    try:
        return read(ask, server)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:2000]}


def _told(arguments: list[str]) -> dict[str, Any]:
    """A question from the command line: what the library says of the answer in a file."""
    parser = argparse.ArgumentParser(description="What the library says of an answer.")
    parser.add_argument("body", help="the file with the answer, as it stood on the wire")
    parser.add_argument("--wire", required=True)
    parser.add_argument("--provider", default="openai")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--status", type=int, default=200)
    parser.add_argument("--tools", help="a file with the declared tools, as they stand in a request")
    told = vars(parser.parse_args(arguments))
    told["pieces"] = [base64.b64encode(_file(told["body"])).decode()]
    told["tools"] = json.loads(_file(told["tools"])) if told["tools"] else []
    return told


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
