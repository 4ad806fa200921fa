"""Compare the normalizer with libraries that users would pick: `python -m benchmarks.peers RECORDINGS [--json FILE]`.

Each library reads the same recorded responses of OpenAI, Anthropic, xAI and Google in its own environment
(`toolparity.conformance.subjects.environments`), with the program with which the suite tests it. Nothing is sent: its
HTTP client gets the response from memory, and the time is the processor time from there on. Of several attempts the
fastest counts. A response that a library refuses is not in its figures.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec
from tabulate import tabulate

from toolparity import Wire
from toolparity.conformance.subjects.peers import HERE as PROGRAMS

from .recorded import Exchange, exchanges

PARSED, OURS = "JSON alone", "toolparity"
#: Reader -> its module for `peer_timer`, and its environment in the cache; None for the environment of this program.
READERS: dict[str, tuple[str, str | None]] = {
    PARSED: ("own_readers:parsed", None),
    OURS: ("own_readers:ours", None),
    "official SDK": ("own_readers:sdk", None),
    "LiteLLM": ("litellm_program", "litellm"),
    "LangChain": ("langchain_core_program", "langchain-core"),
    "Pydantic AI": ("pydantic_ai_program", "pydantic-ai"),
    "any-llm": ("any_llm_program", "any-llm"),
    "OpenAI Agents": ("openai_agents_program", "openai-agents"),
    "llm-rosetta": ("rosetta_reader:read", "llm-rosetta"),
}
#: The environments that are not those of subjects, with the distributions in them.
_REQUIREMENTS = {"llm-rosetta": ("llm-rosetta==0.13.0",)}
_ENVIRONMENTS = Path("~/.cache/toolparity/subjects").expanduser()
_PROVIDERS = ("openai", "anthropic", "xai", "google")
_WIRES: tuple[Wire, ...] = ("openai.chat", "openai.responses", "anthropic.messages", "google.gemini")


class Figures(msgspec.Struct):
    """The processor time of one reader for one kind of response, in microseconds.

    ``ratio``: the median of the ratios to toolparity's times, for the responses that both read.
    """

    wire: str
    kind: str
    reader: str
    responses: int
    low: float
    median: float
    high: float
    ratio: float | None


def sample(folder: Path, count: int) -> list[Exchange]:
    """Return at most ``count`` bodies and streams of each wire and provider, spread over the recordings."""
    chosen: list[Exchange] = []
    for wire in _WIRES:
        found = [exchange for exchange in exchanges(folder, wire) if exchange.provider in _PROVIDERS]
        for provider in _PROVIDERS:
            for stream in (False, True):
                kind = [each for each in found if (each.provider, each.stream) == (provider, stream)]
                chosen += kind[:: max(1, len(kind) // count)][:count]
    return chosen


def asks(chosen: list[Exchange]) -> Iterator[dict[str, Any]]:
    """Yield what the programs get for each response."""
    for each in chosen:
        tools = each.request.get("tools") if isinstance(each.request, dict) else None
        yield {
            "wire": each.wire,
            "provider": each.provider,
            "stream": each.stream,
            "status": 200,
            "tools": tools if isinstance(tools, list) else [],
            "pieces": [base64.b64encode(piece).decode() for piece in each.pieces],
        }


def install() -> None:
    """Make the environments of `_REQUIREMENTS` that do not exist. Raises CalledProcessError if pip fails."""
    for name, distributions in _REQUIREMENTS.items():
        if not (python := _python(name)).exists():
            subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *distributions], check=True)


def _python(environment: str) -> Path:
    folder = _ENVIRONMENTS.with_name("benchmarks") if environment in _REQUIREMENTS else _ENVIRONMENTS
    return folder / environment / "bin" / "python"


def times(reader: str, lines: str) -> list[float | None]:
    """Return the microseconds for each response, from the environment of the reader; None for one that it refused.

    Raises RuntimeError if the program of the reader fails.
    """
    module, environment = READERS[reader]
    python = sys.executable if environment is None else str(_python(environment))
    if not Path(python).exists():
        print(f"{reader} is left out: it is not installed (toolparity subjects install {environment})", file=sys.stderr)
        return [None] * lines.count("\n")
    folders = [str(PROGRAMS), str(Path(__file__).parent)]
    command = [python, str(Path(__file__).with_name("peer_timer.py")), module, *folders]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    answers = [json.loads(line)["microseconds"] for line in ran.stdout.splitlines()]
    if ran.returncode or len(answers) != lines.count("\n"):
        raise RuntimeError(f"{reader}: {command[0]} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    return answers


def figures(chosen: list[Exchange], taken: dict[str, list[float | None]]) -> Iterator[Figures]:
    """Yield the figures of each reader, by wire and kind of response."""
    for wire in _WIRES:
        for stream in (False, True):
            places = [n for n, each in enumerate(chosen) if (each.wire, each.stream) == (wire, stream)]
            for reader in READERS:
                pairs = [(value, taken[OURS][n]) for n in places if (value := taken[reader][n]) is not None]
                if len(pairs) < 2:
                    continue
                values = [value for value, _ in pairs]
                ratios = [value / ours for value, ours in pairs if ours is not None]
                cuts = quantiles(values, n=10)
                kind = "streams" if stream else "bodies"
                ratio = median(ratios) if ratios else None
                yield Figures(wire, kind, reader, len(values), cuts[0], median(values), cuts[-1], ratio)


def main() -> int:
    """Run the comparison and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--count", type=int, default=8, help="responses of each wire, provider and kind")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    install()
    chosen = sample(given.recordings, given.count)
    lines = "".join(json.dumps(ask) + "\n" for ask in asks(chosen))
    taken = {reader: times(reader, lines) for reader in READERS}
    rows = list(figures(chosen, taken))
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    table = []
    for row in rows:
        times_of = [f"{value:,.0f}" for value in (row.low, row.median, row.high)]
        table.append([row.wire, row.kind, row.reader, row.responses, *times_of, row.ratio])
    headers = ["wire", "what", "reader", "responses", "10 %", "median µs", "90 %", "to toolparity"]
    print(tabulate(table, headers, floatfmt=",.1f"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
