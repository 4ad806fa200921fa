"""The audit of conversations over files: the command, the order of the input, and bounded memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.support.traffic import chat_body, row, write_rows
from toolparity import normalize
from toolparity.audit.bulk import parallel
from toolparity.audit.conversations import exchange_index
from toolparity.cli import main
from toolparity.conversations import ConversationAudit, ExchangeRecord, record
from toolparity.normalizer import json_codec, requests


def call(id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def conversation(name: str, *, kept: int = 2) -> list[dict[str, Any]]:
    """Two exchanges: two calls, of which the application keeps some, and an answer."""
    ids = [f"call_{name}4Kd9Xw2_1", f"call_{name}4Kd9Xw2_2"]
    asked = {"role": "user", "content": f"Run {name}."}
    calls = [call(id) for id in ids]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": name, "object": "chat.completion", "choices": [choice]}
    results = [{"role": "tool", "tool_call_id": id, "content": "done"} for id in ids[:kept]]
    history = [asked, {**message, "tool_calls": calls[:kept]}, *results]
    return [
        row(json.dumps(body), id=f"{name}-1", request={"model": "m", "messages": [asked]}),
        row(chat_body(), id=f"{name}-2", request={"model": "m", "messages": history}),
    ]


def run(*args: str | Path) -> Any:
    return CliRunner().invoke(main, ["audit", *map(str, args)])


def findings(path: Path, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(path, "--json", *args).stdout)["conversations"]["findings"]
    return found


def test_a_dropped_call_is_reported_with_both_places(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "log.jsonl", *conversation("a"), *conversation("b", kept=1))
    (finding,) = findings(path)
    expected = {"code": "dropped-in-fact", "response_place": f"{path}:3", "request_place": f"{path}:4"}
    expected |= {"call_id": "call_b4Kd9Xw2_2", "request_shows": "calls: call_b4Kd9Xw2_1; results: call_b4Kd9Xw2_1"}
    assert {name: finding[name] for name in expected} == expected
    assert "call_b4Kd9Xw2_2 f {}" in finding["response_shows"]
    assert [(line["role"], line["id"], line["mark"]) for line in finding["lines"]] == [
        ("user", None, ""),
        ("model", "call_b4Kd9Xw2_1", ""),
        ("model", "call_b4Kd9Xw2_2", "subject"),
        ("application", "call_b4Kd9Xw2_1", ""),
        ("tool", "call_b4Kd9Xw2_1", ""),
    ]


def test_a_dropped_call_can_fail_the_audit_and_is_printed_above_the_policies(tmp_path: Path) -> None:
    lost = run(write_rows(tmp_path / "lost.jsonl", *conversation("a", kept=1)), "--fail-on", "dropped-in-fact")
    kept = run(write_rows(tmp_path / "kept.jsonl", *conversation("a")), "--fail-on", "dropped-in-fact")
    assert (lost.exit_code, kept.exit_code) == (1, 0)
    assert "--fail-on dropped-in-fact: found 1" in lost.stderr
    text = lost.stdout
    assert text.index("What the application did") < text.index("What each policy would do")
    assert ("calls with one result" in text, "f (call_a4Kd9Xw2_2) was dropped: the history omits it" in text) == (
        True,
        True,
    )
    assert "What the application did" not in run(write_rows(tmp_path / "log.jsonl", row(chat_body("f")))).stdout


def test_conversations_that_span_parts_and_files_are_found_by_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{number:02}" for number in range(20)]
    rows = [conversation(name, kept=1 + number % 2) for number, name in enumerate(names)]
    write_rows(tmp_path / "a.jsonl", *(first for first, _ in rows))
    write_rows(tmp_path / "b.jsonl", *(second for _, second in rows))
    monkeypatch.setattr(parallel, "PART_BYTES", 300)
    one = run(tmp_path, "--json", "--jobs", "1")
    two = run(tmp_path, "--json", "--jobs", "2")
    assert one.stdout == two.stdout
    figures = json.loads(one.stdout)["conversations"]["wires"]["openai.chat"]
    assert (figures["linked"], figures["answered"], figures["findings"]) == (20, 30, {"dropped-in-fact": 10})


def test_an_exchange_without_a_request_is_not_judged(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "log.jsonl", row(chat_body("f")))
    data = json.loads(run(path, "--json").stdout)["conversations"]["wires"]["openai.chat"]
    assert (data["calls"], data["unjudged"]) == (1, {"request-missing": 1})


def recorded(number: int, exchange: dict[str, Any], **members: Any) -> ExchangeRecord:
    request = requests.read_request(exchange["request"], "openai.chat")
    response = normalize(json.dumps({**json.loads(exchange["body"]), **members}), "openai.chat")
    return record(str(number), "openai.chat", request, response)


def test_old_exchanges_are_forgotten_and_their_calls_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_index, "MESSAGES_KEPT", 10)
    audit = ConversationAudit()
    for number in range(50):
        made = recorded(number, conversation(f"c{number}")[0])
        assert msgspec.json.decode(json_codec.encode(made), type=type(made)) == made
        audit.add(made)
        assert len(audit._accounts) <= 10
    figures = audit.finish().wires["openai.chat"]
    assert (figures.calls, figures.unjudged) == (100, {"not-continued": 100})


def test_a_rewritten_history_states_the_cached_tokens_that_were_not_reused() -> None:
    rows = conversation("a1B2c3D4")
    rows[1]["request"]["messages"][0] = {"role": "user", "content": "Run a1B2c3D4. It is 12:01."}
    audit = ConversationAudit()
    for number, (one, cached) in enumerate(zip(rows, (2048, 512), strict=True)):
        usage = {"prompt_tokens_details": {"cached_tokens": cached}, "prompt_tokens": 3000}
        audit.add(recorded(number, one, usage=usage))
    (finding,) = audit.finish().findings
    assert finding.code == "history-rewritten"
    assert finding.message == "message 0 (user) was changed; 1,536 cached tokens were not reused"
    assert (finding.response_shows, finding.request_shows) == ("Run a1B2c3D4.", "Run a1B2c3D4. It is 12:01.")


def test_the_files_of_a_directory_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    first, second = conversation("a", kept=1)
    write_rows(tmp_path / "9.jsonl", first)
    write_rows(tmp_path / "10.jsonl", second)
    (finding,) = findings(tmp_path)
    assert (finding["response_place"], finding["request_place"]) == (f"{tmp_path}/9.jsonl:1", f"{tmp_path}/10.jsonl:1")
