"""Writes a regression test for pytest. It has the code of the script, and asserts what the model sent."""

from __future__ import annotations

import re

from .accusations import Accusation
from .code import URL
from .script import imports_of
from .topics import topic_of

#: Projects whose tests give the client a transport instead of a server.
_WITH_TRANSPORT = ("openai-sdk", "anthropic-sdk")


def python_test(accusation: Accusation) -> str:
    """Return the test as a module; the response is a file beside it."""
    script, code, file = accusation.script, accusation.code, accusation.response.file
    imports, served, asking = [*script.server.imports, *code.imports], script.server.lines, list(code.lines)
    if accusation.result.subject in _WITH_TRANSPORT:
        imports, served = ["import httpx2", *code.imports], _transport(accusation)
        asking = [re.sub(rf'base_url=f"{re.escape(URL)}[^"]*"', "http_client=http", line) for line in asking]
    asserted = topic_of(accusation).python(accusation, asking)
    body = [line.replace(f'open("{file}"', "open(RESPONSE") for line in served] + asserted
    modules = [name for name in ("json", "pytest", "re") if any(f"{name}." in line for line in body)]
    imports = [line for line in imports if line != "import json"] + [f"import {name}" for name in modules]
    lines = [
        *imports_of([*imports, "from pathlib import Path"], node=False),
        "",
        f'RESPONSE = Path(__file__).with_name("{file}")',
        "",
        "",
        f"def test_{re.sub(r'[^a-z0-9]+', '_', accusation.result.scenario)}():",
        f'    """Fails now: {_reason(accusation)}."""',
        *(f"    {line}".rstrip() for line in body),
    ]
    return "\n".join(lines) + "\n"


def _reason(accusation: Accusation) -> str:
    """Return the reason in one line, without calls and without the words of an error."""
    reason = re.split(r":|\(\{", accusation.reason)[0]
    return reason.replace('"', "'").replace("\\", "")


def _transport(accusation: Accusation) -> list[str]:
    ask = accusation.ask
    return [
        "def provider(request):",
        f'    headers = {{"content-type": "{ask.content_type}"}}',
        f"    return httpx2.Response({ask.status}, headers=headers, content=RESPONSE.read_bytes())",
        "",
        "http = httpx2.Client(transport=httpx2.MockTransport(provider))",
    ]
