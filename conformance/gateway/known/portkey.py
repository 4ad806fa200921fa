"""Portkey's gateway: each request names its provider in headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolparity.cassettes.stated import OTHER_MODELS

from ..client import KEY
from ..conversation import Route
from .form import KnownGateway

#: Its server listens on all addresses. This module, which Node loads first, keeps it on loopback.
_LOOPBACK = """\
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
  const port = typeof first === "object" && first !== null ? first.port : first;
  return listen.call(this, { port, host: "127.0.0.1" }, ...rest.filter((each) => typeof each === "function"));
};
"""


def _routes(http: str) -> Mapping[str, Sequence[Route]]:
    openai = {"x-portkey-provider": "openai", "x-portkey-custom-host": f"{http}/v1", "authorization": f"Bearer {KEY}"}
    anthropic = {**openai, "x-portkey-provider": "anthropic"}
    chat = Route("openai.chat", "gpt-5-mini", openai, OTHER_MODELS["openai"][1])
    claude = Route("anthropic.messages", "claude-haiku-4-5", anthropic, OTHER_MODELS["anthropic"][1])
    return {
        "openai.chat": [chat, claude],
        "openai.responses": [Route("openai.responses", "gpt-5-mini", openai, OTHER_MODELS["openai"][1])],
        "anthropic.messages": [claude],
    }


def _configuration(http: str) -> tuple[str, str]:
    return "loopback.cjs", _LOOPBACK


def _command(home: Path, file: Path, port: int) -> list[str]:
    server = home / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    return ["node", "--require", str(file), str(server), f"--port={port}", "--headless"]


GATEWAY = KnownGateway(
    name="portkey",
    about="Portkey's AI gateway (Node)",
    installer="npm",
    package="@portkey-ai/gateway",
    version="1.15.2",
    routes=_routes,
    configuration=_configuration,
    command=_command,
    environment={"NODE_ENV": "production"},
)
