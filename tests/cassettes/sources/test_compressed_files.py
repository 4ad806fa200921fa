"""Compressed files are read like plain ones."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.traffic import chat_body, chat_stream, row
from toolparity.cassettes.sources import Exchange, Problem, decompression, read

from .test_directories import run

try:
    zstd: Any = importlib.import_module("compression.zstd")
except ImportError:
    zstd = importlib.import_module("backports.zstd")

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".zstd": zstd.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compressed_file_is_read_like_the_plain_one(tmp_path: Path, suffix: str) -> None:
    recording = json.dumps(row(chat_body("f"))) + "\n"
    texts = {"r.jsonl": recording, "b.json": chat_body("f"), "s.sse": chat_stream("f"), "noname": recording}
    for name, text in texts.items():
        path = tmp_path / name / (name + suffix)
        path.parent.mkdir()
        path.write_bytes(COMPRESS[suffix](text.encode()))
        assert run("audit", path, "--json").exit_code == 0
        (found,) = read(path if name == "noname" else path.parent)  # also in a walk, where the name shows the format
        assert isinstance(found, Exchange)
        assert found.wire == "openai.chat"


def test_consecutive_and_skippable_frames_are_read_as_one_file(tmp_path: Path) -> None:
    line = json.dumps(row(chat_body("f"))).encode() + b"\n"
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "r.jsonl.zst").write_bytes(skipped + zstd.compress(line) + skipped + zstd.compress(line))
    assert len(list(read(tmp_path))) == 2


@pytest.mark.parametrize("suffix", COMPRESS)
def test_damaged_or_truncated_data_is_reported(tmp_path: Path, suffix: str) -> None:
    text = "".join(json.dumps(row(chat_body("f", id=str(Random(n).random())))) + "\n" for n in range(300)).encode()
    whole = COMPRESS[suffix](text)
    for data in (whole[:-9], whole[:60], whole[:40] + b"\xff\x00\xff\x00" * 6 + whole[64:]):
        path = tmp_path / f"r.jsonl{suffix}"
        path.write_bytes(data)
        problems = [found for found in read(path) if isinstance(found, Problem)]
        assert problems, "the damage is reported"
        assert run("audit", path).exit_code == 4


def test_without_the_library_the_error_names_the_extra_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.jsonl.zst"
    path.write_bytes(zstd.compress(json.dumps(row(chat_body("f"))).encode()))
    monkeypatch.setattr(decompression, "ZSTD", ("no.such", "backports.no_such"))
    for place in (path, tmp_path):
        result = run("normalize", place)
        assert result.exit_code == 4
        assert "compressed with zstd (pip install 'toolparity[cassettes]'" in result.stderr
