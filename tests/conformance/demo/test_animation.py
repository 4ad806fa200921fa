"""The animation of the README: a small animated WebP with a description."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import pytest

from docs.generate import ROOT, demo_animation

pytestmark = pytest.mark.service("conformance/demo")


def chunks(data: bytes, at: int = 12) -> Iterator[tuple[bytes, bytes]]:
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 4)[0]
        yield data[at : at + 4], data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 3], "little")


def test_the_animation_is_small_and_each_frame_is_inside_the_picture() -> None:
    data = demo_animation.FILE.read_bytes()
    assert len(data) < 1_500_000
    assert struct.unpack_from("<I", data, 4)[0] == len(data) - 8
    (first, header), (second, _), *frames = chunks(data)
    assert (first, second) == (b"VP8X", b"ANIM")
    width, height = number(header, 4) + 1, number(header, 7) + 1
    assert (width, height) == (demo_animation.WIDTH, demo_animation.HEIGHT)
    assert len(frames) > 20
    for name, frame in frames:
        assert name == b"ANMF"
        assert 2 * number(frame, 0) + number(frame, 6) + 1 <= width
        assert 2 * number(frame, 3) + number(frame, 9) + 1 <= height
        assert number(frame, 12) <= 1000 * demo_animation.LONGEST


def test_the_readme_shows_the_animation_and_describes_it() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (words,) = re.findall(r"!\[([^\]]*)\]\(docs/pages/demo\.webp\)", readme)
    assert len(words.split()) > 10
