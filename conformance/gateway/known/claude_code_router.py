"""claude-code-router: the client's model name chooses the provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolparity.cassettes.stated import OTHER_MODELS

from ..client import KEY
from ..conversation import Route
from .form import KnownGateway

#: Upstream surface -> the provider's name, its model, the end of its URL, and its transformers. Without those of
#: OpenAI, requests have no `stream_options`, and the `max_tokens` that gpt-5 refuses.
_PROVIDERS = {
    "openai.chat": ("openai", "gpt-5-mini", "/v1/chat/completions", ["maxcompletiontokens", "streamoptions"]),
    "anthropic.messages": ("anthropic", "claude-haiku-4-5", "/v1/messages", ["Anthropic"]),
}
#: The program reads its configuration and its port from the user's folder, so the file makes one for each process.
_START = """\
const fs = require("node:fs");
const path = require("node:path");
const [script, port] = process.argv.slice(2);
const home = path.join(__dirname, `home-${port}`);
const folder = path.join(home, ".claude-code-router");
fs.mkdirSync(folder, { recursive: true });
fs.writeFileSync(path.join(folder, "config.json"), JSON.stringify({ ...CONFIGURATION, PORT: Number(port) }));
process.env.HOME = home;
process.argv.splice(1, 3, script, "start");
require(script);
"""


def _routes(http: str) -> Mapping[str, Sequence[Route]]:
    routes = [
        Route(upstream, f"{name},{model}", other=f"{name},{OTHER_MODELS[name][1]}")
        for upstream, (name, model, _, _) in _PROVIDERS.items()
    ]
    return {"anthropic.messages": routes}


def _configuration(http: str) -> tuple[str, str]:
    providers = [
        {
            "name": name,
            "api_base_url": http + end,
            "api_key": KEY,
            "models": [model, OTHER_MODELS[name][1]],
            "transformer": {"use": transformers},
        }
        for name, model, end, transformers in _PROVIDERS.values()
    ]
    default = ",".join(_PROVIDERS["openai.chat"][:2])
    # The host is loopback unless a key for clients is set. Its log would be written into a file.
    settings = {"LOG": False, "API_TIMEOUT_MS": 120_000, "Providers": providers, "Router": {"default": default}}
    return "start.cjs", f"const CONFIGURATION = {json.dumps(settings, indent=2)};\n{_START}"


def _command(home: Path, file: Path, port: int) -> list[str]:
    script = home / "node_modules" / "@musistudio" / "claude-code-router" / "dist" / "cli.js"
    return ["node", str(file), str(script), str(port)]


GATEWAY = KnownGateway(
    name="claude-code-router",
    about="claude-code-router (Node)",
    installer="npm",
    package="@musistudio/claude-code-router",
    version="2.0.0",
    routes=_routes,
    configuration=_configuration,
    command=_command,
    environment={"NODE_ENV": "production"},
)
