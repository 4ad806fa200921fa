"""The speed of `toolparity check --gateway`, and the processor time that the suite and the gateway need.

    python -m benchmarks.gateway [NAME] [--jobs N] [--scenario PATTERN]...

NAME is an installed known gateway. Without it, a relay passes all bytes of one client wire on, which shows the suite's
own maximum. The suite, its upstream and the gateway share the machine. So the processor time of the suite is the
figure to compare between machines: its reciprocal is the most cases a second that one core judges.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from toolparity.cassettes.surfaces import SURFACES
from toolparity.cassettes.workers import cores
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.gateway.known import KNOWN, known_gateway, process
from toolparity.conformance.runner.judge import CaseFilter

from .relay import relay

_WIRE = "openai.chat"
_RELAY = "--relay-to"


@contextlib.contextmanager
def _relaying(http: str) -> Iterator[run.Gateway]:
    """Run the relay while the block runs."""
    command = [sys.executable, "-m", "benchmarks.gateway", _RELAY, http.rpartition(":")[2]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
        assert relay.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(relay.stdout.readline())}"
            yield run.Gateway("relay", "", (address(url),), {_WIRE: [Route(_WIRE, SURFACES[_WIRE].model)]})
        finally:
            relay.terminate()


@contextlib.contextmanager
def _known(name: str, http: str, count: int) -> Iterator[run.Gateway]:
    """Run processes of a known gateway while the block runs."""
    known = known_gateway(name)
    with process.running(known, http, count) as urls:
        yield run.Gateway(known.name, known.version, tuple(map(address, urls)), known.routes(http))


def main() -> int:
    """Run the cases once and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("name", nargs="?", choices=list(KNOWN), help="an installed gateway [default: the relay]")
    parser.add_argument("--jobs", type=int, default=run.JOBS, help="conversations at a time [default: %(default)s]")
    parser.add_argument("--scenario", action="append", default=[], help="only these scenarios (* is a wildcard)")
    parser.add_argument(_RELAY, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.relay_to:
        asyncio.run(relay(given.relay_to))
        return 0
    with upstream.running() as provider:
        assert provider.servers is not None
        http = provider.servers.http_url
        with _known(given.name, http, cores()) if given.name else _relaying(http) as gateway:
            started, own = time.perf_counter(), _processor_seconds(RUSAGE_SELF)
            chosen = CaseFilter(tuple(given.scenario))
            ran = run.run(gateway, provider, chosen, expected=lambda name: [], jobs=given.jobs)
            seconds, own = time.perf_counter() - started, _processor_seconds(RUSAGE_SELF) - own
    cases, others = len(ran.results), _processor_seconds(RUSAGE_CHILDREN)
    print(f"{cases:,} cases in {seconds:.1f} s: {cases / seconds:.0f} cases a second; {ran.count('fail')} failures")
    print(f"processor time for each case: suite {1000 * own / cases:.1f} ms", end="")
    print(f" (at most {cases / own:.0f} cases a second), gateway {1000 * others / cases:.1f} ms with its start")
    return 0


def _processor_seconds(whose: int) -> float:
    used = getrusage(whose)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
