"""Secrets in errors of providers, tools and MCP servers reach no event, client, log, log line or span."""

from __future__ import annotations

import logging
from random import Random
from string import ascii_letters
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from tests.turns.telemetry.convention import Measured
from tests.turns.test_faults import FAILURES, Failing
from toolparity.normalizer.conversation import JsonPart, OpaquePart, TextPart, ToolResult
from toolparity.turns import Agent, NarratingProvider, Narrator, ToolFailed
from toolparity.turns.errors import McpFailed
from toolparity.turns.log import Log
from toolparity.turns.manager import TurnManager, turns_app

PLANTED = """GET https://me:{0}@example.com/v1?key={0} failed
Authorization: Bearer {0}
x-api-key: {0}
Incorrect API key provided: sk-{0}: {{"api_key": "{0}", "error": "HOME_TOKEN={0}"}}
sk-{0}\tsk-{0}
-----BEGIN PRIVATE KEY-----\n{0}\n-----END PRIVATE KEY-----"""


def failing_tool(kind: Any, text: str) -> Any:
    def look() -> Any:
        if issubclass(kind, Exception):
            raise kind(text)
        parts = [
            TextPart(text),
            JsonPart({text: text}),
            OpaquePart("alien", {"api_key": text}),
            JsonPart(text, {"x": text}),
        ]
        return kind("", parts, is_error=True, extra={"y": [text]})

    return look


@pytest.mark.parametrize("how", [*FAILURES, "narrator"])
async def test_planted_secrets_are_in_no_sink(how: str, log: Log, url: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolparity")
    for seed, kind in enumerate([ValueError, ToolFailed, McpFailed, ToolResult]):
        secret = "".join(Random(seed).choices(ascii_letters, k=32)) + "7x"
        text, measured = PLANTED.format(secret), Measured(content=True)
        provider: Any = Failing(how, calls=True, text=text)
        if how == "narrator":
            provider = NarratingProvider(provider, Narrator(Failing("raised", text=text)))
        agent = Agent(provider, [failing_tool(kind, text)], telemetry=measured.telemetry, backoff=None)
        async with TurnManager(log, agent) as manager:
            app = httpx.ASGITransport(turns_app(manager))
            async with httpx.AsyncClient(transport=app, base_url="http://127.0.0.1") as client:
                turn = (await client.post("/turns", json={"message": "Go."})).json()["turn"]
                sinks = [(await client.get(f"/turns/{turn}{path}")).text for path in ("/events", "")]
        outcome: Any = await agent.run("Go.")
        assert how == "narrator" or secret in outcome.error.message
        engine, tables = sa.create_engine(url), sa.MetaData()
        tables.reflect(engine)
        with engine.connect() as connection:
            sinks += [str(connection.execute(sa.select(table)).all()) for table in tables.sorted_tables]
        engine.dispose()
        sinks += [outcome.text, caplog.text, *(span.to_json() for span in measured.spans)]
        assert [sink for sink in sinks if secret in sink] == []
        assert {each.name for each in caplog.records if each.name.startswith("toolparity")} <= {
            "toolparity"
        }  # scrubbed
        assert all(kept in "".join(sinks) for kept in ("turn_failed", "REDACTED"))
