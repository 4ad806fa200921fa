"""Which cases a run takes: shares, pages, lanes and orders (tests/support/selection.py), and what it must prove."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support import proofs, selection
from toolparity.normalizer.wires.registry import WIRES

IDS = [f"tests/test_x.py::test_y[{number}]" for number in range(500)]
FILES = sorted((selection.ROOT / "tests").rglob("test_*.py"))


class Marker:
    def __init__(self, *args: str, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class Item:
    """A case with marks, as far as the selection looks at it."""

    def __init__(self, nodeid: str, **markers: Marker) -> None:
        self.nodeid, self.path = nodeid, selection.ROOT / nodeid.partition("::")[0]
        self._markers = markers

    def get_closest_marker(self, name: str) -> Marker | None:
        return self._markers.get(name)


def taken(*items: Item, **options: Any) -> list[str]:
    return [item.nodeid for item in selection.taken(cast(list[pytest.Item], list(items)), **options)]


def left_out(*items: Item, pages: selection.Share | None = None) -> list[str]:
    return sorted({item.nodeid for item in items} - set(taken(*items, pages=pages)))


def test_each_exhaustive_case_is_in_exactly_one_share() -> None:
    items = [
        *(Item(f"tests/test_a.py::test_x[{number}]", thorough=Marker(keep=1)) for number in range(500)),
        *(Item(f"tests/test_b.py::test_y[{number}]", page=Marker(), thorough=Marker(keep=2)) for number in range(9)),
        Item("tests/test_c.py::test_always"),
    ]
    shares = [taken(*items, thorough=True, share=selection.share(f"{number}/7")) for number in range(1, 8)]
    plain, pages = taken(*items), taken(*items, pages=selection.Share(1, 1))
    assert [len(plain), len(pages)] == [2, 4]
    parts = [taken(*items, pages=selection.Share(number, 3)) for number in (1, 2, 3)]
    assert sorted(set().union(*parts)) == sorted(pages)
    assert set.intersection(*map(set, parts)) == set(plain)
    assert sorted(id for ids in (pages, *shares) for id in ids) == sorted(taken(*items, thorough=True))
    assert all(40 < len(ids) < 100 for ids in shares)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/2"])
def test_what_is_not_a_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a share is K/N"):
        selection.share(text)


def test_a_page_runs_if_a_source_or_its_own_file_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Item("tests/test_page.py::test_a", page=Marker("docs/page.md", "conformance/skeletons"))
    for changed, runs in (
        ([], False),
        (["docs/page.md"], True),
        (["conformance/skeletons/go/main.go"], True),
        (["tests/test_page.py"], True),
        (["docs/page.md.orig", "conformance/skeletons2/x"], False),
    ):
        monkeypatch.setattr(selection, "changed_paths", lambda paths=tuple(changed): paths)
        assert (left_out(page) == []) is runs, changed
    monkeypatch.setattr(selection, "changed_paths", lambda: ())
    assert left_out(page, pages=selection.Share(1, 1)) == []


def test_each_source_of_a_page_exists() -> None:
    marks = re.compile(r"mark\.(?:page|service)\(([^)]*)\)")
    named = {
        source
        for path in FILES
        for arguments in marks.findall(path.read_text("utf-8"))
        for source in re.findall(r'"([^"]+)"', arguments)
        if path != Path(__file__)
    }
    assert len(named) > 40
    assert [source for source in sorted(named) if not (selection.ROOT / source).exists()] == []


def of_wire(wire: str, rest: object, **markers: Marker) -> Item:
    """A case with the parameters ``wire`` and ``rest``."""
    item = Item(f"tests/test_x.py::test_y[{wire}-{rest}]", **markers)
    item.callspec = type("Callspec", (), {"params": {"wire": wire, "rest": rest}})  # type: ignore[attr-defined]
    return item


def test_the_plain_run_keeps_some_cases_of_each_group_and_three_wires_of_cases_that_differ_in_it_alone() -> None:
    items = [of_wire(wire, n, thorough=Marker(keep=2, per="{wire}")) for wire in ("a", "b") for n in range(5)]
    kept = {item.nodeid for item in items} - set(left_out(*items))
    assert [sum(f"[{wire}-" in id for id in kept) for wire in ("a", "b")] == [2, 2]
    items = [of_wire(wire, mode) for wire in WIRES for mode in ("plain", "stream")]
    kept = {item.nodeid for item in items} - set(left_out(*items))
    assert [sum(id.endswith(f"-{mode}]") for id in kept) for mode in ("plain", "stream")] == [3, 3]
    assert left_out(*(of_wire(wire, "plain", thorough=Marker(keep=9)) for wire in WIRES)) == []


def test_each_file_is_in_one_lane_and_lanes_have_about_equally_many() -> None:
    for workers in (1, 2, 3, 8):
        lanes = Counter(selection.lane(path, workers) for path in FILES)
        assert lanes.keys() == set(range(workers))
        assert max(lanes.values()) < 1.5 * len(FILES) / workers


def test_an_order_follows_from_its_seed_and_keeps_files_together() -> None:
    def order(seed: str) -> list[str]:
        items = [Item(f"tests/test_{file}.py::test_{number}") for file in "abc" for number in range(4)]
        selection.shuffle(cast(list[pytest.Item], items), seed)
        return [item.nodeid for item in items]

    assert order("1") == order("1") != order("2")
    files = [id.partition("::")[0] for id in order("1")]
    assert sum(one != other for one, other in pairwise(files)) == 2


def test_cases_prove_what_their_names_and_files_state() -> None:
    assert proofs.proved_by("tests/normalizer/failures/test_index.py::test_IDX_01_a_missing_index[openai.chat]") == {
        "IDX-01"
    }
    assert proofs.proved_by("tests/normalizer/failures/test_index.py::test_helpers") == set()
    assert proofs.proved_by("tests/normalizer/history/test_x.py::test_IDX_01_IDX_02_x") == {"IDX-01", "IDX-02"}
    (fault, *_) = sorted(proofs.expected()["classes of faults"])
    assert proofs.proved_by(f"{fault}::test_x") == {fault}


def test_what_no_case_proves_is_missing() -> None:
    known = proofs.expected()
    assert all(known.values())
    everything = set().union(*known.values())
    assert [each.ids for each in proofs.missing(everything)] == [[]] * len(known)
    (laws, *_) = proofs.missing(everything - {"law order"})
    assert laws == ("laws", ["law order"], len(known["laws"]))
