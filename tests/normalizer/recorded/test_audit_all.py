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
from toolparity import Opaque, Response, ServerToolCall, ToolCall, normalize, select
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.json_codec import decode as json_decode
from toolparity.normalizer.json_codec import encode as json_encode

#: The recordings of each wire when the normalizer was built; some may be added, none may be removed.
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


@pytest.mark.parametrize("wire", WIRES)
def test_every_exchange_decodes_and_nothing_is_skipped(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(recordings, wire)
    opaque: Counter[str] = Counter()
    count = clean = 0
    for row in found:
        try:
            response = decode(row)
        except Exception as error:
            raise AssertionError(f"{row.id} cannot be decoded: {error!r}") from error
        calls = [(choice.index, at) for choice, at, block in response.walk() if isinstance(block, ToolCall)]
        if wire != "xai.grpc" and not row.failed:  # not JSON: `test_differential` compares its calls with the SDK's
            counted = {call_of(wire, *pair) for one in documents(row) for pair in objects(one)}
            assert len(calls) == len(counted - {None}), row.id
        count += len(calls)
        clean += not any(finding.severity != "info" for finding in response.findings)
        opaque.update(block.wire_type for _, _, block in response.walk() if isinstance(block, Opaque))
        assert response.wire == wire
        assert response.choices or response.error or not response.complete, f"{row.id}: neither answer nor error"
        assert row.failed <= (response.error is not None), f"{row.id}: an HTTP error is not reported"
        written = json_decode(json_encode(response))
        assert [choice["index"] for choice in written["choices"]] == [choice.index for choice in response.choices]
        selection = select(response, "first", choice=response.choices[0].index if response.choices else 0)
        assert len(selection.kept) <= 1, row.id
        refs = (*selection.kept, *selection.dropped, *selection.rejected)
        assert sorted((ref.choice, ref.block) for ref in refs) == sorted(calls), row.id
    in_file = sum(1 for _ in lines(recordings, wire))
    assert len(found) + len(misfiled(recordings, wire)) == in_file >= AT_LEAST[wire]
    known = block_types()[wire]
    assert not set(opaque) & known, f"opaque, although the SDK knows it: {sorted(set(opaque) & known)}"
    with capsys.disabled():
        print(f"\n  {wire}: {len(found)} exchanges, {count} client calls, {clean / len(found):.1%} ", end="")
        print(f"without a warning, opaque {dict(opaque) or 0}", end="")


def test_a_body_that_is_filed_under_another_wire_is_refused_with_the_name_of_that_wire(recordings: Path) -> None:
    found = misfiled(recordings, "ollama.chat")
    assert [normalize(row.data).wire for row in found] == ["openai.chat"] * 2
    for row in found:
        with pytest.raises(MalformedBody, match=r"looks like openai\.chat"):
            decode(row)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("wire", WIRES)
def test_the_request_changes_no_call(wire: str, recordings: Path) -> None:
    """The declared tools decide which side runs a call; they never add, remove, reorder or change a call."""

    def calls(response: Response) -> list[tuple[int, str, str, str]]:
        found = ((choice.index, block) for choice, _, block in response.walk())
        kinds = ToolCall | ServerToolCall
        return [(n, one.id, one.name, one.arguments_text) for n, one in found if isinstance(one, kinds)]

    for row in rows(recordings, wire):
        if isinstance(row.request, dict) and row.request.get("n") in (None, 1):
            assert calls(decode(row, request=row.request)) == calls(decode(row)), row.id
