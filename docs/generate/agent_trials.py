"""The table "side by side" of agents.md: what four libraries do with three typed tools.

python -m docs.generate.agent_trials PYTHON    plays the trials, into agent_trials.json; takes about two minutes

PYTHON is the interpreter of an environment that has the other libraries (`PACKAGES`). The programs are in
docs/programs/agents. The provider is a server on loopback that speaks Chat Completions: it calls all
three tools, refuses a request that breaks a rule of OpenAI (`check_request`), and answers the results with "Done.". In
the trials `typed` and `fallback`, the providers are emulated ones of this package, which answer the results with JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs.generate import DATA
from docs.generate import PROGRAMS as ALL_PROGRAMS
from toolparity.cassettes.emulated.http import application
from toolparity.cassettes.emulated.provider import call, scripted
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.servers import Servers, serving
from toolparity.cassettes.scripts import Fault, Round, Say
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.requests import check_request

PROGRAMS = ALL_PROGRAMS / "agents"
SEEN = DATA / "agent_trials.json"
#: The lines between which the agent of a program is.
BEGIN, FINISH = "# The agent begins here.\n", "# The agent ends here.\n"
#: Program -> its title and the distribution whose version counts.
LIBRARIES = {
    "with_toolparity": ("toolparity", "toolparity"),
    "with_openai_agents": ("OpenAI Agents SDK", "openai-agents"),
    "with_pydantic_ai": ("pydantic-ai", "pydantic-ai-slim"),
    "with_langgraph": ("LangGraph", "langgraph"),
}
#: Members of requests that require the form of the answer.
FORMATS = ("response_format", "output_config")
PACKAGES = (
    "openai-agents",
    "pydantic-ai-slim[openai,anthropic]",
    "langgraph",
    "langchain",
    "langchain-openai",
    "langchain-anthropic",
    "langgraph-checkpoint-sqlite",
)
TYPED = ("typed", "fallback")
#: The answer in these trials.
CHARTER = {"boat": "Ana", "day": "2026-11-27", "price": 240.0}
CALLS = [
    ("find_boat", {"harbour": "Horta", "kind": "sail"}),
    ("book", {"boat": "Ana", "day": "2026-11-27"}),
    ("price", {"boat": "Ana", "days": 2}),
]


class Provider(ThreadingHTTPServer):
    """The provider. ``bodies``: the requests so far. ``refusals``: the rules that they broke."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []
        self.refusals: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Answers one request, streamed if the request says so."""

    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        broken = check_request(body, "openai.chat", provider="openai")
        if broken:
            self.server.refusals.append(broken[0].message)
            error = {"message": broken[0].message, "type": "invalid_request_error", "param": None, "code": None}
            self._send(400, "application/json", json.dumps({"error": error}))
            return
        message, reason = _message(body["messages"], len(self.server.bodies))
        head = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            self._send(200, "application/json", json.dumps(whole))
            return
        calls = [{"index": number, **call} for number, call in enumerate(message.get("tool_calls") or [])]
        delta = {"role": "assistant", "content": message["content"], **({"tool_calls": calls} if calls else {})}
        chunks = [{"index": 0, "delta": delta}, {"index": 0, "delta": {}, "finish_reason": reason}]
        lines = [json.dumps({**head, "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
        self._send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

    def _send(self, status: int, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _message(messages: list[dict[str, Any]], number: int) -> tuple[dict[str, Any], str]:
    """Return the message of the model: calls for the first message of the user, "Done." for everything else."""
    if messages[-1]["role"] != "user" or any(message["role"] == "tool" for message in messages):
        return {"role": "assistant", "content": "Done."}, "stop"
    calls = [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for at, (name, given) in enumerate(CALLS)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"


@contextmanager
def providing() -> Iterator[Provider]:
    """Run the provider while the block runs."""
    provider = Provider()
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        provider.shutdown()
        provider.server_close()


@contextmanager
def emulated(*, overloaded: bool = False) -> Iterator[tuple[Servers, list[dict[str, Any]]]]:
    """Run an emulated provider while the block runs, and yield its addresses and the requests that it gets.

    ``overloaded``: it answers the results of the tools with an error.
    """
    calls = Round([call(name, **given) for name, given in CALLS], "Charter a boat.")
    answer = Round([Say(json.dumps(CHARTER))], fault=Fault("overloaded") if overloaded else None)
    app = application({"made": scripted(calls, answer)})
    bodies: list[dict[str, Any]] = []

    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            message = await receive()
            parts.append(message.get("body", b""))
            if message["type"] == "http.request" and not message.get("more_body"):
                bodies.append(json.loads(b"".join(parts)))
            return message

        parts: list[bytes] = []
        await app(scope, received, send)

    with serving(recorded, EmulatedChat()) as servers:
        yield servers, bodies


def play_typed(python: str, program: str, trial: str, folder: Path) -> dict[str, Any]:
    """Play a trial with a typed answer, in which the first provider may fail, and return what happened."""
    chat, messages = SURFACES["openai.chat"], SURFACES["anthropic.messages"]
    with emulated(overloaded=trial == "fallback") as (first, asked), emulated() as (other, asked_then):
        urls = [first.base(chat), str(folder), other.base(chat), other.base(messages)]
        result = printed([python, str(PROGRAMS / f"{program}.py"), trial, *urls], f"{program} {trial}")
    bodies = [asked[0], *asked_then[-1:]]
    formats = [next((name for name in FORMATS if name in body), "") for body in bodies]
    wire = "Messages" if "output_config" in bodies[-1] or "system" in bodies[-1] else "Chat Completions"
    seen = {"formats": formats, "runs": runs_in(log_of(folder))}
    return {**result, **seen, **({"continued": wire} if len(bodies) > 1 else {})}


def play(python: str, program: str, trial: str, folder: Path, provider: Provider) -> dict[str, Any]:
    """Play one trial of a program, and return what it printed. The trial `killed` returns nothing."""
    url = f"http://127.0.0.1:{provider.server_address[1]}/v1"
    command = [python, str(PROGRAMS / f"{program}.py"), trial, url, str(folder)]
    if trial != "killed":
        return printed(command, f"{program} {trial}")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while len(log_of(folder)) < 5 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1)  # what the library stores after the two tools that ended
    process.kill()
    process.communicate()
    return {}


def printed(command: list[str], what: str) -> dict[str, Any]:
    """Run a program and return the last line that it prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        raise RuntimeError(f"{what}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def log_of(folder: Path) -> list[dict[str, Any]]:
    """Return the log of the tools."""
    path = folder / "runs.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def measure(python: str, program: str) -> dict[str, Any]:
    """Play all trials of a program, each with a new provider."""
    measured: dict[str, Any] = {}
    for trial in ("parallel", "failing", "cancelled"):
        with TemporaryDirectory() as name, providing() as provider:
            result = play(python, program, trial, Path(name), provider)
            log = log_of(Path(name))
            if trial == "parallel":
                result["seconds"] = max(line["at"] for line in log) - min(line["at"] for line in log)
            if "seconds" in result:
                result["seconds"] = round(result["seconds"], 1)
            measured[trial] = {
                **result,
                "runs": runs_in(log),
                "results": results_in(provider.bodies),
                "refused": provider.refusals,
            }
    with TemporaryDirectory() as name, providing() as provider:
        play(python, program, "killed", Path(name), provider)
        time.sleep(1.5)  # the lease of a turn log ends
        result = play(python, program, "resumed", Path(name), provider)
        log = log_of(Path(name))
        measured["killed"] = {**result, "runs": runs_in(log), "results": results_in(provider.bodies)}
    for trial in TYPED:
        with TemporaryDirectory() as name:
            measured[trial] = play_typed(python, program, trial, Path(name))
    return measured


def runs_in(log: list[dict[str, Any]]) -> dict[str, int]:
    """Return how often each tool ran, in the order of the calls."""
    counts = Counter(line["tool"] for line in log if line["what"] == "started")
    return {name: counts[name] for name, _ in CALLS}


def results_in(bodies: list[dict[str, Any]]) -> list[str]:
    """Return the content of the results in the last request."""
    messages = bodies[-1]["messages"] if bodies else []
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def agent_of(program: str) -> str:
    """Return the lines of a program that are the agent."""
    text = (PROGRAMS / f"{program}.py").read_text()
    return text.split(BEGIN)[1].split(FINISH)[0]


def lines_of(program: str) -> int:
    """Return the number of lines of the agent in a program, without empty ones."""
    return sum(bool(line.strip()) for line in agent_of(program).splitlines())


def table() -> str:
    """Return the table."""
    seen = json.loads(SEEN.read_text("utf-8"))
    rows = [
        "| library | lines | three calls | a tool raises | cancelled, then the next message | killed, then resumed | "
        "a typed answer | the provider fails |"
    ]
    rows.append("|---|---|---|---|---|---|---|---|")
    for program, (title, _) in LIBRARIES.items():
        measured = seen[program]
        cells = [f"{title} {measured['version']}", str(lines_of(program)), f"{measured['parallel']['seconds']:g} s"]
        cells += [_after(measured[trial]) for trial in ("failing", "cancelled", "killed")]
        cells += [_typed(measured[trial]) for trial in TYPED]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _after(result: dict[str, Any]) -> str:
    """Return what the model got for the call that did not return, or how the run ended, and which tools ran again."""
    if result.get("refused"):
        got = f"the provider refuses the request: {result['refused'][0]}"
    elif "error" in result:
        got = f"the run raises `{result['error']}`"
    else:
        got = f"the model gets `{result['results'][1]}`"
    again = [f"`{name}`" for name, count in result["runs"].items() if count > 1]
    return f"{got}; {', '.join(again)} ran again" if again else got


def _typed(result: dict[str, Any]) -> str:
    """Return the type of the answer, what the requests required it with, the other provider, and what ran again."""
    got = f"`{result['text'].partition('(')[0]}`" if "text" in result else f"the run raises `{result['error']}`"
    by = " and ".join(f"`{name}`" for name in dict.fromkeys(result["formats"]) if name)
    on = f" on {result['continued']}" if "continued" in result else ""
    again = [f"`{name}`" for name, count in result["runs"].items() if count > 1]
    return f"{got}{on}, by {by or 'instructions'}{'; ' + ', '.join(again) + ' ran again' if again else ''}"


def version_in(python: str, distribution: str) -> str:
    """Return the version of a distribution in the environment of an interpreter."""
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main(python: str) -> None:
    """Play the trials."""
    seen = {}
    for program, (_, distribution) in LIBRARIES.items():
        interpreter = sys.executable if program == "with_toolparity" else python
        seen[program] = {"version": version_in(interpreter, distribution), **measure(interpreter, program)}
    SEEN.write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
