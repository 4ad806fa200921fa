"""Code that the programs of this folder share: the line protocol, and a local server that sends the response.

The programs import it as a top-level module, because they run in environments without this project; it uses only the
standard library. It must be imported first: it redirects what libraries print to standard error and disables telemetry.
"""

from __future__ import annotations

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

from items import CLIENT_ITEMS  # type: ignore[import-not-found]
from scope import custom_tools  # type: ignore[import-not-found]
from stops import stop_of  # type: ignore[import-not-found]

_OUT = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # keep the libraries' output out of the answers

for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]
os.environ.update(
    DO_NOT_TRACK="1",
    HAYSTACK_TELEMETRY_ENABLED="False",
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


def write(answer: dict[str, Any]) -> None:
    """Print an answer as one line of JSON."""
    _OUT.write(json.dumps(answer, default=str) + "\n")
    _OUT.flush()


def usage(
    input_tokens: Any, output_tokens: Any, cached: Any = None, reasoning: Any = None, written: Any = None
) -> dict[str, Any]:
    """Return token counts in the suite's format. ``written``: the input tokens that were written to a cache."""
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached_input_tokens": cached,
        "reasoning_tokens": reasoning,
        "cache_write_tokens": written,
    }


def value_call(id: Any, name: str, value: Any) -> dict[str, Any]:
    """Return a call whose arguments the library has parsed. A text among ``arguments`` would be the argument text."""
    held = {"arguments_text": json.dumps(value)} if isinstance(value, str) else {"arguments": value}
    return {"id": id, "name": name, **held}


#: The states of a Responses response that ended, as a whole or cut by a limit or a filter.
ENDED = ("completed", "incomplete")


def chat_stop(choices: Any, calls: Any, refusal: Any = None) -> dict[str, Any]:
    """Return the stop reason of a Chat Completions response and whether it has one, from the first choice.

    ``calls``: its client calls. ``refusal``: the text of a refusal that is not in the message's member of this name.
    """
    if not choices:
        return {"stop": "unknown", "complete": None}
    word, message = choices[0].finish_reason, choices[0].message
    return ended(word, calls=calls, refusal=refusal or getattr(message, "refusal", None))


def ended(word: Any, **beside: Any) -> dict[str, Any]:
    """Return the stop reason and whether the response is complete. Without a word the caller cannot know it."""
    return {"stop": stop_of(word, **beside), "complete": True if word else None}


class OutOfScope(Exception):
    """The library does not do what the case is about. The text is the reason."""


def last_response(events: Any) -> Any:
    """Return the response of a Responses stream's terminal event, from a library that passes on the events.

    Raises RuntimeError if there is none, and OutOfScope if it omits calls of earlier events: the caller has them.
    """
    last, calls = None, set()
    for event in events:
        item = getattr(event, "item", None)
        if (
            item and _plain([item])[0].get("type") in CLIENT_ITEMS
        ) or event.type == "response.function_call_arguments.delta":
            calls.add(event.output_index)
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            last = event.response
    if last is None:
        raise RuntimeError("the stream ended without its last event")
    if len(calls) > sum(item.get("type") in CLIENT_ITEMS for item in _plain(last.output)):
        raise OutOfScope("the library passes on the events: they have calls that the terminal event omits")
    return last


def response_answer(response: Any, ask: dict[str, Any]) -> dict[str, Any]:
    """Return the calls, text, stop reason and token counts of a Responses response."""
    calls = item_calls(client_items(response.output, ask))
    beside = {"calls": calls, "refusal": has_refusal(response.output), "approval": asks_approval(response.output)}
    return {
        "calls": calls,
        "text": response.output_text or "",
        "usage": figures_of(response.usage),
        "stop": stop_of(response_word(response), **beside),
        "complete": response.status in ENDED,
    }


