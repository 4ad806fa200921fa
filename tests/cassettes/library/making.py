"""Small cassettes, assembled here: nobody's traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from msgspec import convert
from msgspec.structs import replace

from tests.support.traffic import CHAT_URL, chat_body
from toolparity.cassettes import emulation_marker
from toolparity.cassettes.library import KEY, Provenance, path_for, save
from toolparity.cassettes.library.provenance import digest
from toolparity.cassettes.scripts import scripts

SCENARIO = "single-call"

PROVENANCE = Provenance(
    origin="emulated",
    date="2026-01-02T03:04:05Z",
    provider="openai",
    wire="openai.chat",
    stream=False,
    recorder="toolparity 0",
    model="m",
    surface="openai.chat",
    sdk="openai",
    sdk_version="3",
    scenario=SCENARIO,
    scenario_hash=scripts()[SCENARIO].hash,
    ran_by="the tests",
)

#: What an imported cassette lacks.
LACKING: dict[str, Any] = dict.fromkeys(("surface", "sdk", "sdk_version", "scenario", "scenario_hash", "ran_by"))


def interaction(answer: str | bytes | None = None, question: str = "hello?", status: int = 200) -> dict[str, Any]:
    """A question to Chat Completions and its answer, as vcrpy writes it."""
    asked = {"model": "m", "messages": [{"role": "user", "content": question}]}
    return {
        "request": {
            "method": "POST",
            "uri": CHAT_URL,
            "headers": {"content-type": ["application/json"]},
            "body": json.dumps(asked),
        },
        "response": {
            "status": {"code": status, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": chat_body("get_weather") if answer is None else answer},
        },
    }


def made(root: Path, *interactions: dict[str, Any], **members: Any) -> Path:
    """A cassette at its place in the library. Where it is emulated, its answers say so."""
    provenance = replace(PROVENANCE, **members)
    if provenance.origin == emulation_marker.EMULATED:
        for one in interactions or (interactions := (interaction(),)):
            one["response"]["headers"].setdefault(emulation_marker.HEADER, [emulation_marker.EMULATED])
    name = provenance.scenario or "found"
    path = path_for(provenance.surface or "openai.chat", name, provenance.stream, root)
    save(path, interactions or (interaction(),), provenance)
    return path


def rewritten(path: Path, change: Any, *, honest: bool = False) -> Path:
    """The cassette with ``change(content)`` done to it, by plain PyYAML. ``honest``: with the digests that fit."""
    content = yaml.safe_load(path.read_bytes())
    change(content)
    if honest:
        members = content["metadata"][KEY]
        members["digest"] = digest(content["interactions"])
        members["seal"] = convert(members, Provenance).sealing
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
    return path
