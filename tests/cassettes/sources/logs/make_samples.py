"""Makes the samples of logs again: ``python -m tests.cassettes.sources.logs.make_samples [NAME…]``.

Each program of `writers/` runs in an environment with its tool, which this script creates below FOLDER (by default in
the cache of the user) with pip or npm. The program plays conversations with the emulated providers, and prints what its
agent saw. `samples/samples.json` keeps these counts with the versions of the tool and with what the audit reads, and
the tests compare them. Samples that no tool here can write are written by hand, and `samples.json` says so.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from tests.audit.conversations.agents import SCRIPTS
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.surfaces import SURFACES
from toolparity.cli import main as cli

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"
MANIFEST = SAMPLES / "samples.json"
#: Texts of an agent with as many words are not kept.
_WORDS = 12
FOLDER = Path.home() / ".cache" / "toolparity" / "samples"


class Writer(NamedTuple):
    """A program, its arguments before the file to write, its requirements, and the format of its sample.

    An argument that names a surface becomes the address of the emulated provider; "port" becomes a free port. A
    requirement with "npm:" is installed with npm, one with "system:" is not installed.
    ``python``: the interpreter, by default the one that runs this script. With "npm", the requirements are packages of
    npm; this interpreter runs the program, and the first argument is their folder.
    """

    program: str
    arguments: tuple[str, ...]
    requirements: tuple[str, ...]
    format: str = "otlp"
    python: str = sys.executable


_SDKS = ("openai==3.54.0", "anthropic==2.12.0")
_TELEMETRY = ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-common==1.45.2")
#: Later versions of the helper library have removed what the instrumentation imports.
_OPENTELEMETRY = (
    *_TELEMETRY,
    "opentelemetry-instrumentation-openai-v2==2.4b0",
    "opentelemetry-util-genai==0.4b0",
    "openai==3.54.0",
    "httpx",
)
_CHAT, _BOTH = ("openai.chat",), ("openai.chat", "anthropic.messages")
_INFERENCE = ("openinference-instrumentation-openai==0.1.66", "openinference-instrumentation-anthropic==3.1.0")
_OPENINFERENCE = (*_INFERENCE, *_SDKS, *_TELEMETRY)
_LLMETRY = ("opentelemetry-instrumentation-openai==0.62.4", "opentelemetry-instrumentation-anthropic==0.62.4")
_OPENLLMETRY = (*_LLMETRY, *_SDKS, *_TELEMETRY)
_PORT = (*_BOTH, "port")
_CURL = ("system:curl==7.88.1",)
_POLLY = [f"npm:@pollyjs/{part}==6.0.6" for part in ("core", "adapter-node-http", "persister-fs")]
_VCRPY = ("vcrpy==7.0.0", "requests==2.34.2", "multidict==7.2.1")
_PHOENIX = ("arize-phoenix==20.3.0", "opentelemetry-exporter-otlp-proto-http==1.45.2", *_INFERENCE, *_SDKS)
_LATER = ("openai==3.57.0", "anthropic==2.14.0")
_LOGFIRE = ("logfire==5.4.0", _LATER[0], *_TELEMETRY)
_VERCEL = ("ai@6.0.326", "@ai-sdk/openai@3.0.141", "@ai-sdk/anthropic@3.0.140", "zod@4.6.7")
_NODE_TELEMETRY = ("@opentelemetry/sdk-trace-node@2.12.1", "@opentelemetry/otlp-transformer@0.223.1")


def _sdk(name: str, surfaces: tuple[str, ...], requirements: tuple[str, ...], format: str = "sdk-spans") -> Writer:
    return Writer("sdks", (name, *surfaces), requirements, format)


#: Sample -> its writer.
WRITERS = {
    "agents-sdk.jsonl": _sdk("agents", _CHAT, ("openai-agents==0.24.0", _LATER[0])),
    "braintrust.jsonl": _sdk("braintrust", _BOTH, ("braintrust==0.48.1", *_LATER)),
    "claude-code-print.jsonl": Writer("npm", ("claude",), ("@anthropic-ai/claude-code@2.1.197",), "claude-code", "npm"),
    "codex-exec.jsonl": Writer("npm", ("codex",), ("@openai/codex@0.171.0",), "codex", "npm"),
    "datadog.jsonl": _sdk("datadog", _BOTH, ("ddtrace==4.16.0", *_LATER), "recordings"),
    "gemini-cli.jsonl": Writer("npm", ("gemini",), ("@google/gemini-cli@0.61.0",), "gemini-cli", "npm"),
    "inspect.json": _sdk("inspect", _CHAT, ("inspect-ai==0.3.285", _LATER[0]), "inspect"),
    "langfuse-sdk.jsonl": _sdk("langfuse", _CHAT, ("langfuse==5.0.4", "openai==3.54.0", *_TELEMETRY), "otlp"),
    "langsmith.jsonl": _sdk("langsmith", _BOTH, ("langsmith==0.15.0", *_SDKS), "langsmith"),
    "logfire.jsonl": _sdk("logfire", _CHAT, _LOGFIRE, "otlp"),
    "mlflow.jsonl": _sdk("mlflow", _CHAT, ("mlflow-skinny==3.17.2", _LATER[0], "pandas", "numpy"), "recordings"),
    "opik.jsonl": _sdk("opik", _CHAT, ("opik==2.2.122", "openai==2.54.0")),
    "vercel.jsonl": Writer("npm", ("vercel", *_BOTH), (*_VERCEL, *_NODE_TELEMETRY), "otlp", "npm"),
    "litellm.jsonl": _sdk("litellm", _CHAT, ("litellm==1.106.2", "mcp==2.3.0"), "litellm"),
    "curl-trace.txt": Writer("recorder", ("curl -s -o /dev/null --trace-ascii -", *_PORT), _CURL, "raw-http"),
    "curl-verbose.txt": Writer("recorder", ("curl -v", *_PORT), _CURL, "raw-http"),
    "mitmproxy.flows": Writer("recorder", ("mitmproxy", *_PORT), ("mitmproxy==11.0.2",), "mitmproxy"),
    "nock.json": Writer("recorder", ("nock", *_PORT), ("npm:nock==14.0.10",), "json"),
    "polly.har": Writer("recorder", ("@pollyjs/core", *_PORT), (*_POLLY,), "json"),
    "vcrpy-tags.yaml": Writer("recorder", ("vcrpy", *_PORT), _VCRPY, "cassette"),
    "wiremock.json": Writer("recorder", ("wiremock", *_PORT), ("npm:wiremock==3.13.2",), "json"),
    "openinference.jsonl": _sdk("instrumentation", ("openinference.instrumentation", *_BOTH), _OPENINFERENCE, "otlp"),
    "openllmetry.jsonl": _sdk("instrumentation", ("opentelemetry.instrumentation", *_BOTH), _OPENLLMETRY, "otlp"),
    "opentelemetry-console.json": _sdk("opentelemetry", ("console", *_CHAT), _OPENTELEMETRY, "spans"),
    "opentelemetry-events.jsonl": _sdk("opentelemetry", ("events", *_CHAT), _OPENTELEMETRY, "otlp"),
    "opentelemetry-new.jsonl": _sdk("opentelemetry", ("attributes", *_CHAT), _OPENTELEMETRY, "otlp"),
    "opentelemetry-without-contents.jsonl": _sdk("opentelemetry", ("no-contents", *_CHAT), _OPENTELEMETRY, "otlp"),
    # Phoenix does not start with Python 3.11.
    "phoenix.json": Writer("phoenix", (*_BOTH, "port", "port"), _PHOENIX, "spans", "python3.12"),
}


def main(names: list[str]) -> None:
    """Make the samples with these names, by default all."""
    manifest: dict[str, Any] = json.loads(MANIFEST.read_text("utf-8"))
    with running(SCRIPTS) as servers:
        for name in names or WRITERS:
            manifest[name] = _make(name, WRITERS[name], servers)
            print(name, manifest[name])
    MANIFEST.write_text(json.dumps(dict(sorted(manifest.items())), indent=2) + "\n", "utf-8")


def _make(name: str, writer: Writer, servers: Servers) -> dict[str, Any]:
    folder = _environment(writer)
    python = folder / "bin" / "python" if writer.python != "npm" else sys.executable
    program = HERE / "writers" / f"{writer.program}_writer.py"
    arguments = [_argument(argument, servers) for argument in writer.arguments]
    if writer.python == "npm":
        arguments[1:1] = [str(folder)]
    target = SAMPLES / name
    ended = subprocess.run(
        [python, program, *arguments, target], capture_output=True, text=True, timeout=300, check=False, cwd=folder
    )
    if ended.returncode:
        sys.exit(f"{name}: {ended.stderr}")
    _clean(target, folder)
    if writer.python == "npm" and target.suffix == ".jsonl":
        without_texts(target)
    counts: dict[str, Any] = json.loads(ended.stdout[ended.stdout.rindex('{"exchanges"') :])
    return {"format": writer.format, "written_by": versions_of(writer), **counts, **read_by_audit(target)}


def versions_of(writer: Writer) -> dict[str, str]:
    """Return the tools of a writer with their versions."""
    named = [one.rpartition(":")[2] for one in writer.requirements if re.search("==|.@", one)]
    return dict(re.split("==|(?<=.)@", one, maxsplit=1) for one in named)


def read_by_audit(path: Path) -> dict[str, int]:
    """Return how many exchanges and calls of a sample the audit reads, and its exit code."""
    result = CliRunner().invoke(cli, ["audit", str(path), "--json"])
    data = json.loads(result.stdout)
    calls = sum(figures["calls"] for figures in data["wires"].values())
    return {"exchanges_read": data["exchanges"], "calls_read": calls, "exit_code": result.exit_code}


def _argument(argument: str, servers: Servers) -> str:
    if argument in SURFACES:
        return servers.base(SURFACES[argument])
    if argument == "port":
        with socket.create_server(("127.0.0.1", 0)) as free:
            return str(free.getsockname()[1])
    return argument


def _environment(writer: Writer) -> Path:
    """Return the folder of an environment with the requirements of a writer: a venv, a project of npm, or both."""
    folder = FOLDER / re.sub(r"(?<=.)[=@[].*", "", writer.requirements[0].removeprefix("npm:")).replace("/", "-")
    done = folder / "requirements.txt"
    wanted = "\n".join(writer.requirements)
    if not done.exists() or done.read_text("utf-8") != wanted:
        is_npm = writer.python == "npm"
        npm = [one.removeprefix("npm:").replace("==", "@") for one in writer.requirements if is_npm or "npm:" in one]
        pip = [] if is_npm else [one for one in writer.requirements if ":" not in one]
        if not is_npm:
            subprocess.run([writer.python, "-m", "venv", "--clear", folder], check=True)
        for tool, names in (((folder / "bin" / "python", "-m", "pip"), pip), (("npm", "--prefix", folder), npm)):
            if names:
                subprocess.run([*tool, "install", "-q", *names], check=True)
        done.write_text(wanted, "utf-8")
    return folder


def _clean(target: Path, environment: Path) -> None:
    """Remove the paths of this machine from a sample. Flows have lengths, and no paths."""
    if target.suffix != ".flows":
        site_packages = re.escape(str(environment)).encode() + rb"/lib/python[0-9.]+/site-packages/"
        content = re.sub(site_packages, b"", target.read_bytes())
        target.write_bytes(content.replace(f"{HERE}/".encode(), b""))


def without_texts(target: Path) -> None:
    """Replace the texts of an agent in its log, of its prompts, agents and skills, by their lengths."""
    lines = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    made = [json.dumps(_shortened(line), ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines]
    target.write_text("".join(made), "utf-8")


def _shortened(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {member: _shortened(one, member) for member, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, name) for one in value]
    is_long = isinstance(value, str) and name != "output" and len(value.split()) >= _WORDS
    return f"({len(value)} characters)" if is_long else value


if __name__ == "__main__":
    main(sys.argv[1:])
