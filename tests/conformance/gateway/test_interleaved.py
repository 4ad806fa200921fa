"""Two answers interleaved on one HTTP/2 connection: the upstream sends them so, and each is read whole."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import ExitStack

from grpc import aio
from xai_sdk.proto import chat_pb2, chat_pb2_grpc

from toolparity.conformance.cases.traffic import responses
from toolparity.conformance.gateway import correlation, upstream
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.model import Response

SCENARIOS = ("hundred-and-thirty-at-once", "thirty-at-once")


async def _streams(target: str, tokens: dict[str, str]) -> tuple[dict[str, Response], list[str]]:
    """Read the streams of all tokens at the same time, on one channel. Also return the order of arrival."""
    arrived: list[str] = []
    async with aio.insecure_channel(target) as channel:
        stub = chat_pb2_grpc.ChatStub(channel)

        async def read(scenario: str, token: str) -> tuple[str, Response]:
            decoder = StreamDecoder("xai.grpc")
            call = stub.GetCompletionChunk(
                chat_pb2.GetCompletionsRequest(model="grok-4"), metadata=((correlation.HEADER, token),)
            )
            async for chunk in call:
                arrived.append(scenario)
                decoder.feed(chunk.SerializeToString())
            return scenario, decoder.finish()

        return dict(await asyncio.gather(*(read(*pair) for pair in tokens.items()))), arrived


def test_answers_that_are_interleaved_on_one_connection_are_each_read_whole() -> None:
    recorded = {scenario: responses(scenario, "xai.grpc", "stream")[0].pieces for scenario in SCENARIOS}
    tokens = {scenario: correlation.new_token() for scenario in SCENARIOS}
    with upstream.running() as provider, ExitStack() as tickets:
        for scenario, token in tokens.items():
            tickets.enter_context(provider.ticket(token, upstream.Served("xai.grpc", True, recorded[scenario])))
        assert provider.servers is not None
        read, arrived = asyncio.run(_streams(provider.servers.grpc_address, tokens))
    changes = sum(one != other for one, other in itertools.pairwise(arrived))
    assert changes > len(SCENARIOS), "the answers arrived one after the other"
    for scenario, pieces in recorded.items():
        alone = StreamDecoder("xai.grpc")
        for piece in pieces:
            alone.feed(piece)
        assert read[scenario] == alone.finish(), scenario
