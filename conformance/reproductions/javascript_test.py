"""Writes a regression test for vitest, with the test server of the AI SDK's own tests."""

from __future__ import annotations

from toolparity.normalizer.wires.registry import spec

from .accusations import Accusation
from .script import imports_of
from .topics import topic_of

#: The address that the test server replaces.
_BASE = "https://provider.example/v1"


def javascript_test(accusation: Accusation) -> str:
    """Return the test as a module; the response is a fixture."""
    code, ask = accusation.code, accusation.ask
    read = f'readFileSync("src/__fixtures__/{accusation.response.file}", "utf8")'
    plain = f'{{ type: "json-value", body: JSON.parse({read}) }}'
    response = f'{{ type: "stream-chunks", chunks: [{read}] }}' if ask.stream else plain
    asking = [f'const baseURL = "{_BASE}";', *code.lines]
    if accusation.is_of_agent:
        asking = ["const ran = [];", *asking]
    path = spec(ask.wire).path.removeprefix("/v1")
    lines = [
        *imports_of(code.imports, node=True),
        'import { createTestServer } from "@ai-sdk/test-server/with-vitest";',
        'import { readFileSync } from "node:fs";',
        'import { expect, it } from "vitest";',
        "",
        f'const URL = "{_BASE}{path}";',
        "const server = createTestServer({ [URL]: {} });",
        "",
        f'it("{accusation.result.scenario}", async () => {{',
        f"  server.urls[URL].response = {response};",
        *(f"  {line}" for line in asking),
        f"  {topic_of(accusation).javascript(accusation)};",
        "});",
    ]
    return "\n".join(lines) + "\n"
