"""An answer of an emulated provider is never imported as an answer of a real one."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.cassettes.library.making import har, imported, made, rewritten, skipped, taken, written
from tests.support.traffic import chat_body
from tests.support.traffic import interaction as recorded
from toolparity.cassettes import emulation_marker
from toolparity.cassettes.library import RECORDED, find, load
from toolparity.cassettes.library.importer import Imported, Skipped
from toolparity.cassettes.surfaces import SURFACES


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
@pytest.mark.parametrize("end", [".yaml", ".stream.yaml"])
def test_emulated_cassettes_of_every_surface_are_rejected(tmp_path: Path, at: Any, end: str) -> None:
    found = skipped(RECORDED / at.provider / at.wire / f"single-call{end}", into=tmp_path / "into")
    assert found.fault
    assert "the response comes from an emulated provider" in found.what
    assert "copy the cassette" in found.hint
    assert find(tmp_path / "into") == []


def test_error_responses_of_the_emulated_grpc_service_are_rejected(tmp_path: Path) -> None:
    refused = [place.path for place in find() if place.wire == "xai.grpc" and "error" in str(place.name)]
    assert refused
    assert all(isinstance(one, Skipped) for one in taken(*refused, into=tmp_path / "into"))
    assert find(tmp_path / "into") == []


@pytest.mark.parametrize(
    ("end", "pack", "incomplete"),
    [("", bytes, False), (".gz", gzip.compress, True), (".bz2", bz2.compress, True), (".xz", lzma.compress, True)],
)
def test_an_emulated_provenance_is_rejected_without_markers_compressed_or_incomplete(
    tmp_path: Path, end: str, pack: Any, incomplete: bool
) -> None:
    def unmark(content: dict[str, Any]) -> None:
        if incomplete:
            del content["metadata"]["toolparity"]["digest"]
        for one in content["interactions"]:
            del one["response"]["headers"][emulation_marker.HEADER]

    path = tmp_path / f"ours.yaml{end}"
    path.write_bytes(pack(rewritten(made(tmp_path / "ours"), unmark, honest=not incomplete).read_bytes()))
    assert "the response comes from an emulated provider" in skipped(path).what


@pytest.mark.parametrize(("marker", "real"), [("emulated", False), ("unknown", False), ("live", True)])
def test_the_origin_marker_is_respected_in_other_formats(tmp_path: Path, marker: str, real: bool) -> None:
    (found,) = taken(har(tmp_path / "a.har", X_Toolparity_Origin=marker))
    assert isinstance(found, Imported) is real
    if isinstance(found, Imported):
        assert list(emulation_marker.contradictions("imported", load(found.path).responses)) == []


def test_real_answers_are_imported_from_the_same_file_and_from_a_library(tmp_path: Path) -> None:
    ours, theirs = recorded(chat_body("f"), x_toolparity_origin="emulated"), recorded(chat_body("g"))
    left, took = taken(written(tmp_path / "a.yaml", ours, theirs))
    assert isinstance(left, Skipped)
    assert isinstance(took, Imported)
    assert took.interactions == 1
    assert imported(made(tmp_path / "ours", origin="live")).provenance.origin == "imported"
