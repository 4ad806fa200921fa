"""The proxy keeps nothing of the streams that have passed."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.audit.proxy.conftest import PATIENCE, proxying, wait_until
from tests.support.programs import interruptible
from toolparity.audit.proxy.observer import Observer
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec

pytestmark = pytest.mark.service("audit/proxy")

_PATH = SURFACES["openai.chat"].base_path
#: Streams before the first measurement: the queue of the judge and the events of the page are full then.
_BEFORE = 2_000
#: A leak of 2 KB for each stream exceeds this in each half of the thorough run.
_ALLOWED = 4 << 20
_BODY = {
    "model": "gpt-5-mini",
    "stream": True,
    "messages": [{"role": "user", "content": scripts()["parallel-three"].ask}],
}


async def _streams(url: str, count: int, at_a_time: int = 50) -> None:
    """Read whole streams, on connections that stay open. A client library would take longer than the proxy."""
    address, body = urlsplit(url), json_codec.encode(_BODY)
    head = (
        f"POST {address.path}/chat/completions HTTP/1.1\r\nhost: {address.netloc}\r\nauthorization: Bearer a-key\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )

    async def some() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for _ in range(count // at_a_time):
            writer.write(head.encode() + body)
            await asyncio.wait_for(reader.readuntil(b"data: [DONE]\n\n\r\n0\r\n\r\n"), PATIENCE)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(some() for _ in range(at_a_time)))


def _resident(process: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{process}/status").read_text().partition("VmRSS:")[2].split()[0]) << 10


def _objects() -> Counter[str]:
    """Return how many objects there are that could hold others, by type."""
    gc.collect()
    return Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())


def test_no_object_stays_behind_a_stream() -> None:
    """The test below finds what else could grow."""
    count, judged, found = 20, set[int](), list[Counter[str]]()
    with (
        running() as providers,
        Observer([lambda judgement: judged.add(judgement.number)]) as observer,
        proxying(providers.http_url, observer=observer) as proxy,
    ):
        for _ in range(3):
            judged.clear()
            asyncio.run(_streams(proxy.url + _PATH, count, at_a_time=4))
            wait_until(lambda: len(judged) == count and proxy.server.forwarder.open == 0)
            found.append(_objects())
        assert observer.budget.used == 0
    assert {name: number for name, number in (found[-1] - found[-2]).items() if number >= count} == {}


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show the memory of processes")
def test_the_memory_stays_the_same_over_thousands_of_streams() -> None:
    count = int(os.environ.get("TOOLPARITY_STREAMS") or 5_000)
    with running() as providers:
        arguments = ["proxy", "--upstream", providers.http_url, "--port", "0", "--page-port", "0"]
        # judgements that wait for a full pipe take memory
        with interruptible([sys.executable, "-m", "toolparity", *arguments], subprocess.DEVNULL) as process:
            assert process.stderr is not None
            url = process.stderr.readline().split("\t")[0] + _PATH
            sizes = []
            for part in (_BEFORE, count // 2, count // 2):
                asyncio.run(_streams(url, part))
                sizes.append(_resident(process.pid))
    # a queue with a limit may fill in one half, where other programs slow the judge down; a leak grows in both
    assert min(later - earlier for earlier, later in pairwise(sizes)) < _ALLOWED
