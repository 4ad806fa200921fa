"""Texts of models, tools and clients cannot forge a line, control a terminal or reverse the direction of writing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.judgement import Judgement, shown
from toolparity.audit.proxy.lines import JsonLines, TextLines
from toolparity.audit.proxy.metrics import Metrics

_HOSTILE = "a\n09:00:00 #9 POST /forged\r\x1b[2J\x9b31m\u202e\u2028\x00\x7f\ud800"


def _texts(judgement: Judgement) -> dict[str, str]:
    """Return what each sink writes."""
    lines, objects, feed, metrics = list[str](), list[str](), Feed(), Metrics()

    async def event() -> str:
        events = feed.events(None)
        await anext(events)
        return (await anext(events)).decode()

    for sink in (TextLines(lines.append), JsonLines(objects.append), feed, metrics):
        sink(judgement)
    page = asyncio.run(event())
    return {"lines": "\n".join(lines), "json": "\n".join(objects), "page": page, "metrics": metrics.text()}


def _filled(text: str) -> Judgement:
    """Return a judgement with this text in every member that the traffic decides."""
    call = {"id": text, "name": text, "arguments": text}
    finding = {"code": "malformed-arguments", "severity": "error", "message": text, "call_id": text}
    members: dict[str, Any] = dict.fromkeys(
        ("traceparent", "provider", "wire", "model", "response_model", "response_id", "stop", "error"), text
    )
    return msgspec.convert(
        {"number": 1, "started": 0.0, "seconds": 1.0, "method": text, "path": text, "ending": "client-left"}
        | members
        | {"calls": [call], "findings": [finding], "revoked": [{"number": 1, "code": "c", "call_id": text}]}
        | {"lines": [{"role": "tool", "text": text, "id": text}]},
        Judgement,
    )


@pytest.mark.parametrize("sink", ["lines", "json", "page", "metrics"])
def test_no_sink_writes_a_hostile_character(sink: str) -> None:
    hostile, harmless = (_texts(shown(_filled(text)))[sink] for text in (_HOSTILE, "a"))
    assert hostile.replace("\n", "").isprintable()
    assert hostile.count("\n") == harmless.count("\n")


def test_only_excerpts_keep_line_breaks_and_other_texts_show_them() -> None:
    judgement = shown(_filled("gpt\nfaked"))
    assert (judgement.model, judgement.lines[0].text) == ("gpt\\nfaked", "gpt\nfaked")
    assert json.loads(_texts(judgement)["json"])["calls"][0]["name"] == "gpt\\nfaked"
    assert shown(_filled("été 日本")) == _filled("été 日本")
