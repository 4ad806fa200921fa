"""Every recorded exchange of the wires is decoded: no crash, nothing skipped, nothing opaque that an SDK knows."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.normalizer.recorded.rows import Row, decode, lines, misfiled, rows
from tests.support.eventstream import messages
from tests.support.sdk_types import block_types
from tests.support.wires import WIRES
from toolparity import Choice, Opaque, Response, ServerToolCall, ToolCall, normalize, select
from toolparity.normalizer.errors import MalformedBody, UnknownWire
from toolparity.normalizer.json_codec import decode as json_decode
from toolparity.normalizer.json_codec import encode as json_encode

#: What the wires held when the normalizer was built; recordings may be added, none may vanish.
AT_LEAST = {
    "openai.chat": 5784,
    "openai.responses": 1859,
    "anthropic.messages": 2010,
    "xai.grpc": 44,
    "cohere.chat": 106,
    "ollama.chat": 38,
    "google.interactions": 8,
    "bedrock.converse": 376,
    "google.gemini": 1270,
}


#: Types of items and blocks that are calls which the caller runs.
_CALLS = ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")


def call_of(wire: str, path: tuple[str | int, ...], found: dict[str, Any]) -> Any:
    """The identity of the client call that an object opens, or None. Written from the recordings."""
    member = next((step for step in reversed(path) if isinstance(step, str)), "")
    kind, id = str(found.get("type")), found.get("call_id") or found.get("id")
    function = found.get("function") or found.get("custom") or found
    named = isinstance(function, dict) and function.get("name")
    match wire:
        case "openai.chat" if named and member in ("tool_calls", "function_call"):
            return path, id  # some providers repeat the name in each chunk
        case "openai.responses" if kind in _CALLS or (kind, found.get("execution")) == ("tool_search_call", "client"):
            return None if str(id).startswith("xs_call") else id  # xAI's own search of X
        case "anthropic.messages" | "google.interactions" if kind in ("tool_use", "function_call"):
            return id
        case "google.gemini" | "ollama.chat" if named and member in ("functionCall", "tool_calls"):
            return object()
        case "bedrock.converse" if member == "toolUse" and "name" in found and kind != "server_tool_use":
            return found["toolUseId"]
        case "cohere.chat" if named and member == "tool_calls":
            return id or (found["name"], str(found.get("parameters")))  # the first version repeats calls at the end
    return None


def objects(value: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every object with its path, in which an item of a list has its ``index`` if it states one."""
    if isinstance(value, dict):
        yield path, value
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list):
            stated = inner.get("index", step) if isinstance(value, list) and isinstance(inner, dict) else step
            yield from objects(inner, *path, stated)


def documents(row: Row) -> list[Any]:
    """The JSON in a body: the whole, its lines, or the messages of an event stream of AWS, also wrapped ones."""
    if b":event-type" in row.data[:100]:
        found = [json.loads(payload) for _, payload in messages(row.data)]
        return [json.loads(base64.b64decode(one["bytes"])) if "bytes" in one else one for one in found]
    with suppress(ValueError):
        return [json.loads(row.data)]
    lines = [line.removeprefix("data:").strip() for line in row.data.decode("utf-8", "replace").splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def decoded(row: Row) -> Response:
    try:
        return decode(row)
    except Exception as error:
        raise AssertionError(f"{row.id} cannot be decoded: {error!r}") from error


@pytest.mark.parametrize("wire", WIRES)
def test_every_exchange_decodes_and_nothing_is_skipped(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(recordings, wire)
    known = block_types()[wire]
    counts: Counter[str] = Counter()
    opaque: Counter[str] = Counter()
    for row in found:
        response = decoded(row)
        counts["read"] += 1
        calls = sum(len(choice.calls) for choice in response.choices)
        if wire != "xai.grpc" and not row.failed:  # not JSON: `test_differential` compares its calls with the SDK's
            counted = {call_of(wire, *pair) for one in documents(row) for pair in objects(one)}
            assert calls == len(counted - {None}), row.id
        counts["calls"] += calls
        counts["clean"] += not any(f.severity != "info" for f in response.findings)
        for _, _, block in response.walk():
            if isinstance(block, Opaque):
                opaque[block.wire_type] += 1
        assert response.wire == wire
        assert response.choices or response.error or not response.complete, f"{row.id}: neither answer nor error"
        assert row.failed <= (response.error is not None), f"{row.id}: an HTTP error that is no error"
    of_others = len(misfiled(recordings, wire))
    assert counts["read"] + of_others == sum(1 for _ in lines(recordings, wire)) >= AT_LEAST[wire]
    assert not set(opaque) & known, f"opaque, although the SDK knows it: {sorted(set(opaque) & known)}"
    with capsys.disabled():
        print(
            f"\n  {wire}: {counts['read']} of {len(found)} exchanges read ({counts['read'] / len(found):.0%}), "
            f"{counts['calls']} client calls, {counts['clean'] / len(found):.1%} without a warning, "
            f"opaque {dict(opaque) or 0}",
            end="",
        )


def test_a_body_that_is_filed_under_another_wire_is_refused_with_the_name_of_its_own(recordings: Path) -> None:
    found = misfiled(recordings, "ollama.chat")
    assert [normalize(row.data).wire for row in found] == ["openai.chat"] * 2
    for row in found:
        with pytest.raises(MalformedBody, match=r"looks like openai\.chat"):
            decode(row)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_knowing_the_request_changes_no_call(wire: str, recordings: Path) -> None:
    """What was declared decides who executes; it never adds, removes, reorders or rewrites a call."""
    for row in rows(recordings, wire):
        if not isinstance(row.request, dict) or row.request.get("n") not in (None, 1):
            continue
        without, told = decode(row), decode(row, request=row.request)
        assert [_said(c) for c in told.choices] == [_said(c) for c in without.choices], row.id


def _said(choice: Choice) -> list[tuple[str, str, str]]:
    return [(b.id, b.name, b.arguments_text) for b in choice.blocks if isinstance(b, ToolCall | ServerToolCall)]


@pytest.mark.parametrize("wire", WIRES)
def test_every_response_is_written_as_json_and_every_call_is_kept_dropped_or_rejected(
    wire: str, recordings: Path
) -> None:
    for row in rows(recordings, wire):
        response = decode(row)
        written = json_decode(json_encode(response))
        assert [c["index"] for c in written["choices"]] == [c.index for c in response.choices], row.id
        calls = [(c.index, n) for c in response.choices for n, b in enumerate(c.blocks) if isinstance(b, ToolCall)]
        choice = response.choices[0].index if response.choices else 0
        selection = select(response, "first", choice=choice)
        assert len(selection.kept) <= 1, row.id
        told = [(r.choice, r.block) for r in (*selection.kept, *selection.dropped, *selection.rejected)]
        assert sorted(told) == sorted(calls), row.id


def test_the_other_wires_are_refused_as_not_yet_known(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = sorted(p for p in recordings.glob("*.jsonl.gz") if p.name.removesuffix(".jsonl.gz") not in WIRES)
    assert others
    for path in others:
        wire = path.name.removesuffix(".jsonl.gz")
        count = sum(1 for _ in lines(recordings, wire))
        with pytest.raises(UnknownWire, match=wire):
            normalize(b"{}", wire)
        with capsys.disabled():
            print(f"\n  {wire}: {count} exchanges, not yet known", end="")
