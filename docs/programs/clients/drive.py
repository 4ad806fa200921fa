"""Drive a coding agent against a provider on loopback, and print what it sends and what it does when a gateway fails.

    python drive.py claude-code PROGRAM [SITUATION…]        PROGRAM: such as node_modules/.bin/claude
    python drive.py codex PROGRAM none --into FOLDER        also writes all requests there
    python drive.py codex PROGRAM --through URL --listen PORT     with a gateway between, whose provider has this port

The agent runs in an empty home folder with a made-up key, without telemetry and updates. Every address but loopback is
behind a proxy that does not exist. The scripted model thinks, runs a harmless command and reads a file, looks at an
image, and ends. A situation is one fault, in every answer or with --once in the first one. For each, the program prints
how often the command ran (once is right), the requests with their statuses, and the end of the output. After the
situation "none", it prints what the table of the agent (conformance/clients) lacks, and what only the table has.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from toolparity.cassettes.emulated.provider import call
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.script_player import Play, ProviderRefusal
from toolparity.cassettes.emulated.servers import serving_http
from toolparity.cassettes.scripts import OfferedTool, Part, Round, Say, Script, ScriptedCall, Think
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.conformance.clients.table import coding_agent
from toolparity.conformance.gateway.http_server import HttpRequest, HttpResponse, HttpServer, json_response
from toolparity.conformance.gateway.known_bad import form, known_gateways
from toolparity.conformance.gateway.known_bad.passing import Event, parse
from toolparity.normalizer.requests import read_request

#: Seconds until an agent is stopped.
_LONGEST = 100
_ASK = "Run the command, and look at both files."
_COMMAND, _OTHER_COMMAND = "echo run >> runs.txt", "cat note.txt"
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGOYAAAAkgCREiL7ewAAAABJRU5ErkJggg=="
_OFFLINE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "", "NO_PROXY": "127.0.0.1", "NO_COLOR": "1"}
_KEY = "sk-made-up"
#: Headers of one connection, or with another value in each request.
_OF_CONNECTIONS = re.compile(
    r"host|connection|content-.*|accept.*|authorization|x-api-key|x-stainless-.*|.*-turn-metadata"
)
#: Members whose content belongs to the user or to a tool.
_OPAQUE = ("input_schema", "parameters", "input", "arguments", "client_metadata", "metadata", "format")
#: A change of the response of the provider.
Change = Callable[[HttpResponse, Surface], HttpResponse]
Events = Iterator[Event]


class Seen(NamedTuple):
    """A request of the agent. ``status``: of the response."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    status: int


class Agent(NamedTuple):
    """An agent. ``command(program, url, model)`` starts it. ``models``: "" is its own; the last one plays the faults.

    ``environment(url)``: its variables. ``rounds(work, tools)``: what the model does with tools of these names.
    """

    models: tuple[str, ...]
    command: Callable[[str, str, str], list[str]]
    environment: Callable[[str], dict[str, str]]
    rounds: Callable[[Path, set[str]], list[list[Part]]]


def _claude_code(program: str, url: str, model: str) -> list[str]:
    options = ["--output-format", "json", "--allowedTools", "Bash,Read", *(["--model", model] if model else [])]
    return [program, "-p", _ASK, *options]


def _claude_code_environment(url: str) -> dict[str, str]:
    off = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "DISABLE_BUG_COMMAND")
    address = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": _KEY, "CLAUDE_CODE_MAX_RETRIES": "2"}
    return {**address, "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1", **dict.fromkeys(off, "1")}


def _claude_code_rounds(work: Path, tools: set[str]) -> list[list[Part]]:
    if "Bash" not in tools:
        return [[Say("Done.")]]
    note, dot = (call("Read", file_path=str(work / name)) for name in ("note.txt", "dot.png"))
    return [[Think("Both."), call("Bash", command=_COMMAND, description="Note"), note], [dot], [Say("Done.")]]


def _codex(program: str, url: str, model: str) -> list[str]:
    provider = {"name": "made up", "base_url": f"{url}/v1", "env_key": "MADE_UP_KEY", "wire_api": "responses"}
    limits = {"request_max_retries": 2, "stream_max_retries": 2, "stream_idle_timeout_ms": 3000}
    settings: dict[str, Any] = {f"model_providers.made-up.{key}": value for key, value in (provider | limits).items()}
    settings |= {"model_provider": "made-up", "check_for_update_on_startup": False, "analytics.enabled": False}
    settings |= {"model": model} if model else {}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={json.dumps(value)}")]
    return [program, "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--json", *options, _ASK]


