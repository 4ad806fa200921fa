"""Every format: the same bytes for the same results, in any process; nothing of hostile results comes through raw."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from toolparity.reports.formats import FORMATS, render
from toolparity.reports.results import GeneratedKills, Report

from .golden import golden, result, run, verdict

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import hashlib, json, sys
from msgspec.structs import replace
from toolparity.reports.formats import FORMATS, render
from toolparity.reports.results import Report
from tests.reports.golden import golden

made = golden()
report = Report(made, replace(made, results=made.results[3:]), [replace(made, date="2025-01-01")])
json.dump({name: hashlib.sha256(render(name, report)).hexdigest() for name in FORMATS}, sys.stdout)
"""


def digests(seed: str) -> dict[str, str]:
    """Format -> the digest of the golden report, as another process makes it."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TZ": f"UTC+{seed}", "LC_ALL": "C"}
    command = [sys.executable, "-c", PROGRAM]
    made = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True, text=True)
    found: dict[str, str] = json.loads(made.stdout)
    return found


def test_every_format_is_the_same_bytes_in_any_process() -> None:
    made = golden()
    report = Report(made, replace(made, results=made.results[3:]), [replace(made, date="2025-01-01")])
    here = {name: hashlib.sha256(render(name, report)).hexdigest() for name in FORMATS}
    assert digests("1") == here
    assert digests("2") == here


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_utf_8_without_controls_and_marks_of_direction(name: str) -> None:
    text = render(name, Report(golden())).decode("utf-8")
    hidden = {hex(ord(one)) for one in text if ord(one) < 32 or ord(one) in range(0x7F, 0xA0)} - {"0x9", "0xa"}
    assert hidden == set()
    if name != "json":  # there a reader has to see to it
        marks = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200F, 0x2028)
        assert not [hex(mark) for mark in marks if chr(mark) in text]


def test_every_format_can_show_unusual_runs() -> None:
    long = [result(verdict("fail", "x" * 300, effect="lost"), subject=f"{number}" * 300) for number in range(40)]
    for name, made in product(
        FORMATS,
        (
            replace(golden(), subjects=[], results=[], traffic=[], sources=[], kills=[], scenarios=[]),
            run(result(), result(subject="other")),
            run(result(verdict("unsupported")), result(verdict("unsupported"), subject="other")),
            run(result(verdict("error"))),
            run(*long),
        ),
    ):
        assert render(name, Report(made)), name


def test_the_pages_show_the_generated_known_bad_subjects() -> None:
    generated = GeneratedKills(2000, equivalents={"drop:a.b": "default"}, survivors=["alter:a.c"])
    for name in ("markdown", "html"):
        text = render(name, Report(replace(golden(), generated=generated))).decode("utf-8")
        assert "1,998 of 2,000 generated known-bad subjects fail a law; 1 is equivalent" in text, name
