"""The page of an audit: the figures of the command, as a file that is read without scripts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.reports.test_html import Read
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from toolparity.audit.bulk import parallel
from toolparity.audit.pages import audit as audit_page
from toolparity.audit.report import as_json
from toolparity.audit.summary import Audit
from toolparity.cassettes.sources import Exchange
from toolparity.cli import main

MARKUP = "<script>alert(1)</script>\u202e"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["audit", *map(str, args)])


def body(*names: str, model: str = "model-1", **more: Any) -> str:
    return json.dumps({**json.loads(chat_body(*names, **more)), "model": model})


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    return write_traffic(tmp_path / "traffic.jsonl")


def write_traffic(path: Path) -> Path:
    """Two models, one of which calls in parallel; a call that cannot run, and an id that is markup."""
    rows = [
        row(body("f", "g", "h")),
        row(body("f", model="model-2")),
        row(chat_stream("f", end=False), stream=True, id=MARKUP),
        row(body("f", arguments="[1]", model=MARKUP)),
        row("{}", wire="google", provider="google"),
    ]
    return write_rows(path, *rows)


def audited(*paths: Path, policy: str = "first") -> dict[str, Any]:
    audit = parallel.audit_paths([str(path) for path in paths], policy=policy, jobs=1)
    return as_json(audit, policy, None)


def test_the_command_writes_the_page_beside_its_table(traffic: Path, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    made = run(traffic, "--policy", "first", "--html", page, "--fail-on", "dropped-call")
    assert (made.exit_code, "What each policy would do" in made.stdout) == (1, True)
    assert "The policy first would drop 2 of 6 client calls" in Read(page.read_text("utf-8")).text
    assert run(traffic, "--policy", "first", "--html", "-").stdout_bytes == page.read_bytes()
    fault = run(traffic, "--html", tmp_path / "nowhere" / "audit.html")
    assert (fault.exit_code, "nowhere" in fault.stderr, fault.stdout) == (2, True, "")
    assert run(traffic, "--json", "--html", "-").exit_code == 2


def test_calls_are_counted_by_model_and_each_code_has_its_first_places_as_examples(
    traffic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = audited(traffic)["wires"]["openai.chat"]
    dropped = {name: (one["calls"], one["policies"]["first"]["dropped"]) for name, one in figures["models"].items()}
    assert dropped == {MARKUP: (1, 0), "model-1": (3, 2), "model-2": (1, 0), "not stated": (1, 0)}
    assert sum(calls for calls, _ in dropped.values()) == figures["calls"]
    path = write_rows(tmp_path / "r.jsonl", *[row(body("f", "g", "h"), id=f"id-{n}") for n in range(6)])
    whole = audited(path)
    assert [one["id"] for one in whole["examples"]["dropped-call"]] == ["id-0", "id-1", "id-2"]
    monkeypatch.setattr(parallel, "PART_BYTES", 300)
    assert audited(path) == whole, "however the input is cut"


def test_models_beyond_those_that_are_kept_are_counted_together() -> None:
    audit = Audit()
    for number in range(250):
        data = body("f", model=f"model-{number}").encode()
        exchange = Exchange(source=f"r#{number}", line=number, wire="openai.chat", stream=False, body=data)
        audit.count(exchange, policy="all", limit=None)
    models = audit.wires["openai.chat"].models
    assert len(models) == 101
    assert models["others"].calls == 150


def test_the_page_is_the_same_bytes_holds_its_figures_and_shows_markup_as_text(traffic: Path) -> None:
    facts = audited(traffic)
    page = audit_page.render(facts)
    assert page == audit_page.render(facts)
    read = Read(page.decode())
    links = [attrs.get("href") or "" for tag, attrs in read.tags if tag == "a" and "download" in attrs]
    assert json.loads(base64.b64decode(links[0].partition(",")[2])) == facts
    assert "script" not in {tag for tag, _ in read.tags}
    assert r"<script>alert(1)</script> \u202e" in read.text
    assert "\u202e" not in page.decode()
    policy = next(attrs["content"] for _, attrs in read.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "script-src 'none'" in (policy or "")


def lost_call(path: Path) -> Path:
    """A response with two calls, and a request that sends only the first one and its result back."""
    asked = {"role": "user", "content": "Run both."}
    response = json.loads(body("f", "g").replace("call_", "call_a4Kd9Xw2_"))
    kept = {**response["choices"][0]["message"], "tool_calls": response["choices"][0]["message"]["tool_calls"][:1]}
    history = [asked, kept, {"role": "tool", "tool_call_id": "call_a4Kd9Xw2_0", "content": MARKUP}]
    return write_rows(
        path,
        row(json.dumps(response), request={"model": "m", "messages": [asked]}),
        row(body(), request={"model": "m", "messages": history}),
    )


def test_a_lost_call_is_marked_in_a_small_conversation(tmp_path: Path) -> None:
    text = Read(audit_page.render(audited(lost_call(tmp_path / "r.jsonl"))).decode()).text
    assert "The application dropped 1 of 2 client calls" in text
    words = " ".join(text.split())
    assert "g (call_a4Kd9Xw2_1) was dropped: the history omits it" in words
    assert "Model g {} call_a4Kd9Xw2_1 the lost call" in words
    assert "Next request f {} call_a4Kd9Xw2_0" in words
    assert "\u202e" not in text


def test_an_audit_without_conversations_or_without_traffic_says_so(traffic: Path, tmp_path: Path) -> None:
    text = Read(audit_page.render(audited(traffic)).decode()).text
    assert "No request of the input continues a response of it." in text
    path = write_rows(tmp_path / "r.jsonl", row("{}", wire="google", provider="google"))
    text = Read(audit_page.render(audited(path)).decode()).text
    assert ("Nothing was audited" in text, "1 exchange of unknown wires" in text) == (True, True)
