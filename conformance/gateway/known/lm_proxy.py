"""LM-Proxy: an OpenAI-compatible proxy, on Chat Completions only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolparity.cassettes.stated import OTHER_MODELS

from ..client import KEY
from ..conversation import Route
from .form import KnownGateway

#: The port is in its configuration, so that a program that gets it as an argument starts the server.
_START = """\
import sys

from lm_proxy.app import run_server

home, port = sys.argv[1:]
with open(f"{home}/{port}.toml", "w") as file:
    file.write(CONFIGURATION.replace("PORT", port))
run_server(config=file.name, debug=False, env_file="")
"""


def _routes(http: str) -> Mapping[str, Sequence[Route]]:
    return {"openai.chat": [Route("openai.chat", "gpt-5-mini", other=OTHER_MODELS["openai"][1])]}


def _configuration(http: str) -> tuple[str, str]:
    lines = [
        'host = "127.0.0.1"',
        "port = PORT",
        "[connections.openai]",
        'api_type = "openai"',
        f'api_base = "{http}/v1"',
        f'api_key = "{KEY}"',
        "[routing]",
        '"*" = "openai.*"',
        "[groups.default]",
        f'api_keys = ["{KEY}"]',
    ]
    return "start.py", f'CONFIGURATION = """\n{chr(10).join(lines)}\n"""\n{_START}'


def _command(home: Path, file: Path, port: int) -> list[str]:
    return [str(home / "bin" / "python"), str(file), str(file.parent), str(port)]


GATEWAY = KnownGateway(
    name="lm-proxy",
    about="LM-Proxy (Python)",
    installer="pip",
    package="lm-proxy",
    version="3.3.2",
    routes=_routes,
    configuration=_configuration,
    command=_command,
)