def _codex_rounds(work: Path, tools: set[str]) -> list[list[Part]]:
    commands = (_COMMAND, _OTHER_COMMAND)
    if "exec_command" in tools:
        calls: list[Part] = [call("exec_command", cmd=command) for command in commands]
        look: Part = call("view_image", path=str(work / "dot.png"))
    else:  # a program calls the tools
        runs = [f"text((await tools.exec_command({{cmd: '{command}'}})).output)" for command in commands]
        calls = [ScriptedCall("exec", arguments_text=run) for run in runs]
        look = ScriptedCall("exec", arguments_text=f"image('data:image/png;base64,{_PNG}')")
    return [[Think("Both."), *calls], [look], [Say("Done.")]]


AGENTS = {
    "claude-code": Agent(("",), _claude_code, _claude_code_environment, _claude_code_rounds),
    "codex": Agent(("", "gpt-5.3-codex"), _codex, lambda url: {"MADE_UP_KEY": _KEY}, _codex_rounds),
}


def error(kind: str, body: Any = None, message: str = "made up", **headers: str) -> Change:
    """Return an error response in the form of the provider, or with another body."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}

    def changed(response: HttpResponse, surface: Surface) -> HttpResponse:
        status, own, value = surface.emulation.error(ProviderRefusal(kind, message))
        return replace(json_response(body or value, status), headers={**own, **more})

    return changed


def events(change: Callable[[Events], Iterable[Event]]) -> Change:
    """Return a change of the events of a stream."""

    def changed(response: HttpResponse, surface: Surface) -> HttpResponse:
        pieces = [event.encode() for event in change(parse(response.pieces))] if response.stream else response.pieces
        return replace(response, pieces=pieces)

    return changed


def without(kind: str, *path: str) -> Change:
    """Return a change that removes a member from the events of a kind; without a path, the events or deltas."""

    def changed(found: Events) -> Events:
        for event in found:
            delta = event.data.get("delta")
            holder = event.data if kind == event.data.get("type") else None
            if not path and (holder is not None or (isinstance(delta, dict) and delta.get("type") == kind)):
                continue
            for name in path[:-1]:
                holder = (holder or {}).get(name)
            if holder:
                holder.pop(path[-1], None)
            yield event

    return events(changed)


def silent(sent: bytes) -> Change:
    """Return a stream that pauses for six seconds, and sends these bytes each second."""

    async def paused(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
        yield pieces[0]
        for _ in range(6):
            await asyncio.sleep(1)
            if sent:
                yield sent
        for piece in pieces[1:]:
            yield piece

    return lambda response, surface: replace(response, slowly=paused) if response.stream else response


def until(kind: str, *instead: Any) -> Change:
    """Return a stream that ends before the last event of a kind, with other events instead of the rest."""

    def changed(found: Events) -> Events:
        listed = list(found)
        yield from listed[: max(at for at, event in enumerate(listed) if event.data.get("type") == kind)]
        yield from (Event(one["type"], one) for one in instead)

    return events(changed)


def _pings(found: Events) -> Events:
    for event in found:
        yield from (event, Event("ping", {"type": "ping"}))


def _unnamed(found: Events) -> Events:
    return (Event("", event.data) for event in found)


_FOREIGN = {"error": {"message": "upstream said no", "type": "None", "param": None, "code": "400"}}
_OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
_FAILURE = {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "made up"}}
_SHARED: dict[str, Change] = {
    "none": lambda response, surface: response,
    "400": error("invalid_request"),
    "400-foreign": error("invalid_request", _FOREIGN),
    "401": error("authentication"),
    "404": error("not_found"),
    "429": error("rate_limit"),
    "429-retry-after": error("rate_limit", retry_after="2"),
    "500": error("server_error"),
    "529": error("overloaded"),
    "wrong-content-type": lambda response, surface: replace(response, stream=False),
    "json-for-a-stream": lambda response, surface: response,  # see `Provider`
    "pings": events(_pings),
    "no-event-names": events(_unnamed),
}
_OWN: dict[str, dict[str, Change]] = {
    "claude-code": {
        "no-usage-in-start": without("message_start", "message", "usage"),
        "no-usage-at-all": lambda response, surface: without("message_delta", "usage")(
            without("message_start", "message", "usage")(response, surface), surface
        ),
        "no-signature": without("signature_delta"),
        "no-message-start": without("message_start"),
        "no-block-starts": without("content_block_start"),
        "cut-before-the-end": until("message_delta"),
        "cut-in-a-call": until("content_block_stop"),
        "error-event": until("content_block_stop", _OVERLOADED),
    },
    "codex": {
        "no-usage": without("response.completed", "response", "usage"),
        "no-encrypted-reasoning": without("response.output_item.done", "item", "encrypted_content"),
        "silent": silent(b""),
        "silent-comments": silent(b": still there\n\n"),
        "silent-pings": silent(b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 1}\n\n'),
        "no-completed": without("response.completed"),
        "no-added": without("response.output_item.added"),
        "cut-in-a-call": until("response.output_item.done"),
        "failed-event": until("response.completed", {"type": "response.failed", "response": _FAILURE}),
    },
}
#: Situation -> what a request contains that is refused with 400, and words of Anthropic. With ``-wrapped`` they are
#: among other words, and with ``-reworded`` other words take their place.
_REFUSED = {
    "refuses-signatures": ('"signature"', "messages.2.content.0: Invalid `signature` in `thinking` block"),
    "refuses-system-messages": ('"role": "system"', "messages.1.role: Input should be 'user' or 'assistant'"),
    "refuses-context-management": ('"context_management"', "context_management: Extra inputs are not permitted"),
    "refuses-adaptive": ('"adaptive"', "thinking.type: adaptive thinking is not supported on this model"),
    "prompt-too-long": ('"messages"', "prompt is too long: 210000 tokens > 200000 maximum"),
}
_WORDINGS = {"": "{}", "-wrapped": "Upstream error: {} (request 4711)", "-reworded": "The request was refused."}


def situations(name: str) -> dict[str, Change]:
    """Return the situations of an agent: those of its table, and the faults in the form of its wire's streams."""
    known_gateways()  # they define the faults
    wire = coding_agent(name).wire
    of_form = {
        fault: events(partial(change, *what)) for fault, (of, change, *what) in form._FAULTS.items() if of == wire
    }
    refused = [situation + wording for situation in _REFUSED for wording in _WORDINGS] if name == "claude-code" else []
    return _SHARED | _OWN[name] | of_form | dict.fromkeys(refused, _SHARED["none"])


