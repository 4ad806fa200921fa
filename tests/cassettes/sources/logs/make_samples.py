"""Makes the samples of logs again: ``python -m tests.logs.make_samples [NAME…]``.

Each program of `writers/` runs in an environment with its tool, which this script creates below FOLDER (by default in
the cache of the user) with pip. The program plays conversations with the emulated providers, and prints what its agent
saw. `samples/samples.json` keeps these counts with the versions of the tool, and the tests compare them with what the
importers read. Samples that no tool here can write are written by hand, and `samples.json` says so.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.audit.conversations.agents import SCRIPTS
from toolparity.cassettes.emulated.servers import Servers, running
from toolparity.cassettes.surfaces import SURFACES

HERE = Path(__file__).parent
SAMPLES = HERE / "samples"
MANIFEST = SAMPLES / "samples.json"
FOLDER = Path.home() / ".cache" / "toolparity" / "samples"


class Writer(NamedTuple):
    """A program, its arguments before the file to write, its requirements, and the format of its sample.

    An argument that names a surface becomes the address of the emulated provider; "port" becomes a free port. A
    requirement with "npm:" is installed with npm, one with "system:" is not installed.
    ``python``: the interpreter, by default the one that runs this script.
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
#: Sample -> its writer.
WRITERS = {
    "langfuse-sdk.jsonl": Writer("langfuse", _CHAT, ("langfuse==5.0.4", "openai==3.54.0", *_TELEMETRY)),
    "langsmith.jsonl": Writer("langsmith", _BOTH, ("langsmith==0.15.0", *_SDKS), "langsmith"),
    "litellm.jsonl": Writer("litellm", _CHAT, ("litellm==1.106.2", "mcp==2.3.0"), "litellm"),
    "curl-trace.txt": Writer("recorder", ("curl -s -o /dev/null --trace-ascii -", *_PORT), _CURL, "raw-http"),
    "curl-verbose.txt": Writer("recorder", ("curl -v", *_PORT), _CURL, "raw-http"),
    "mitmproxy.flows": Writer("recorder", ("mitmproxy", *_PORT), ("mitmproxy==11.0.2",), "mitmproxy"),
    "nock.json": Writer("recorder", ("nock", *_PORT), ("npm:nock==14.0.10",), "json"),
    "polly.har": Writer("recorder", ("@pollyjs/core", *_PORT), (*_POLLY,), "json"),
    "vcrpy-tags.yaml": Writer("recorder", ("vcrpy", *_PORT), _VCRPY, "cassette"),
    "wiremock.json": Writer("recorder", ("wiremock", *_PORT), ("npm:wiremock==3.13.2",), "json"),
    "openinference.jsonl": Writer("instrumentation", ("openinference.instrumentation", *_BOTH), _OPENINFERENCE),
    "openllmetry.jsonl": Writer("instrumentation", ("opentelemetry.instrumentation", *_BOTH), _OPENLLMETRY),
    "opentelemetry-console.json": Writer("opentelemetry", ("console", *_CHAT), _OPENTELEMETRY, "spans"),
    "opentelemetry-events.jsonl": Writer("opentelemetry", ("events", *_CHAT), _OPENTELEMETRY),
    "opentelemetry-new.jsonl": Writer("opentelemetry", ("attributes", *_CHAT), _OPENTELEMETRY),
    "opentelemetry-without-contents.jsonl": Writer("opentelemetry", ("no-contents", *_CHAT), _OPENTELEMETRY),
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
    python = _environment(writer)
    program = HERE / "writers" / f"{writer.program}_writer.py"
    arguments = [_argument(argument, servers) for argument in writer.arguments]
    target = SAMPLES / name
    ended = subprocess.run(
        [python, program, *arguments, target], capture_output=True, text=True, timeout=300, check=False
    )
    if ended.returncode:
        sys.exit(f"{name}: {ended.stderr}")
    _clean(target, python.parents[1])
    counts: dict[str, Any] = json.loads(ended.stdout[ended.stdout.rindex('{"exchanges"') :])
    return {"format": writer.format, "written_by": counts.pop("versions"), **counts}


def _argument(argument: str, servers: Servers) -> str:
    if argument in SURFACES:
        return servers.base(SURFACES[argument])
    if argument == "port":
        with socket.create_server(("127.0.0.1", 0)) as free:
            return str(free.getsockname()[1])
    return argument


def _environment(writer: Writer) -> Path:
    """Return the Python of an environment with the requirements of a writer."""
    folder = FOLDER / re.sub(r"==.*|[^\w.-]", "", writer.requirements[0])
    python = folder / "bin" / "python"
    done = folder / "requirements.txt"
    wanted = "\n".join(writer.requirements)
    if not done.exists() or done.read_text("utf-8") != wanted:
        subprocess.run([writer.python, "-m", "venv", "--clear", folder], check=True)
        by_npm = [one[4:].replace("==", "@") for one in writer.requirements if one.startswith("npm:")]
        by_pip = [one for one in writer.requirements if ":" not in one]
        for tool, names in (((python, "-m", "pip"), by_pip), (("npm", "--prefix", folder), by_npm)):
            if names:
                subprocess.run([*tool, "install", "-q", *names], check=True)
        done.write_text(wanted, "utf-8")
    return python


def _clean(target: Path, environment: Path) -> None:
    """Remove the paths of this machine from a sample. Flows have lengths, and no paths."""
    if target.suffix != ".flows":
        site_packages = re.escape(str(environment)).encode() + rb"/lib/python[0-9.]+/site-packages/"
        target.write_bytes(re.sub(site_packages, b"", target.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1:])
