"""An entry of a log that cannot be read is one problem, and no other entry is lost with it."""

from __future__ import annotations

import copy
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.support.damage import STRANGE, garbled, hurt, places
from tests.support.damage import Path as Place
from tests.support.thoroughness import examples, is_thorough
from tests.support.traffic import CHAT_URL, chat_body, row
from toolparity.cassettes.sources import Exchange, Problem, ReadItem, read
from toolparity.cassettes.sources.logs import FORMATS, is_sequence
from toolparity.cli import main

SAMPLES = Path(__file__).parent / "samples"
CASSETTES = Path(__file__).resolve().parents[4] / "cassettes" / "examples"
MANIFEST: dict[str, dict[str, Any]] = json.loads((SAMPLES / "samples.json").read_text("utf-8"))
#: What Python's json module writes although JSON does not have it, and a value that few parsers accept.
_UNUSUAL = [float("nan"), float("-inf"), "\ud800", {"nested": "DEEP"}]
_DEEP = "[" * 3000 + "]" * 3000


def entries_of(text: str) -> list[Any]:
    """Return the JSON values of a file, one after another."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


ENTRIES = {name: entries_of((SAMPLES / name).read_text("utf-8")) for name in MANIFEST if ".j" in name or ".har" in name}
#: Samples whose lines are independent, so that the others stay exactly the same.
INDEPENDENT = [
    name
    for name, sample in MANIFEST.items()
    if name in ENTRIES and sample["format"] in FORMATS and not is_sequence(sample["format"]) and name[-1] == "l"
]


def written(*entries: Any) -> bytes:
    """Return entries as JSON lines."""
    lines = [json.dumps(entry).replace('"DEEP"', _DEEP) for entry in entries]
    return "".join(f"{line}\n" for line in lines).encode()


def items_of(name: str, data: bytes, **options: Any) -> list[ReadItem]:
    """Return what a file with this name and content holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        return list(read(path, **options))


@cache
def undamaged(name: str) -> list[ReadItem]:
    """Return what a sample holds."""
    return items_of(name, written(*ENTRIES[name]))


def bodies(items: list[ReadItem], skipped: int = 0) -> list[bytes | None]:
    """Return the responses of exchanges. ``skipped``: a line that does not count."""
    return [item.body for item in items if isinstance(item, Exchange) and item.line != skipped]


def replaced(value: Any, place: Place, new: Any) -> Any:
    """Return a copy of a value with another value at one place."""
    made = holder = copy.deepcopy(value)
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = copy.deepcopy(new)
    return made


def value_at(value: Any, place: Place) -> Any:
    """Return the value at one place."""
    for key in place:
        value = value[key]
    return value


@st.composite
def swapped(draw: st.DrawFn, entry: Any) -> Any:
    """A copy of an entry in which one value is of another type.

    None is not one, as members may be absent, nor is an empty list, as texts in logs may be lists as JSON.
    """
    place = draw(st.sampled_from(list(places(entry))))
    old = value_at(entry, place)
    others = [new for new in (*STRANGE, *_UNUSUAL) if new not in (None, []) and type(new) is not type(old)]
    return replaced(entry, place, draw(st.sampled_from(others)))


@given(st.data())
@examples(1600)
def test_a_damaged_line_does_not_change_the_other_lines(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(INDEPENDENT))
    entries = ENTRIES[name]
    at = data.draw(st.integers(0, len(entries) - 1))
    damaged = data.draw(swapped(entries[at]) | hurt(entries[at]))
    found = items_of(name, written(*entries[:at], damaged, *entries[at + 1 :]), format=MANIFEST[name]["format"])
    assert bodies(found, skipped=at + 1) == bodies(undamaged(name), skipped=at + 1)


