"""Widely used libraries as subjects.

Each has a small program here that runs in a separate environment, because the libraries pin versions that exclude each
other (`toolparity.conformance.subjects.environments`). To add one, add a program and a file of pinned versions here,
and a line to `PEERS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Peer(NamedTuple):
    """A library.

    ``distribution``: its name on PyPI, which determines the version. ``about``: the parts that are tested.

    ``folder``: the folder of its program and its pinned versions.
    """

    name: str
    distribution: str
    about: str
    folder: Path = HERE

    @property
    def program(self) -> Path:
        return self.folder / f"{self.name.replace('-', '_')}_program.py"

    @property
    def pins(self) -> Path:
        """The file of pinned distributions, in pip's requirements format."""
        return self.folder / f"{self.name}.txt"


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("litellm", "litellm", "completion(), responses() and stream_chunk_builder()"),
        Peer("langchain", "langchain-core", "ChatOpenAI, ChatAnthropic, ChatXAI: invoke(), and the sum of stream()"),
        Peer("pydantic-ai", "pydantic-ai-slim", "model_request() and model_request_stream()"),
        Peer("openai-agents", "openai-agents", "OpenAIChatCompletionsModel and OpenAIResponsesModel"),
        Peer("any-llm", "any-llm-sdk", "completion() and responses(), plain"),
        Peer("instructor", "instructor", "create() with parallel tools, plain"),
    )
}
