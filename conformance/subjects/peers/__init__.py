"""The libraries that people use, as subjects: each has a small program here that runs in an environment of its own,
since they pin versions that exclude each other (`toolparity.conformance.subjects.installing`).

Adding one is a program beside these, a file of pinned versions, and a line in the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Peer(NamedTuple):
    """``distribution``: whose version is the library's, as it is called on PyPI. ``about``: what of it is tested.

    ``folder``: where its program and its pinned versions are.
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
        """Every distribution with its version, in the format of pip."""
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
