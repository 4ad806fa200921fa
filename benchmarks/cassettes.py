"""Loading cassettes of five rounds, with plain and with streamed answers, as vcrpy loads them from the library."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from toolparity.cassettes.library import Provenance, files, path_for, save
from toolparity.cassettes.surfaces import SURFACES

from . import traffic
from .cases import Case

ROUNDS = 5
BASE = "yaml.CSafeLoader"
GOAL = 1.5


def cases() -> Iterator[Case]:
    """Return a plain and a streamed cassette per HTTP wire. The base is libyaml parsing the same file."""
    folder = Path(tempfile.mkdtemp(prefix="toolparity-benchmark-"))
    atexit.register(shutil.rmtree, folder)
    for wire, (body, stream) in traffic.JSON_WIRES.items():
        for streamed, answer in ((False, body()), (True, stream())):
            path = cassette(folder, wire, answer, streamed)
            jobs = {
                BASE: partial(_parse, path),
                "vcrpy": partial(FilesystemPersister.load_cassette, path, yamlserializer),
                "ours": partial(_load, path),
                "ours, provenance alone": partial(_provenance, path),
                "ours, a second time": partial(files.load, path),
            }
            what = f"cassette of {ROUNDS} {'streamed' if streamed else 'plain'} answers"
            yield Case(wire, what, BASE, jobs)


def cassette(root: Path, wire: str, answer: bytes, stream: bool) -> Path:
    """Write a cassette like the recorder and return its path. The conversation grows with each round."""
    surface = SURFACES[wire]
    told = Provenance(
        origin="emulated",
        date="2026-01-01",
        provider=surface.provider,
        wire=wire,
        stream=stream,
        recorder="benchmarks",
        model=surface.model,
        surface=wire,
        sdk=surface.sdk,
        sdk_version="0",
        scenario="benchmark",
        scenario_hash="0",
        ran_by="benchmarks",
    )
    path = path_for(surface, "benchmark", stream, root)
    save(path, [_interaction(surface.base, number, answer, stream) for number in range(ROUNDS)], told)
    return path


def _interaction(base: str, number: int, answer: bytes, stream: bool) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Tell me more of the weather, part {n}."} for n in range(number + 1)]
    kind = "text/event-stream" if stream else "application/json"
    return {
        "request": {
            "method": "POST",
            "uri": f"{base}/answers",
            "headers": {"accept": ["application/json"], "content-type": ["application/json"], "host": ["provider"]},
            "body": json.dumps({"model": "m", "messages": messages, "stream": stream}),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": [kind], "date": ["Thu, 01 Jan 2026 00:00:00 GMT"], "server": ["provider"]},
            "body": {"string": answer},
        },
    }


def _parse(path: Path) -> Any:
    with open(path, "rb") as file:
        return yaml.load(file, Loader=yaml.CSafeLoader)


def _load(path: Path) -> tuple[Any, Any]:
    files.forget()
    loaded = files.load(path)
    return loaded.requests, loaded.responses


def _provenance(path: Path) -> Any:
    files.forget()
    return files.provenance_of(path)
