"""The speed of `toolparity check --gateway`, through a relay that passes all bytes on.

    python -m benchmarks.gateway [--scenario PATTERN]...

Prints the cases per second for one client wire. The suite, the relay and the upstream share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import time

from toolparity.cassettes.surfaces import SURFACES
from toolparity.conformance.gateway import run, upstream
from toolparity.conformance.gateway.client import address
from toolparity.conformance.gateway.conversation import Route
from toolparity.conformance.runner.judge import CaseFilter

_WIRE = "openai.chat"
_RELAY = "--relay-to"


async def _relay(target: int) -> None:
    """Accept connections on a free port, print the port, and relay each connection to the target's port."""

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, out = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(copy(reader, out), copy(back, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> int:
    """Run the cases once and print the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--scenario", action="append", default=[], help="only these scenarios (* is a wildcard)")
    parser.add_argument(_RELAY, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.relay_to:
        asyncio.run(_relay(given.relay_to))
        return 0
    with upstream.running() as provider:
        assert provider.servers is not None
        port = provider.servers.http_url.rpartition(":")[2]
        command = [sys.executable, "-m", "benchmarks.gateway", _RELAY, port]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
            assert relay.stdout is not None
            try:
                url = f"http://127.0.0.1:{int(relay.stdout.readline())}"
                gateway = run.Gateway("relay", "", (address(url),), {_WIRE: [Route(_WIRE, SURFACES[_WIRE].model)]})
                started = time.perf_counter()
                ran = run.run(gateway, provider, CaseFilter(tuple(given.scenario)), expected=lambda name: [])
                seconds = time.perf_counter() - started
            finally:
                relay.terminate()
    failed = sum(verdict.outcome == "fail" for result in ran.results for verdict in result.verdicts)
    cases = len(ran.results)
    print(f"{cases:,} cases in {seconds:.1f} s: {cases / seconds:.0f} cases a second; {failed} failures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