def response_word(response: Any) -> Any:
    """Return the word for the end of a Responses response: the reason why it is incomplete, or its status."""
    details = getattr(response, "incomplete_details", None)
    return getattr(details, "reason", None) or getattr(response, "status", None)


def has_refusal(output: Any) -> bool:
    """Return whether the items of a Responses response contain a refusal."""
    messages = (item for item in _plain(output) if item.get("type") == "message")
    return any(part.get("type") == "refusal" for item in messages for part in item.get("content") or ())


def asks_approval(output: Any) -> bool:
    """Return whether the items of a Responses response contain a call that waits for the caller's approval."""
    return any(item.get("type") == "mcp_approval_request" for item in _plain(output))


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


def item_calls(output: Any) -> list[dict[str, Any]]:
    """Return the calls among the items of a Responses response, which a library passes on as objects or dicts."""
    calls = []
    for held in _plain(output):
        if held.get("type") in CLIENT_ITEMS:
            name, member = CLIENT_ITEMS[held["type"]]
            calls.append({"id": held.get("call_id"), "name": held.get("name") or name, "arguments": held.get(member)})
    return calls


def client_items(output: Any, ask: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items without the calls of the provider.

    A caller sees that the provider ran a call: its output is among the items, or it is a custom call of xAI with a name
    that the request does not declare, as xAI's own searches are.
    """
    items = _plain(output)
    answered = {held.get("call_id") for held in items if str(held.get("type")).endswith("_output")} - {None}
    declared = custom_tools(ask)

    def by_provider(held: dict[str, Any]) -> bool:
        searched = held.get("type") == "custom_tool_call" and held.get("name") not in declared
        return held.get("call_id") in answered or (ask["provider"] == "xai" and searched)

    return [held for held in items if held.get("type") not in CLIENT_ITEMS or not by_provider(held)]


def _plain(output: Any) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else item.model_dump(exclude_unset=True) for item in output]


def figures_of(counts: Any, words: str = "input output") -> dict[str, Any] | None:
    """Return the token counts of an object with the members of OpenAI's usage.

    ``words``: its names for input and output. Reasoning is added to the output if the total counts it separately, as
    the total of xAI does.
    """
    if counts is None:
        return None
    into, out = words.split()
    more, less = (getattr(counts, f"{word}_tokens_details", None) for word in (into, out))
    read, written = (getattr(counts, f"{word}_tokens") for word in (into, out))
    reasoning = getattr(less, "reasoning_tokens", None)
    if reasoning and getattr(counts, "total_tokens", None) == (read or 0) + (written or 0) + reasoning:
        written = (written or 0) + reasoning
    cached, cache_write = (getattr(more, f"{word}_tokens", None) for word in ("cached", "cache_write"))
    return usage(read, written, cached, reasoning, cache_write)


def serve(
    name: str,
    distribution: str,
    claims: list[str],
    wires: list[str],
    read: Callable[[dict[str, Any], Loopback], dict[str, Any]],
    *,
    providers: list[str] | None = None,
    stop_words: str | None = None,
) -> None:
    """Answer line by line until the input ends.

    ``read(ask, server)`` returns the calls; an exception becomes an answer with an error. ``providers``: the providers
    whose responses the library reads on these wires, or None for all. ``stop_words``: the wire to whose stop words the
    library converts those of all wires.
    """
    server = Loopback()
    # Streams that a library leaves unclosed in a reference cycle must be closed between requests. If the collector
    # closed one during a request, httpcore would wait forever for a lock of its connection pool.
    gc.disable()
    hello = {
        "name": name,
        "version": version(distribution),
        "claims": claims,
        "wires": wires,
        "providers": providers,
        "stop_words": stop_words,
    }
    for number, line in enumerate(sys.stdin):
        ask = json.loads(line)
        if ask["op"] == "hello":
            answer: dict[str, Any] = hello
        else:
            answer = _answered(ask, read, server)
        write(answer)
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
    except OutOfScope as error:
        return {"unsupported": str(error)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:2000]}
