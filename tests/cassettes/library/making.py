"""Small cassettes, assembled here: nobody's traffic."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import yaml
from msgspec import convert
from msgspec.structs import replace

from tests.support.traffic import CHAT_URL, chat_body
from toolparity.cassettes import emulation_marker
from toolparity.cassettes.library import KEY, Provenance, forget, path_for, save
from toolparity.cassettes.library.importer import Imported, Skipped, import_files
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


def interaction(answer: str | bytes | None = None, question: str = "hello?") -> dict[str, Any]:
    """A question to Chat Completions and its answer, as vcrpy writes it."""
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": question}]})
    headers = {"content-type": ["application/json"]}
    body = {"string": chat_body("get_weather") if answer is None else answer}
    return {
        "request": {"method": "POST", "uri": CHAT_URL, "headers": dict(headers), "body": asked},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": body},
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


def written(path: Path, *interactions: dict[str, Any]) -> Path:
    """A cassette of another project, as plain PyYAML writes it; packed where its name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump({"version": 1, "interactions": list(interactions)}).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def har(path: Path, started: str = "2025-03-04T05:06:07.5+02:00", status: int = 200, **headers: str) -> Path:
    """A HAR file with one exchange, whose response has these headers; names with underscores."""
    request: dict[str, Any] = {"method": "POST", "url": CHAT_URL, "postData": {"text": '{"model": "gpt"}'}}
    request["headers"] = [{"name": "Authorization", "value": "Bearer a-word-that-no-rule-knows-91"}]
    content = {"mimeType": "application/json", "text": chat_body("f")}
    sent = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    response = {"status": status, "headers": sent, "content": content}
    entry = {"startedDateTime": started, "request": request, "response": response}
    path.write_text(json.dumps({"log": {"entries": [entry]}}), "utf-8")
    return path


def taken(*paths: Path, into: Path | None = None, **options: Any) -> list[Imported | Skipped]:
    """What an import of these paths did. It goes into the folder `into` beside the first one."""
    forget()
    return list(import_files([str(path) for path in paths], into or paths[0].parent / "into", **options))


def imported(*paths: Path, **options: Any) -> Imported:
    """The only one, which must be imported."""
    (one,) = taken(*paths, **options)
    assert isinstance(one, Imported), one
    return one


def skipped(*paths: Path, **options: Any) -> Skipped:
    """The only one, which must be left out."""
    (one,) = taken(*paths, **options)
    assert isinstance(one, Skipped), one
    return one
