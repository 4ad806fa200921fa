"""Entries inside the members of other tools, and responses that a log keeps as parts of a body.

Each case has the calls that its text contains; every one is read, or the file has a problem.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tests.cassettes.sources.test_recorders import ENTRIES
from tests.support.thoroughness import is_thorough
from toolparity import Wire, normalize
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.audit.exchange import decode
from toolparity.audit.summary import audit_part
from toolparity.cassettes.sources import Exchange, FilePart, Problem, files, read, split_files

_ASKED = [{"role": "user", "content": "hi"}]
_CALL = {"id": "call_a1B2c3D4", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_MESSAGE = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_CHOICE = {"index": 0, "finish_reason": "tool_calls", "message": _MESSAGE}
_CHAT = {"object": "chat.completion", "choices": [_CHOICE]}
_ROW = {"request": {"messages": _ASKED}, "response": _CHAT}
_ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "call_a1B2c3D4", "name": "f", "arguments": "{}"},
    {"type": "function_call", "call_id": "call_e5F6g7H8", "name": "g", "arguments": "{}"},
]
_GEMINI_ASKED = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
_GEMINI = {
    "candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {}}}]}, "finishReason": "STOP"}]
}
_SNAKE_CONTENT = {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]}
_SNAKE = {"candidates": [{"content": _SNAKE_CONTENT, "finish_reason": "STOP"}], "usage_metadata": {}}
_PARTS = {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}]}
_USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
_ANTHROPIC = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [_USE],
    "stop_reason": "tool_use",
}
_CONVERSE = {
    "output": {
        "message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}]}
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
}
_EVENTS = [
    {"type": "message_start", "message": {**_ANTHROPIC, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": _USE},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


def _text(value: Any) -> str:
    return json.dumps(value)


def _invocation(request: Any, response: Any) -> dict[str, Any]:
    """An entry of the invocation log of Amazon Bedrock."""
    sides = {"input": {"inputBodyJson": request}, "output": {"outputBodyJson": response, "outputTokenCount": 1}}
    return {"schemaType": "ModelInvocationLog", "requestId": "r", "modelId": "m", **sides}


def _span(**attributes: Any) -> dict[str, Any]:
    return {"name": "chat", "context": {"trace_id": "1", "span_id": "2"}, "attributes": attributes}


def _outputs(*finish: str) -> dict[str, Any]:
    """A span with two messages of the model, each with a call; ``finish``: their stop reasons, if they are choices."""
    calls: list[dict[str, Any]] = [
        {"type": "tool_call", "id": id, "name": "f", "arguments": {}} for id in ("call_1", "call_2")
    ]
    ends = [{"finish_reason": word} for word in finish] or [{}, {}]
    messages = [{"role": "assistant", "parts": [call], **end} for call, end in zip(calls, ends, strict=True)]
    return _span(**{"gen_ai.operation.name": "chat", "gen_ai.output.messages": _text(messages)})


def _generation(output: Any) -> dict[str, Any]:
    return {"id": "1", "type": "GENERATION", "traceId": "t", "input": _ASKED, "output": output}


_MODEL = {"role": "model", "parts": [{"text": None, "function_call": {"name": "f", "args": {}}}, {"text": "x"}]}
_SNAKE = {"candidates": [{"content": _MODEL, "finish_reason": "STOP"}], "usage_metadata": {"total_token_count": 1}}
#: Name -> the entry, its wire, and the number of its calls.
CASES: dict[str, tuple[Any, str, int]] = {
    "parts of one response in a span": (_outputs(), "openai.chat", 2),
    "choices in a span": (_outputs("tool_call", "tool_call"), "openai.chat", 2),
    "items of Responses in Langfuse": (_generation(_ITEMS), "openai.responses", 2),
    "text of items in Langfuse": (_generation(_text(_ITEMS)), "openai.responses", 2),
    "a history that ends with a response": (_generation([*_ASKED, _MESSAGE]), "openai.chat", 1),
    "messages as output": ({"input": _ASKED, "output": [_MESSAGE]}, "openai.chat", 1),
    "choices as output": ({"input": _ASKED, "output": [_CHOICE]}, "openai.chat", 1),
    "items as output": ({"input": _ASKED, "output": _ITEMS}, "openai.responses", 2),
    "choices as response": ({"request": {"messages": _ASKED}, "response": [_CHOICE]}, "openai.chat", 1),
    "Bedrock Converse": (_invocation({"messages": []}, _CONVERSE), "bedrock.converse", 1),
    "Bedrock InvokeModel": (_invocation({"messages": _ASKED}, _ANTHROPIC), "anthropic.messages", 1),
    "Bedrock stream of InvokeModel": (_invocation({"messages": _ASKED}, _EVENTS), "anthropic.messages", 1),
    "Gemini's Python SDK": ({"request": _GEMINI_ASKED, "response": _SNAKE}, "google.gemini", 1),
    "parts of Gemini's Python SDK": ({"input": [], "output": _SNAKE_CONTENT}, "openai.chat", 1),
    "message as output of promptfoo": ({"prompt": {}, "response": {"output": _MESSAGE, "cost": 1}}, "openai.chat", 1),
    "options of Portkey": ({"requestOptions": [{"requestParams": {}, "response": _CHAT}]}, "openai.chat", 1),
    "parts of Vercel's AI SDK": ({"input": _ASKED, "output": {"messages": [_PARTS]}}, "openai.chat", 1),
    "Vertex row": ({"full_request": _GEMINI_ASKED, "full_response": _GEMINI}, "google.gemini", 1),
    "Vertex row of texts": (
        {"full_request": _text(_GEMINI_ASKED), "full_response": _text(_GEMINI)},
        "google.gemini",
        1,
    ),
    "Vertex payloads": (
        {"request_payload": [_text(_GEMINI_ASKED)], "response_payload": [_text(_GEMINI)]},
        "google.gemini",
        1,
    ),
    "MLflow span": (
        _span(**{"mlflow.spanInputs": _text({"messages": _ASKED}), "mlflow.spanOutputs": _text(_CHAT)}),
        "openai.chat",
        1,
    ),
    "Weave call": ({"op_name": "openai.chat", "inputs": {"messages": _ASKED}, "output": _CHAT}, "openai.chat", 1),
    "Gemini in snake case": (_generation(_SNAKE), "google.gemini", 1),
    "Gemini content in snake case": (_generation(_MODEL), "openai.chat", 1),
    "Gemini content as output": ({"input": _GEMINI_ASKED["contents"], "output": _MODEL}, "openai.chat", 1),
    "container line": ({"log": _text(_ROW) + "\n", "stream": "stdout"}, "openai.chat", 1),
    "Google Cloud entry": ({"insertId": "1", "jsonPayload": _ROW}, "openai.chat", 1),
    "search hit": ({"_index": "i", "_source": _ROW}, "openai.chat", 1),
    "search result": (
        {"took": 1, "hits": {"total": 2, "hits": [{"_source": _ROW}, {"_source": _ROW}]}},
        "openai.chat",
        2,
    ),
    "CloudWatch event": ({"timestamp": 1, "message": _text(_invocation({}, _CONVERSE))}, "bedrock.converse", 1),
    "Azure API Management": (
        {"records": [{"properties": {"backendRequestBody": "{}", "backendResponseBody": _text(_CHAT)}}]},
        "openai.chat",
        1,
    ),
    "Datadog log": ({"message": "called", "attributes": _ROW}, "openai.chat", 1),
    **{name: (entry, "openai.chat", 1) for name, entry in ENTRIES.items()},
}


_TIME = "2026-11-27T10:00:00.123456789Z"


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _cri(text: str, stream: str, size: int = 40) -> list[str]:
    *first, last = _pieces(text, size)
    return [f"{_TIME} {stream} {mark} {piece}" for piece, mark in [*((piece, "P") for piece in first), (last, "F")]]


def _docker(text: str, stream: str) -> list[str]:
    return [_text({"log": piece, "stream": stream, "time": _TIME}) for piece in _pieces(text + "\n", 40)]


def _interleaved(*lines: list[str]) -> str:
    return "\n".join(line for group in zip_longest(*lines) for line in group if line is not None) + "\n"


def _csv(entry: Any, delimiter: str) -> str:
    entry = entry if isinstance(entry, dict) else {"entry": entry}
    cells = [_text(cell) if isinstance(cell, (dict, list)) else cell for cell in entry.values()]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([["at", *entry], [_TIME, *cells]])
    return file.getvalue()


_NOISE = _text({"level": "error", "request": "GET /", "status": 500, "error": {"message": "x" * 90}})
#: How a collector writes an entry -> the suffix of its file, and the content.
FORMS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "JSON lines": lambda entry: (".jsonl", _text(entry) + "\n"),
    "JSON": lambda entry: (".json", _text(entry) + "\n"),
    "CRI": lambda entry: (".log", _interleaved(_cri(_text(entry), "stdout"), _cri(_NOISE, "stderr"))),
    "Docker": lambda entry: (".log", _interleaved(_docker(_text(entry), "stdout"), _docker(_NOISE, "stderr"))),
    "kubectl logs --prefix": lambda entry: (
        "",
        f"[pod/a-1/a] Started\n[pod/a-1/a] {_NOISE}\n[pod/a-1/a] {_text(entry)}\n",
    ),
    "syslog": lambda entry: (".log", f"Nov 27 10:00:00 h a[7]: {{}} {{x\nNov 27 10:00:00 h a[7]: {_text(entry)}\n"),
    "logfmt": lambda entry: (".txt", f"level=INFO\ntime={_TIME} level=INFO entry={_text(_text(entry))} took=3ms\n"),
    "text of a collector": lambda entry: (
        ".jsonl",
        _text({"textPayload": f"INFO [main] {{a=1}} {_text(entry)}"}) + "\n",
    ),
    "CSV": lambda entry: (".csv", _csv(entry, ",")),
    "TSV": lambda entry: (".tsv", _csv(entry, "\t")),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_call_of_an_entry_is_read(form: str, tmp_path: Path) -> None:
    for number, (case, (entry, wire, calls)) in enumerate(CASES.items()):
        if case in ENTRIES and not form.startswith("JSON"):
            continue  # no collector writes what a recorder writes
        suffix, content = FORMS[form](entry)
        path = tmp_path / f"log{number}{suffix}"
        path.write_text(content)
        items = list(read(path))
        made = [item for item in items if isinstance(item, Exchange)]
        assert (len(made), {item.wire for item in made}) == (len(items), {wire}), (case, items)
        responses = [normalize(item.body or b"", cast("Wire", wire)) for item in made]
        assert sum(len(choice.calls) for response in responses for choice in response.choices) == calls, case


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({"content": [{**_USE, "id": "call_1"}], "tool_calls": [{**_CALL, "id": "call_1"}]}, 1),
        ({"content": None, "tool_calls": [_CALL], "additional_kwargs": {"tool_calls": [_CALL]}}, 1),
        ({"content": _text({"tool_calls": [{"name": "f", "arguments": {}}]})}, 0),
        ({"content": [{**_USE, "input": {"step": _USE}}]}, 1),
    ],
    ids=["in two notations", "twice in one notation", "in a text", "in arguments"],
)
def test_what_only_looks_like_a_further_call_is_not_missed(message: Any, calls: int, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(_text(_generation({"role": "assistant", **message})) + "\n")
    (exchange,) = (item for item in read(tmp_path / "log.jsonl") if isinstance(item, Exchange))
    decoded = decode(exchange)
    assert decoded.response is not None
    assert (sum(len(choice.calls) for choice in decoded.response.choices), decoded.faulty) == (calls, False)


def test_a_span_of_a_model_without_messages_is_a_problem_and_other_spans_are_not(tmp_path: Path) -> None:
    chat, tool = ({"gen_ai.operation.name": name, "gen_ai.request.model": "m"} for name in ("chat", "execute_tool"))
    failed = {**chat, "error.type": "timeout"}
    for attributes, count in ((chat, 1), (tool, 0), (failed, 0)):
        keys = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
        document = {
            "resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "spanId": "2", "attributes": keys}]}]}]
        }
        for name, entry in (("span.jsonl", _span(**attributes)), ("otlp.json", document)):
            (tmp_path / name).write_text(_text(entry) + "\n")
            problems = [item for item in read(tmp_path / name) if isinstance(item, Problem)]
            assert len(problems) == count, (name, attributes)


@pytest.mark.parametrize("answer", [_SNAKE, _MODEL], ids=["body", "content"])
def test_a_conversation_with_gemini_in_a_log_is_linked(answer: Any, tmp_path: Path) -> None:
    result = {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"city": "Lisbon"}}}]}
    asked = [*_GEMINI_ASKED["contents"], _MODEL, result]
    entries = [{**_generation(answer), "input": contents} for contents in (asked[:1], asked)]
    (tmp_path / "log.jsonl").write_text("".join(_text(entry) + "\n" for entry in entries))
    (figures,) = audit_paths([str(tmp_path)], jobs=1).conversations.wires.values()
    assert (figures.linked, figures.answered, figures.findings) == (1, 1, {})


@pytest.mark.parametrize("ids", [True, False])
def test_spans_and_the_log_records_with_their_messages_are_read_together(ids: bool, tmp_path: Path) -> None:
    sample = (Path(__file__).parent / "samples" / "opentelemetry-events.jsonl").read_text("utf-8")
    (tmp_path / "traces.jsonl").write_text("".join(row for row in sample.splitlines(True) if "resourceSpans" in row))
    records = "".join(row for row in sample.splitlines(True) if "resourceLogs" in row)
    (tmp_path / "logs.jsonl").write_text(records if ids else re.sub(r'"(?:trace|span)Id": "\w+", ', "", records))
    traces, logs = str(tmp_path / "traces.jsonl"), str(tmp_path / "logs.jsonl")
    for paths, figures in (([str(tmp_path)], (6, 0)), ([traces, logs], (6, 0)), ([logs], (6, 0)), ([traces], (0, 6))):
        audit = audit_paths(paths, jobs=1)
        assert (audit.exchanges, audit.faults) == figures, paths


def test_pieces_of_lines_are_kept_up_to_the_limit_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_RECORD_BYTES", 2_000)
    whole, cut = _cri(_text(_ROW), "stdout"), _cri(_text(_ROW), "stdout")[:-1]
    endless = [f"{_TIME} stderr P {{{'x' * 90}" for _ in range(50)]
    (tmp_path / "0.log").write_text(_interleaved([*whole, *cut], endless))
    read_first, *problems = read(tmp_path / "0.log")
    assert isinstance(read_first, Exchange)
    assert [str(problem).partition(" (")[0].partition(":")[2] for problem in problems] == [
        "2: the line is longer than 0 MB",
        f"{2 * len(whole) + 1}: a line without its end",
    ]


def test_files_of_a_directory_are_judged_by_their_content(tmp_path: Path) -> None:
    for name in ("traffic.jsonl.1", "traffic.log", "traffic", "app.jsonl-2026-11-01"):
        (tmp_path / name).write_text(_text(_ROW) + "\n")
    for name, value in (("cli.json", {"toolCalls": [{"name": "f"}]}), ("text.json", {"a": _text({"toolCalls": []})})):
        (tmp_path / name).write_text(_text(value))
    (tmp_path / "LICENSE").write_text("MIT")
    (tmp_path / "device.jsonl").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path)
    items = list(read(tmp_path))
    names = {True: set[str](), False: set[str]()}
    for item in items:
        if isinstance(item, Problem):
            names[item.fault].add(Path(item.source).name)
    assert sum(isinstance(item, Exchange) for item in items) == 4
    assert names == {True: {"cli.json", "text.json"}, False: {"LICENSE", "device.jsonl", "loop"}}


def _changed(value: Any, random: Random) -> Any:
    """Return a value with one of its members left out, renamed, or put inside another member or a list."""
    value = _decoded(value)
    if isinstance(value, (dict, list)) and value and random.random() < 0.8:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = random.choice(keys)
        member = value[key]
        if isinstance(_decoded(member), (dict, list)) and random.random() < 0.7:
            value[key] = _changed(member, random)
        elif random.random() < 0.5:
            del value[key]
        elif isinstance(value, dict):
            value[random.choice(("payload", "content", "other"))] = value.pop(key)
        return value
    return random.choice(([value], {"value": value}, {"data": value}))


def _decoded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else copy.deepcopy(value)


def test_every_call_of_a_changed_entry_is_read_or_the_audit_fails(tmp_path: Path) -> None:
    outcomes = Counter[str]()
    for seed in range(4000 if is_thorough() else 400):
        random = Random(seed)
        case = random.choice([*CASES])
        entry = _changed(CASES[case][0], random)
        if random.random() < 0.3:
            entry = {random.choice(("log", "record", "_source", "x")): random.choice((entry, _text(entry)))}
        suffix, content = FORMS[random.choice(["JSON lines", *FORMS])](entry)
        path = tmp_path / f"log{suffix}"
        path.write_text(content)
        audit = audit_part(
            next(part for part in split_files([str(path)]) if isinstance(part, FilePart)), None, "all", None
        )
        read_calls = sum(figures.calls for figures in audit.audit.wires.values())
        outcome = "faulty" if audit.audit.faults else "nothing" if not audit.audit.audited else "read"
        outcomes[outcome] += 1
        assert outcome != "read" or read_calls >= _calls(entry), (seed, case)
    assert outcomes["read"] > outcomes["faulty"] > outcomes["nothing"]


def _calls(value: Any) -> int:
    """Count the calls in a value by their text."""
    text = re.sub(r"\\+", "", _text(value))
    marks = r'"function": \{[^{}]*"name": "|"function_?[cC]all": \{[^{}]*"name": "|"toolUse": \{[^{}]*"name": "'
    return len(re.findall(marks + r'|"type": "(?:tool_use|function_call|tool_call)"[^{}]*"name": "', text))