@given(st.data())
@examples(1600)
def test_a_value_of_another_type_never_loses_an_exchange_silently(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ENTRIES)))
    entries = ENTRIES[name]
    at = data.draw(st.integers(0, len(entries) - 1))
    damaged = data.draw(swapped(entries[at]))
    found = items_of(name, written(*entries[:at], damaged, *entries[at + 1 :]), format=MANIFEST[name]["format"])
    problems = [item for item in found if isinstance(item, Problem)]
    assert len(bodies(found)) >= MANIFEST[name]["exchanges_read"] or problems
    assert all(problem.fault for problem in problems)


@pytest.mark.thorough(keep=5)
@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_number_or_a_list_in_any_place_near_the_top_never_loses_an_exchange_silently(name: str) -> None:
    """In the plain run, a place that several entries have is damaged in the first of them, by half of the values."""
    entries = ENTRIES[name]
    seen, lost = set(), []
    for at, entry in enumerate(entries):
        for place in [place for place in places(entry) if 0 < len(place) < 3]:
            old = type(value_at(entry, place))
            if (place, old) in seen and not is_thorough():
                continue
            seen.add((place, old))
            values = [new for new in (7, [7], {}, {"a": 1}, True) if type(new) is not old]
            for new in values if is_thorough() else values[len(seen) % 2 :: 2]:
                damaged = replaced(entry, place, new)
                lines = written(*entries[:at], damaged, *entries[at + 1 :])
                found = items_of(name, lines, format=MANIFEST[name]["format"])
                if len(bodies(found)) < MANIFEST[name]["exchanges"]:
                    lost += [] if any(isinstance(item, Problem) for item in found) else [(at, place, new)]
    assert not lost


@given(st.data())
@examples(800)
def test_damaged_bytes_of_a_log_never_raise(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(MANIFEST)))
    damaged = data.draw(garbled((SAMPLES / name).read_bytes()))
    found = items_of(name, damaged, format=data.draw(st.sampled_from([None, MANIFEST[name]["format"]])))
    assert found or not damaged.strip()


SPANS = [
    (number, *position)
    for number, document in enumerate(ENTRIES["langfuse-sdk.jsonl"])
    for position in [
        (one, two, three)
        for one, resource in enumerate(document["resourceSpans"])
        for two, scope in enumerate(resource["scopeSpans"])
        for three, _ in enumerate(scope["spans"])
    ]
]


@given(st.data())
@examples(400)
def test_a_damaged_span_does_not_change_the_other_spans_of_its_document(data: st.DataObject) -> None:
    """No value here is nested so deeply that its document is not JSON for any parser."""
    documents = ENTRIES["langfuse-sdk.jsonl"]
    number, resource, scope, at = data.draw(st.sampled_from(SPANS))
    place = (number, "resourceSpans", resource, "scopeSpans", scope, "spans", at)
    span = documents[number]["resourceSpans"][resource]["scopeSpans"][scope]["spans"][at]
    damaged = data.draw(st.sampled_from(STRANGE) | hurt(span))
    found = bodies(items_of("spans.jsonl", written(*replaced(documents, place, damaged))))
    without = copy.deepcopy(documents)
    del without[number]["resourceSpans"][resource]["scopeSpans"][scope]["spans"][at]
    others = bodies(items_of("spans.jsonl", written(*without)))
    assert len(found) <= len(others) + 1
    # What is left of the damaged span may be the same as another span.
    assert found == others or any(found[:at] + found[at + 1 :] == others for at in range(len(found)))


def pair(n: int) -> dict[str, Any]:
    members = {"url": CHAT_URL, "status": 200, "headers": {"content-type": "application/json"}}
    return {"request": {"model": "m", "messages": []}, "response": json.loads(chat_body(f"f{n}")), **members}


def interactions() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((CASSETTES / "openai.chat.yaml").read_text("utf-8"))["interactions"]
    others = copy.deepcopy(found)
    for number, interaction in enumerate(others):
        interaction["response"]["body"]["string"] = chat_body(f"f{number}")
    return found + others


def har_entry(n: int) -> dict[str, Any]:
    headers = [{"name": "content-type", "value": "application/json"}]
    content = {"mimeType": "application/json", "text": chat_body(f"f{n}")}
    request = {"method": "POST", "url": CHAT_URL, "headers": [], "postData": {"text": "{}"}}
    response = {"status": 200, "headers": headers, "content": content}
    return {"startedDateTime": "2026-01-01T00:00:00Z", "request": request, "response": response}


