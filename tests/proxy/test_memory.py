"""The memory of the proxy does not grow with the number of streams that have passed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.programs import interruptible
from tests.proxy.conftest import PATIENCE
from tests.thoroughness import is_thorough
from toolparity.cassettes.emulated.servers import running
from toolparity.cassettes.scripts import scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec

_AT_A_TIME = 50
#: Streams before the first measurement: the queue of the judge and the events of the page are full then.
_BEFORE = 2_000
#: A leak of 2 KB for each stream exceeds this in each half of the thorough run.
_ALLOWED = 4 << 20
_BODY = {
    "model": "gpt-5-mini",
    "stream": True,
    "messages": [{"role": "user", "content": scripts()["parallel-three"].ask}],
}


async def _streams(url: str, count: int) -> None:
    """Read whole streams, on connections that stay open. A client library would take longer than the proxy."""
    address, body = urlsplit(url), json_codec.encode(_BODY)
    head = (
        f"POST {address.path}/chat/completions HTTP/1.1\r\nhost: {address.netloc}\r\nauthorization: Bearer a-key\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )

    async def some() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for _ in range(count // _AT_A_TIME):
            writer.write(head.encode() + body)
            await asyncio.wait_for(reader.readuntil(b"data: [DONE]\n\n\r\n0\r\n\r\n"), PATIENCE)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(some() for _ in range(_AT_A_TIME)))


def _resident(process: int) -> int:
    """Return the resident memory of a process in bytes."""
    line = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) << 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not show the memory of processes")
def test_the_memory_stays_the_same_over_thousands_of_streams() -> None:
    count = int(os.environ.get("TOOLPARITY_STREAMS") or (5_000 if is_thorough() else 1_000))
    with running() as providers:
        arguments = ["proxy", "--upstream", providers.http_url, "--port", "0", "--page-port", "0"]
        # judgements that wait for a full pipe take memory
        with interruptible([sys.executable, "-m", "toolparity", *arguments], subprocess.DEVNULL) as process:
            assert process.stderr is not None
            url = process.stderr.readline().split("\t")[0] + SURFACES["openai.chat"].base_path
            sizes = []
            for part in (_BEFORE, count // 2, count // 2):
                asyncio.run(_streams(url, part))
                sizes.append(_resident(process.pid))
    # a queue with a limit may fill in one half, where other programs slow the judge down; a leak grows in both
    assert min(later - earlier for earlier, later in pairwise(sizes)) < _ALLOWED
