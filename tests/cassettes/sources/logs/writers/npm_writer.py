"""Writes what programs of npm record: ``NAME FOLDER BASE… TARGET``. NAME is a function of this module.

FOLDER is the npm project with the program. Coding agents run with an empty home. They get their answers from a server
that plays one script with the tool for commands that an agent offers, whatever else it sends; the server counts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import agent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolparity.cassettes.emulated.encoding import encoding
from toolparity.cassettes.emulated.rpc import EmulatedChat
from toolparity.cassettes.emulated.script_player import Play
from toolparity.cassettes.emulated.servers import serving
from toolparity.cassettes.scripts import Round, Say, Script, ScriptedCall
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.requests import read_request

#: The tool for commands of a coding agent -> its parameter.
_TOOLS = {"exec_command": "cmd", "Bash": "command", "run_shell_command": "command"}
_PATHS = {
    "/openai/v1/responses": "openai.responses",
    "/anthropic/v1/messages": "anthropic.messages",
    "/google/v1beta/models/{model}:streamGenerateContent": "google.gemini",
}


async def answer(received: Request) -> Response:
    """Answer a request of a coding agent with the round after those in its history."""
    surface = SURFACES[_PATHS[received.scope["route"].path]]
    body = await received.json()
    asked = read_request(body, surface.wire, provider=surface.provider)
    tool = next(name for name in (getattr(one, "name", None) for one in asked.tools) if name in _TOOLS)

    def calls(*cities: str) -> list[ScriptedCall]:
        more = {"description": "Look."} if tool == "Bash" else {}
        return [ScriptedCall(tool, {_TOOLS[tool]: f"echo {city}", **more}, result="") for city in cities]

    rounds = [Round([Say("Let me look."), *calls("Lisbon", "Porto", "Faro")]), Round(calls("Braga", "Evora"))]
    rounds.append(Round([Say("In Lisbon and Faro.")]))
    history = [*asked.messages, None]
    turns = pairwise(history)  # an answer can be several messages
    number = sum(isinstance(one, Assistant) and not isinstance(after, Assistant) for one, after in turns)
    agent.count(1, ["function_call"] * len(rounds[number].calls))
    played = Play(surface, Script("s", "s", rounds, []), number, rounds[number], asked, body)
    return Response(b"".join(played.sent(stream=True)), media_type=encoding(surface).stream_type)


def _agent(folder: Path, command: list[str], files: str, settings: dict[str, str], **homes: str) -> str:
    """Run a coding agent and return its transcript. ``homes``: files of its home."""
    app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path in _PATHS])
    with serving(app, EmulatedChat({})) as servers, tempfile.TemporaryDirectory() as home:
        for name, text in homes.items():
            path = Path(home, *name.split("__"))
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("URL", servers.http_url), "utf-8")
        made = {name: value.replace("URL", servers.http_url).replace("HOME", home) for name, value in settings.items()}
        program = [str(folder / "node_modules" / ".bin" / command[0]), *command[1:]]
        quiet: Any = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 120}
        subprocess.run(program, cwd=home, env={"PATH": os.environ["PATH"], "HOME": home, **made}, check=True, **quiet)
        (transcript,) = Path(home).glob(files)
        return transcript.read_text("utf-8").replace(home, "/home/user")


def claude(folder: Path) -> str:
    settings = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": "URL/anthropic", "DISABLE_TELEMETRY": "1"}
    command = ["claude", "-p", agent.QUESTION, "--model", agent.ANTHROPIC_MODEL, "--allowedTools", "Bash(echo:*)"]
    return _agent(folder, command, ".claude/projects/*/*.jsonl", settings)


def codex(folder: Path) -> str:
    provider = 'name="e"\nbase_url="URL/openai/v1"\nenv_key="KEY"\nwire_api="responses"'
    config = f'model="{agent.CHAT_MODEL}"\nmodel_provider="e"\n[model_providers.e]\n{provider}'
    command = ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", agent.QUESTION]
    home = {".codex__config.toml": config}
    text = _agent(folder, command, ".codex/sessions/**/*.jsonl", {"KEY": "any", "CODEX_HOME": "HOME/.codex"}, **home)
    hidden = '"role":"developer"', "base_instr"  # the instructions, which are long
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in hidden))


def gemini(folder: Path) -> str:
    config = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
    settings = {"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": "URL/google"}
    command = ["gemini", "-p", agent.QUESTION, "-m", "gemini-3-flash-preview", "--yolo", "--skip-trust"]
    home = {".gemini__settings.json": json.dumps(config)}
    return _agent(folder, command, ".gemini/tmp/*/chats/*.jsonl", settings, **home)


def vercel(folder: Path, *bases: str) -> str:
    shutil.copy(Path(__file__).with_name("vercel.mjs"), folder)
    with tempfile.NamedTemporaryFile() as target:
        command = ["node", folder / "vercel.mjs", *bases, target.name]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
        agent.COUNTS["exchanges"], agent.COUNTS["calls"] = map(int, printed.split())
        return Path(target.name).read_text("utf-8")


def main(name: str, folder: str, *arguments: str) -> None:
    """Write the log."""
    *rest, target = arguments
    Path(target).write_text(globals()[name](Path(folder), *rest), "utf-8")
    agent.report()


main(*sys.argv[1:])