class Provider:
    """Plays the rounds of an agent. ``seen``: its requests."""

    def __init__(self, name: str, work: Path, situation: str, *, once: bool) -> None:
        self._surface = SURFACES[coding_agent(name).surface]
        self._agent, self._work, self._situation = AGENTS[name], work, situation
        self._change = situations(name)[situation]
        self._faults = 1 if once else 1000
        self.seen: list[Seen] = []

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Answer a request of the agent."""
        packed = request.headers.get("content-encoding") == "gzip"
        data = gzip.decompress(request.body) if packed else request.body
        body = json.loads(data) if data else None
        response = self._response(request, body)
        path = "?".join(filter(None, (request.path, request.query)))
        self.seen.append(Seen(request.method, path, dict(request.headers), body, response.status))
        return response

    def _response(self, request: HttpRequest, body: Any) -> HttpResponse:
        surface = self._surface
        if request.path.endswith("/models"):
            return json_response({"data": [], "models": []})
        if request.path.endswith("/count_tokens"):
            return json_response({"input_tokens": 42})
        if body is None or not request.path.endswith(surface.spec.path):
            return json_response({"error": "no such path"}, 404)
        asked = read_request(body, surface.wire, provider=surface.provider)
        rounds = self._agent.rounds(self._work, {tool.name for tool in asked.tools})
        number = min(_answers(body), len(rounds) - 1)
        round, tools = Round(rounds[number], pieces="whole"), [OfferedTool("exec", "", kind="custom")]
        play = Play(surface, Script("driven", "", [round], tools), number, round, asked, body)
        stream = body.get("stream") is True and self._situation != "json-for-a-stream"
        response = HttpResponse(play.sent(stream=stream), stream=stream)
        if not self._faults:
            return response
        if (refused := self._refusal(body)) is not None:
            return refused
        self._faults -= 1
        return self._change(response, surface)

    def _refusal(self, body: Any) -> HttpResponse | None:
        for situation, (mark, words) in _REFUSED.items():
            wording = _WORDINGS.get(self._situation.removeprefix(situation))
            if self._situation.startswith(situation) and wording is not None and mark in json.dumps(body):
                return error("invalid_request", message=wording.format(words))(HttpResponse([]), self._surface)
        return None


def _answers(body: Any) -> int:
    """Return how many rounds the history of a request has."""
    if "messages" in body:
        return sum(message["role"] == "assistant" for message in body["messages"])
    kinds = [str(item.get("type")) for item in body["input"]]
    return sum(is_result for is_result, _ in groupby(kinds, key=lambda kind: kind.endswith("_output")))


class Outcome(NamedTuple):
    """What an agent did. ``runs``: how often the command ran. ``requests``: each with its status -> how often."""

    situation: str
    model: str
    exit: int
    runs: int
    requests: dict[str, int]
    output: str


def drive(
    name: str, program: str, situation: str, model: str, *, through: str = "", port: int = 0, once: bool = False
) -> tuple[Outcome, list[Seen]]:
    """Run an agent. Return what it did, and its requests."""
    agent = AGENTS[name]
    with tempfile.TemporaryDirectory(prefix="toolparity-agent-") as folder:
        home = Path(folder)
        (work := home / "work").mkdir()
        (home / ".codex").mkdir()
        (work / "note.txt").write_text("a note\n")
        (work / "dot.png").write_bytes(b64decode(_PNG))
        (runs := work / "runs.txt").touch()
        provider = Provider(name, work, situation, once=once)
        with serving_http(HttpServer(provider.respond), EmulatedChat(), http_port=port) as servers:
            url = through or servers.http_url
            process = subprocess.Popen(
                agent.command(program, url, model),
                cwd=work,
                env={"PATH": os.environ["PATH"], "HOME": str(home), **_OFFLINE, **agent.environment(url)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            try:
                output = process.communicate(timeout=_LONGEST)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output = process.communicate()[0]
        requests = Counter(f"{one.method} {one.path} {one.status}" for one in provider.seen)
        ran = runs.read_text().count("run")
    return Outcome(situation, model, process.returncode, ran, dict(requests), output[-700:]), provider.seen


def shape(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the members of a request, with the types of items."""
    if isinstance(value, dict):
        kind = value.get("type", value.get("role"))
        path = f"{path}<{kind}>" if isinstance(kind, str) and path.endswith("[]") else path
        for name, member in value.items():
            yield f"{path}.{name}".removeprefix(".")
            if name not in _OPAQUE:
                yield from shape(member, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for member in value:
            yield from shape(member, f"{path}[]")


def facts(headers: Any, body: Any) -> Iterator[str]:
    """Yield what a request has: the names of its headers, its betas, and its members."""
    yield from (f"header {name}" for name in headers if not _OF_CONNECTIONS.fullmatch(name))
    yield from (f"beta {beta}" for beta in headers.get("anthropic-beta", "").split(",") if beta)
    yield from shape(body)


def compare(name: str, seen: Iterable[Seen]) -> None:
    """Print how the requests differ from the table of the agent."""
    sent = {fact for one in seen for fact in facts(one.headers, one.body)}
    table = {fact for headers, body in coding_agent(name).requests() for fact in facts(headers, body)}
    for title, found in (("not in the table", sent - table), ("only in the table", table - sent)):
        print(f"{title}:", *sorted(found), sep="\n  ")


def main() -> None:
    """Run the situations that the arguments name."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("agent", choices=AGENTS)
    parser.add_argument("program")
    parser.add_argument("situations", nargs="*", metavar="SITUATION", help="all by default")
    parser.add_argument("--once", action="store_true", help="the fault is in the first answer only")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="write all requests there")
    parser.add_argument("--through", default="", metavar="URL", help="the gateway that the agent asks")
    parser.add_argument("--listen", type=int, default=0, metavar="PORT", help="the port of the provider")
    options = parser.parse_args()
    for situation in options.situations or situations(options.agent):
        requests = []
        models = AGENTS[options.agent].models
        for model in models if situation == "none" else models[-1:]:
            how = {"through": options.through, "port": options.listen, "once": options.once}
            outcome, seen = drive(options.agent, options.program, situation, model, **how)
            print(json.dumps(outcome._asdict(), indent=1), flush=True)
            requests += seen
        if situation == "none":
            compare(options.agent, requests)
        if options.into is not None:
            options.into.mkdir(exist_ok=True)
            file = options.into / f"{options.agent}-{situation}.json"
            file.write_text(json.dumps([one._asdict() for one in requests], indent=1))


if __name__ == "__main__":
    main()
