"""Emulated HTTP traffic of OpenAI and xAI has the shape of real traffic: no member that neither a recording nor the
SDK's types hold, and most of what real answers with calls hold."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cassettes.emulated.callers import SURFACES_HERE, asked
from tests.cassettes.emulated.extra import EXTRA
from tests.cassettes.emulated.fidelity import Shape, coverage, real, recorded, shape, strange, typed
from tests.cassettes.emulated.sdk_models import sdk_models
from tests.normalizer.recorded.rows import Row
from toolparity.cassettes.emulated.script_player import StoredAnswers, play
from toolparity.cassettes.scripts import Script, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface

LIBRARY: dict[str, Script] = {**scripts(), **EXTRA}
ALLOWED = tomllib.loads((Path(__file__).parent / "fidelity.toml").read_text())["allowed"]

#: Whom the figures are about, and who is asked: the newest models that were recorded with calls.
NEWEST = {
    "openai.chat": ("gpt-5",),
    "openai.responses": ("gpt-5",),
    "xai.chat": ("grok-4", "grok-code"),
    "xai.responses": ("grok-4",),
}
ASKED = {
    "openai.chat": ("gpt-5-mini", "gpt-4.1"),
    "openai.responses": ("gpt-5-mini", "gpt-5.4", "gpt-5.6", "gpt-4.1"),
    "xai.chat": ("grok-4-fast", "grok-3-mini"),
    "xai.responses": ("grok-4-fast", "grok-4.3"),
}
#: The share of real pairs that emulated traffic has to show at least.
FLOOR = {"openai.chat": 1.0, "openai.responses": 0.88, "xai.chat": 1.0, "xai.responses": 1.0}
#: Tools of a caller's request that the surfaces can play; answers to others hold items that no script can produce.
_PLAYED = {"function", "custom", "web_search", "code_interpreter", "x_search"}

here = pytest.mark.parametrize("surface", SURFACES_HERE, ids=lambda surface: surface.name)


def options(surface: Surface) -> list[dict[str, Any]]:
    """What is in requests besides: nothing, and what makes answers contain more."""
    if surface.wire == "openai.chat":
        return [{}]
    told = ["reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs"]
    form = {"type": "json_schema", "name": "answer", "schema": {"type": "object", "properties": {}}, "strict": False}
    return [
        {},
        {"include": told, "reasoning": {"summary": "auto", "effort": "low"}, "instructions": "Be brief."},
        {"max_output_tokens": 4000, "text": {"format": form}, "prompt_cache_retention": "24h", "temperature": 0},
    ]


def answers(surface: Surface) -> Iterator[tuple[bytes, bool]]:
    """Every emulated body of a surface: each script that it plays, round by round, plain and streamed."""
    spelling = surface.emulation
    for script in LIBRARY.values():
        for model in ASKED[surface.name] if surface.plays(script) else ():
            for more in options(surface):
                for number, round in enumerate(script.rounds):
                    if round.fault is not None and (round.fault.after is None or round.fault.kind == "reset"):
                        continue
                    body = {**asked(surface, script, []), **more, **_words(surface, script, model)}
                    opened = play(surface, body, StoredAnswers(), LIBRARY)
                    after = "resp_1" if number and more else None
                    request = msgspec.structs.replace(opened.request, previous_response_id=after)
                    found = opened._replace(number=number, round=round, request=request)
                    yield b"".join(spelling.events(found)), True
                    yield json.dumps(spelling.answer(found)).encode(), False


def _words(surface: Surface, script: Script, model: str) -> dict[str, Any]:
    """What the user says, reported in the surface's own way, and whom; a tool is named where there is one."""
    said: dict[str, Any] = {"model": model, "stream": True, "stream_options": {"include_usage": True}}
    said["messages" if surface.wire == "openai.chat" else "input"] = [{"role": "user", "content": script.ask}]
    if script.tools and surface.wire == "openai.responses":
        said["tool_choice"] = {"type": script.tools[0].kind, "name": script.tools[0].name}
    return said


@cache
def emulated(name: str) -> Shape:
    return shape(answers(SURFACES[name]))


@cache
def exchanges(recordings: Path, name: str) -> tuple[Row, ...]:
    return tuple(recorded(recordings, SURFACES[name].wire, SURFACES[name].provider))


def with_calls(row: Row) -> bool:
    """Whether the answer holds calls to tools that the surfaces play.

    Azure's members are not part of OpenAI's wire, and neither are those that only Codex gets.
    """
    body = row.body or ""
    tools = (row.request or {}).get("tools") or ()
    return (
        ('_call"' in body or '"tool_calls":' in body.replace('" :', '":'))
        and {tool.get("type") for tool in tools} <= _PLAYED
        and not any(member in body for member in ("content_filter", "internal_chat_message_metadata_passthrough"))
    )


def excused(surface: Surface, found: tuple[str, str, str], by: dict[str, Any]) -> bool:
    """Whether an exception is about this member, or one below those it names."""
    event, path, _ = found
    if surface.name not in by["surfaces"] or event not in by.get("events", [event]):
        return False
    return any(path == top or path.startswith((f"{top}.", f"{top}<")) for top in by["below"])


@pytest.mark.thorough(keep=2)
@here
def test_every_member_stands_in_a_recording_or_in_the_sdks_types(recordings: Path, surface: Surface) -> None:
    known = real(exchanges(recordings, surface.name)), typed(sdk_models(surface.wire))
    found = strange(emulated(surface.name), *known)
    assert [one for one in found if not any(excused(surface, one, by) for by in ALLOWED)] == []


def test_no_exception_is_stale(recordings: Path) -> None:
    used: list[dict[str, Any]] = []
    for surface in SURFACES_HERE:
        known = real(exchanges(recordings, surface.name)), typed(sdk_models(surface.wire))
        for found in strange(emulated(surface.name), *known):
            used += [by for by in ALLOWED if excused(surface, found, by)]
    assert [one for one in ALLOWED if one not in used] == []


@here
def test_most_of_what_real_answers_with_calls_hold_is_shown(
    recordings: Path, surface: Surface, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = [
        row
        for row in exchanges(recordings, surface.name)
        if with_calls(row) and _model(row).startswith(NEWEST[surface.name])
    ]
    found = coverage(emulated(surface.name), real(newest))
    with capsys.disabled():
        print(
            f"\n{surface.name}: {found.covered} of {found.total} (path, type) pairs of {len(newest)} real exchanges "
            f"with calls are emulated ({found.share:.1%})"
        )
    assert newest
    assert found.share >= FLOOR[surface.name], found.missing


def _model(row: Row) -> str:
    told = re.search(r'"model": ?"([^"]+)"', row.body or "")
    return (row.request or {}).get("model") or (told.group(1) if told else "")