ROWS = [row(chat_body(f"f{n}"), id=f"r{n}", chunk_lengths=[1]) for n in range(3)]
HAR = [har_entry(n) for n in range(3)]
#: Name of a file -> its entries, and the function that writes them.
FILES: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "recordings.jsonl": (ROWS, lambda entries: written(*entries)),
    "pairs.jsonl": ([pair(n) for n in range(3)], lambda entries: written(*entries)),
    "rows.json": (ROWS, lambda entries: json.dumps({"data": entries}).encode()),
    "cassette.json": (interactions(), lambda entries: json.dumps({"interactions": entries}).encode()),
    "cassette.yaml": (interactions(), lambda entries: yaml.safe_dump({"interactions": entries}).encode()),
    "export.har": (HAR, lambda entries: json.dumps({"log": {"entries": entries}}).encode()),
}
_EACH = pytest.mark.parametrize("name", FILES)


@_EACH
def test_an_entry_that_is_not_an_object_does_not_hide_the_others(name: str) -> None:
    entries, write = FILES[name]
    found = items_of(name, write([entries[0], [1], *entries[1:]]))
    assert [type(item) for item in found] == [Exchange, Problem, *[Exchange] * (len(entries) - 1)]


@pytest.mark.thorough(keep=3)
@_EACH
@given(st.data())
@examples(240)
def test_a_damaged_entry_of_a_recording_does_not_change_the_others(name: str, data: st.DataObject) -> None:
    entries, write = FILES[name]
    at = data.draw(st.integers(0, len(entries) - 1))
    place = data.draw(st.sampled_from(list(places(entries[at]))))
    values = [value for value in (*STRANGE, *_UNUSUAL[:2]) if not (name.endswith("yaml") and value == "\ud800")]
    damaged = replaced(entries[at], place, data.draw(st.sampled_from(values)))
    found = items_of(name, write([*entries[:at], damaged, *entries[at + 1 :]]))
    others = bodies(items_of(name, write([*entries[:at], *entries[at + 1 :]])))
    assert [body for body in bodies(found) if body in others] == others
    assert len(found) == len(entries)


@pytest.mark.parametrize("name", [*sorted(ENTRIES.keys() - {"phoenix.json"}), "mitmproxy.flows"])
def test_an_audit_with_an_entry_that_cannot_be_read_fails_without_a_traceback(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    kept = (SAMPLES / name).read_bytes()
    path.write_bytes(kept + (b"9:damaged" if name == "mitmproxy.flows" else b'{"type": [1]}\n'))
    options = () if name == "mitmproxy.flows" else ("--format", MANIFEST[name]["format"])
    result = CliRunner().invoke(main, ["audit", str(path), "--json", *options])
    assert result.exit_code == 4
    assert len(result.stderr.splitlines()) == 1 + (MANIFEST[name]["exit_code"] != 0) + (kept[:1] == b"[")
    assert json.loads(result.stdout)["exchanges"] == MANIFEST[name]["exchanges_read"]


def test_a_response_in_a_log_of_events_counts_without_its_messages(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": "Yes."}
    bodies = [any_value({"index": index, "finish_reason": "stop", "message": message}) for index in (0, 1)]
    events = [{"eventName": "gen_ai.choice", "traceId": "t", "spanId": "s", "body": body} for body in bodies]
    path = tmp_path / "events.jsonl"
    path.write_bytes(written({"resourceLogs": [{"scopeLogs": [{"logRecords": events}]}]}))
    (exchange,) = read(path)
    assert isinstance(exchange, Exchange)
    assert exchange.request is None
    assert json.loads(exchange.body or b"")["choices"][0]["message"]["content"] == "Yes."


def any_value(value: Any) -> dict[str, Any]:
    """Return a value as OTLP writes it."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(inner)} for key, inner in value.items()]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
