"""Code that the programs of this folder share: the line protocol, and a local server that sends the response.

The programs import it as a top-level module, because they run in environments without this project; it uses only the
standard library. It must be imported first: it redirects what libraries print to standard error and disables telemetry.
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
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # keep the libraries' output out of the answers

for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]
os.environ.update(
    DO_NOT_TRACK="1",
    LANGCHAIN_TRACING_V2="false",
    LANGSMITH_TRACING="false",
    LITELLM_LOCAL_MODEL_COST_MAP="True",  # otherwise importing it sends a request
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)
for _key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "XAI_API_KEY"):
    os.environ[_key] = "none"


#: The number of lines between two garbage collections.
_TIDY = 25


class Loopback:
    """A server on a free port that sends the loaded response to every request.

    ``url``: its address. ``pieces``: the body; for a streamed response each piece is sent as a separate chunk.
    """

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.status, self.stream = 200, False
        loaded = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # buffered: HTTP framing separates the chunks, so they need no separate writes

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
    """Return the installed version of a distribution."""
    return metadata.version(distribution)


def usage(input_tokens: Any, output_tokens: Any, cached: Any = None, reasoning: Any = None) -> dict[str, Any]:
    """Return token counts in the suite's format."""
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


#: Declared if the case has no tools: a caller that gets calls has declared tools, and some libraries depend on that.
_SOME = Function("some_tool", "A tool.", {"type": "object", "properties": {}})


def functions(ask: dict[str, Any]) -> list[Function]:
    """Return the functions among the declared tools of any wire, at least one."""
    found = []
    for tool in ask["tools"]:
        held = tool.get("function") or tool
        schema = held.get("parameters") or held.get("input_schema")
        if held.get("name") and isinstance(schema, dict):
            found.append(Function(held["name"], held.get("description") or "", schema))
    return found or [_SOME]


def chat_tools(ask: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same functions in the format of Chat Completions."""
    return [{"type": "function", "function": tool._asdict()} for tool in functions(ask)]


#: Items of Responses that are client calls -> their name if the item has none, and the member with the arguments.
_ITEMS = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "computer_call": ("computer", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}


def item_calls(output: Any) -> list[dict[str, Any]]:
    """Return the calls among the items of a Responses response, which a library passes on as objects or dicts."""
    calls = []
    for held in _plain(output):
        if held.get("type") in _ITEMS:
            name, member = _ITEMS[held["type"]]
            calls.append({"id": held.get("call_id"), "name": held.get("name") or name, "arguments": held.get(member)})
    return calls


def unanswered(output: Any) -> list[dict[str, Any]]:
    """Return the items without the calls whose output is among them.

    For a library that returns both and runs nothing: its caller sees that the provider ran such a call.
    """
    items = _plain(output)
    answered = {held.get("call_id") for held in items if str(held.get("type")).endswith("_output")} - {None}
    return [held for held in items if held.get("type") not in _ITEMS or held.get("call_id") not in answered]


def _plain(output: Any) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in output]


def figures_of(told: Any, words: str = "input output") -> dict[str, Any] | None:
    """Return the token counts of an object with the members of OpenAI's usage.

    ``words``: its names for input and output.
    """
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
    """Answer line by line until the input ends.

    ``read(ask, server)`` returns the calls; an exception becomes an answer with an error. ``providers``: the providers
    whose responses the library reads on these wires, or None for all. With command-line arguments it answers once for
    the response in a file.
    """
    server = Loopback()
    if len(sys.argv) > 1:
        _OUT.write(json.dumps(_answered(_told(sys.argv[1:]), read, server), default=str, indent=1) + "\n")
        _OUT.flush()
        return
    # Streams that a library leaves unclosed in a reference cycle must be closed between requests. If the collector
    # closed one during a request, httpcore would wait forever for a lock of its connection pool.
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
    """Return the input for a response in a file, from command-line arguments."""
    parser = argparse.ArgumentParser(description="Print the library's result for a response.")
    parser.add_argument("body", help="the file with the response body")
    parser.add_argument("--wire", required=True)
    parser.add_argument("--provider", default="openai")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--status", type=int, default=200)
    parser.add_argument("--tools", help="a JSON file with the declared tools of the request")
    told = vars(parser.parse_args(arguments))
    told["pieces"] = [base64.b64encode(_file(told["body"])).decode()]
    told["tools"] = json.loads(_file(told["tools"])) if told["tools"] else []
    return told


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
