"""Texts of models, tools and clients cannot forge a line, control a terminal or reverse the direction of writing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from tests.support.traffic import chat_body, chat_stream
from toolparity.audit.proxy.copies import ExchangeCopy
from toolparity.audit.proxy.feed import Feed
from toolparity.audit.proxy.judge import Judge
from toolparity.audit.proxy.judgement import Judgement, JudgeOptions, shown
from toolparity.audit.proxy.lines import JsonLines, TextLines
from toolparity.audit.proxy.metrics import Metrics
from toolparity.audit.proxy.recording import Recorder, RecordOptions

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


def test_no_sink_writes_a_hostile_character() -> None:
    hostile, harmless = (_texts(shown(_filled(text))) for text in (_HOSTILE, "a"))
    assert "".join(hostile.values()).replace("\n", "").isprintable()
    assert [text.count("\n") for text in hostile.values()] == [text.count("\n") for text in harmless.values()]


def _places(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each string in JSON."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(member, *path, name)


def _planted(value: Any) -> Iterator[bytes]:
    """Yield JSON with the hostile text in one string after the other, with and without its lone surrogate."""
    for (*path, last), text in product(_places(value), (_HOSTILE, _HOSTILE[:-1])):  # JSON is ASCII with it
        copy = json.loads(json.dumps(value))
        place = reduce(lambda member, name: member[name], path, copy)
        place[last] += text
        yield json.dumps(copy).encode()


def _hostile_traffic() -> Iterator[ExchangeCopy]:
    """Yield exchanges with the hostile text in each string of requests, responses, streams, errors and headers."""
    response, chunk = json.loads(chat_body("f")), json.loads(chat_stream("f").split("\n")[0].removeprefix("data: "))
    answered = {"role": "tool", "tool_call_id": "call_0", "content": "r"}
    messages = [{"role": "user", "content": "q"}, response["choices"][0]["message"], answered]
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    request = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": function}]}
    asked, answer, plain = json.dumps(request).encode(), json.dumps(response).encode(), b"application/json"
    bodies = [(body, 200, plain, answer) for body in _planted(request)]
    bodies += [(asked, 200, plain, body) for body in _planted(response)]
    bodies += [(asked, 400, plain, body) for body in _planted({"error": {"type": "t", "code": "c", "message": "m"}})]
    bodies += [(asked, 200, b"text/event-stream", b"data: %b\n\n" % body) for body in _planted(chunk)]
    hostile = _HOSTILE.encode("utf-8", "replace") + b"\x9b"
    for number, (body, status, kind, content) in enumerate([*bodies, (asked, 200, plain, answer)], 1):
        copy = ExchangeCopy(number, 1e9, "POST", "http://h/v1/chat/completions", [], body, status)
        copy.response_headers, copy.chunks, copy.ending = [(b"content-type", kind)], [content], "complete"
        if number > len(bodies):
            copy.url += f"?{_HOSTILE}"
            copy.request_headers = [(hostile, hostile), (b"traceparent", hostile)]
            copy.response_headers += [(hostile, hostile)]
        yield copy


def _controls(name: str, output: bytes) -> bool:
    """Return whether a byte of an output controls a terminal. `pytest -rP` shows the bytes."""
    print(f"{name}: {output!r}")
    return not output.decode().replace("\n", "").isprintable()


def test_no_text_of_the_traffic_controls_the_terminal_behind_any_command(tmp_path: Path) -> None:
    lines, library = tmp_path / "traffic.jsonl", tmp_path / "library"
    judge, copies, wrong = Judge(JudgeOptions()), list(_hostile_traffic()), []
    for copy in copies:
        judgement = shown(judge(copy))
        assert judgement.unjudged is None, copy
        wrong += [
            sink for sink, text in _texts(judgement).items() if _controls(f"#{copy.number} {sink}", text.encode())
        ]
    for path in (lines, library):
        record = Recorder(RecordOptions(str(path)))
        assert {record(copy) for copy in copies} == {"recorded"}
        files = [path] if path is lines else [*path.rglob("*.yaml")]
        wrong += [file.name for file in files if _controls(file.name, file.read_bytes())]
        for command in (["audit"], ["audit", "--json"], ["audit", "--html", "-"], ["normalize", "--raw"]):
            run = subprocess.run(
                [sys.executable, "-m", "toolparity", *command, "--jobs", "1", path], capture_output=True, check=False
            )
            assert run.stdout, run
            wrong += [
                f"{command} {path.name}" for output in (run.stdout, run.stderr) if _controls(str(command), output)
            ]
    assert not wrong


def test_only_excerpts_keep_line_breaks_and_other_texts_show_them() -> None:
    judgement = shown(_filled("gpt\nfaked"))
    assert (judgement.model, judgement.lines[0].text) == ("gpt\\nfaked", "gpt\nfaked")
    assert json.loads(_texts(judgement)["json"])["calls"][0]["name"] == "gpt\\nfaked"
    assert shown(_filled("été 日本")) == _filled("été 日本")
