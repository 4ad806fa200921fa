"""The official SDKs and this normalizer, given the same bytes, find the same calls, texts and figures.

Where they do not, `differences.toml` gives the reason. An entry that no longer differs fails the test. An exchange
that an SDK cannot read at all is listed there, too.

OpenAI's SDK takes time that grows with the square of a stream of Chat Completions: `--thorough` compares every fourth
of the long ones, and all of them where TOOLPARITY_EVERY_RECORDING is set. The plain run compares every twentieth
exchange.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.normalizer.recorded import sdk_reading
from tests.normalizer.recorded.rows import Row, decode, rows
from tests.normalizer.recorded.sdk_reading import Call, ProviderError, Read
from tests.support.thoroughness import is_thorough
from tests.support.wires import WIRES
from toolparity import Response, ServerToolCall, ToolCall, select

#: Bytes of a long stream.
LONG = 2_000
TABLE = Path(__file__).with_name("differences.toml")


class Entry(NamedTuple):
    """A row of the table. ``id``: a pattern for the whole exchange id; ``says``: one for what differs."""

    wire: str
    id: str
    says: str
    why: str

    def fits(self, row: Row, difference: str) -> bool:
        return re.fullmatch(self.id, row.id) is not None and re.search(self.says, difference) is not None


def table() -> list[Entry]:
    return [Entry(**entry) for entry in tomllib.loads(TABLE.read_text())["difference"]]


def ours(response: Response) -> list[Call]:
    """Our calls as the wire named them: a synthetic id represents what was there (null, or a repeated one).

    xAI's own calls of type `custom_tool_call` are server calls here and plain items to OpenAI's SDK: they count.
    """
    synthetic = {(f.choice, f.block) for f in response.findings if f.code == "id-missing"}
    calls = []
    for choice, place, block in response.walk():
        if isinstance(block, ToolCall) and block.kind in ("function", "custom", "legacy_function"):
            id = None if (choice.index, place) in synthetic else block.extra.get("id", block.id)
            calls.append(Call(choice.index, id, block.name, block.arguments_text))
        elif isinstance(block, ServerToolCall) and block.extra.get("type") == "custom_tool_call":
            calls.append(Call(choice.index, block.extra["call_id"], block.name, block.arguments_text))
    return calls


def difference(row: Row, response: Response, theirs: Read) -> str | None:
    """What differs, or None."""
    mine = ours(response)
    expected = [call._replace(id=call.id or None) for call in theirs.calls]
    for place, (one, other) in enumerate(zip(mine, expected, strict=False)):
        text = one.arguments if isinstance(other.arguments, str) else json.loads(one.arguments or "{}")
        if one._replace(arguments=text) != other._replace(arguments=other.arguments):
            return f"calls: the {place + 1}. is {one} here and {other} there"
    if len(mine) != len(expected):
        return f"calls: {len(mine)} here and {len(expected)} there"
    if theirs.text is not None and response.text != theirs.text:
        return f"text: {response.text[:200]!r} here and {theirs.text[:200]!r} there"
    if theirs.usage is not None:
        raw: dict[str, Any] = response.usage.raw if response.usage is not None else {}
        figures = {key: raw.get(key) for key in theirs.usage}
        if _plain(figures) != _plain(theirs.usage):
            return f"usage: {figures} here and {theirs.usage} there"
    return None


def _plain(value: Any) -> Any:
    """Without nulls at any depth: an SDK drops some of them and makes up others."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return value


def compared(row: Row, counts: Counter[str]) -> str | None:
    """Compares one exchange and counts it; gives what differs, or how the SDK failed, or None."""
    response = decode(row)
    try:
        theirs = sdk_reading.read(row)
    except ProviderError as error:
        counts["errors"] += 1
        dead = response.error is not None and not select(response, "all").kept
        return None if dead else f"the SDK raises {error}, and here is an answer that would be acted on"
    except Exception as error:
        counts["unreadable"] += 1
        return f"{type(error).__name__}: {error}"[:500]
    counts["compared"] += 1
    found = difference(row, response, theirs)
    counts["equal"] += found is None
    return found


def sampled(found: Sequence[Row], entries: Sequence[Entry]) -> Iterator[Row]:
    """The rows that are compared: with `--thorough` all but some long streams of which the table says nothing."""
    every = 1 if is_thorough() else 20
    every_long = 1 if os.environ.get("TOOLPARITY_EVERY_RECORDING") else max(4, every)
    counts = Counter[bool]()
    for row in found:
        long = row.wire == "openai.chat" and row.stream and len(row.data) > LONG
        counts[long] += 1
        left_out = counts[long] % (every_long if long else every)
        if not left_out or (is_thorough() and any(re.fullmatch(entry.id, row.id) for entry in entries)):
            yield row


@pytest.mark.parametrize("wire", WIRES)
def test_calls_texts_and_figures_are_those_of_the_sdk(
    wire: str, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry for entry in table() if entry.wire == wire]
    counts: Counter[str] = Counter()
    used: Counter[Entry] = Counter()
    unlisted: list[str] = []
    known = rows(recordings, wire)
    for row in sampled(known, entries):
        counts["taken"] += 1
        if (found := compared(row, counts)) is None:
            continue
        listed = next((entry for entry in entries if entry.fits(row, found)), None)
        if listed is None:
            unlisted.append(f"{row.id} ({row.provider}): {found}")
        else:
            used[listed] += 1
    with capsys.disabled():
        print(f"\n  {wire}: {dict(counts)}, {used.total()} listed, {len(known) - counts['taken']} left out", end="")
    assert not unlisted, f"{len(unlisted)} differences that no entry names:\n  " + "\n  ".join(unlisted)
    assert counts["equal"] >= counts["taken"] - counts["errors"] - used.total()
    if is_thorough():
        assert [f"{entry.id}: {entry.says}" for entry in entries if entry not in used] == []
        assert counts["equal"] > 0.6 * (len(known) - counts["errors"])


def test_every_entry_of_the_table_gives_its_reason() -> None:
    for entry in table():
        assert entry.wire in WIRES
        assert len(entry.why) > 30, entry


# the comparison itself

BODY = (
    '{"id":"c","choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":"hi","tool_calls":['
    '{"id":"a","type":"function","function":{"name":"f","arguments":"{ }"}}]}}],"usage":{"prompt_tokens":1}}'
)


@pytest.mark.parametrize(
    ("written", "other", "expected"),
    [
        ("", "", None),
        ('"a"', '"b"', "the 1. is"),
        ('"f"', '"g"', "the 1. is"),
        ('"{ }"', '"{}"', "the 1. is"),
        ('"hi"', '"ho"', "text:"),
        ('"prompt_tokens":1', '"prompt_tokens":2', "usage:"),
    ],
)
def test_another_id_name_argument_text_or_figure_is_a_difference(
    written: str, other: str, expected: str | None
) -> None:
    row, served = (Row("made", "openai.chat", False, body=body) for body in (BODY, BODY.replace(written, other)))
    found = difference(row, decode(row), sdk_reading.read(served))
    assert (found is None) if expected is None else (found is not None and expected in found)
    assert difference(row, decode(row), Read([], "hi", None)) == "calls: 1 here and 0 there"
