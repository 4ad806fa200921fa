"""Widely used libraries as subjects.

Each has a small program here that runs in a separate environment, because the libraries pin versions that exclude each
other (`toolparity.conformance.subjects.environments`). To add one, add a program and a line to `PEERS`, and run
``python -m toolparity.conformance.subjects.pin NAME``, which writes the file of pinned versions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NamedTuple

HERE = Path(__file__).resolve().parent


class Peer(NamedTuple):
    """A library.

    ``distribution``: its name on PyPI or npm, which determines the version. ``about``: the parts that are tested.
    ``runtime``: a key of `runtimes.RUNTIMES`. ``extras``: its extras in pip's form, such as "[openai]". ``beside``: the
    distributions that the program needs beside it. ``shares``: the peer whose environment the program uses, if it is
    not a separate one. ``agent``: it runs tools, and is judged by its runs.

    ``folder``: the folder of its program and its pinned versions.
    """

    name: str
    distribution: str
    about: str
    folder: Path = HERE
    runtime: Literal["python", "node"] = "python"
    extras: str = ""
    beside: tuple[str, ...] = ()
    shares: str = ""
    agent: bool = False

    @property
    def program(self) -> Path:
        stem = self.name.replace("-", "_")
        return self.folder / (f"{stem}_program.mjs" if self.runtime == "node" else f"{stem}_program.py")

    @property
    def pins(self) -> Path:
        """The file of pinned distributions: pip's requirements format, or the lock file of npm."""
        name = self.shares or self.name
        return self.folder / (f"{name}/package-lock.json" if self.runtime == "node" else f"{name}.txt")

    @property
    def pinned(self) -> str:
        """The pinned version of the library."""
        text = self.pins.read_text("utf-8")
        if self.runtime == "node":
            return str(json.loads(text)["packages"][f"node_modules/{self.distribution}"]["version"])
        head = f"{self.distribution}=="
        return next(line for line in text.splitlines() if line.startswith(head)).removeprefix(head).split(" ")[0]


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("litellm", "litellm", "completion(), responses() and stream_chunk_builder()", beside=("mcp",)),
        Peer(
            "langchain-core",
            "langchain-core",
            "ChatOpenAI, ChatAnthropic, ChatXAI: generate(), and the sum of stream()",
            beside=("langchain-anthropic", "langchain-openai", "langchain-xai"),
        ),
        Peer(
            "pydantic-ai",
            "pydantic-ai-slim",
            "model_request() and model_request_stream()",
            extras="[anthropic,openai,xai]",
        ),
        Peer("openai-agents", "openai-agents", "OpenAIChatCompletionsModel and OpenAIResponsesModel"),
        Peer("any-llm", "any-llm-sdk", "completion() and responses()", extras="[anthropic,openai,xai]"),
        Peer("instructor", "instructor", "create() with parallel tools, plain", beside=("anthropic", "openai")),
        Peer("mistralai", "mistralai", "chat.complete() and chat.stream()"),
        Peer("smolagents", "smolagents", "OpenAIModel: generate() and generate_stream()", extras="[openai]"),
        Peer(
            "haystack",
            "haystack-ai",
            "OpenAIChatGenerator, OpenAIResponsesChatGenerator, AnthropicChatGenerator: run()",
            beside=("anthropic-haystack",),
        ),
        Peer("vercel-ai", "ai", "generateText() and streamText(), without execute", runtime="node"),
        Peer(
            "openai-node",
            "openai",
            "chat.completions and responses: create() and stream(), in JavaScript",
            runtime="node",
        ),
        Peer(
            "anthropic-node",
            "@anthropic-ai/sdk",
            "messages.create() and messages.stream(), in JavaScript",
            runtime="node",
        ),
        Peer(
            "google-genai-node",
            "@google/genai",
            "generateContent() and generateContentStream(), in JavaScript",
            runtime="node",
        ),
        Peer(
            "langchain-node",
            "@langchain/core",
            "ChatOpenAI, ChatAnthropic: generate(), and the sum of stream(), in JavaScript",
            runtime="node",
        ),
        Peer(
            "openai-agents-runner",
            "openai-agents",
            "Runner.run() and run_streamed()",
            shares="openai-agents",
            agent=True,
        ),
        Peer("pydantic-ai-agent", "pydantic-ai-slim", "Agent.run()", shares="pydantic-ai", agent=True),
        Peer(
            "vercel-ai-agent", "ai", "generateText() and streamText()", runtime="node", shares="vercel-ai", agent=True
        ),
        Peer(
            "langgraph-agent",
            "langgraph",
            "create_agent(), whose ToolNode runs the tools",
            beside=("langchain", "langchain-anthropic", "langchain-openai", "langchain-xai"),
            agent=True,
        ),
        Peer("strands-agent", "strands-agents", "Agent.invoke_async()", extras="[anthropic,openai]", agent=True),
        Peer("google-adk-agent", "google-adk", "Runner.run_async()", agent=True),
    )
}
