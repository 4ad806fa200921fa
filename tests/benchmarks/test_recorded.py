"""The benchmarks of recorded traffic and of other libraries, on small made recordings."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fast_paths, growth, instructions, minimum, peers, recorded, renew, writing
from benchmarks.__main__ import _rows
from benchmarks.cases import Case
from benchmarks.measure import Times
from tests.support.traffic import chat_body, chat_stream, row

pytestmark = pytest.mark.page("benchmarks", "docs/generate/speed.py", "docs/pages/benchmarks.md")
STREAM = chat_stream("look", "find")


def _written(folder: Path, rows: list[Any]) -> Path:
    with gzip.open(folder / "openai.chat.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)
    return folder


def _recordings(folder: Path) -> Path:
    rows = [
        row(chat_body("look")),
        row(chat_body("find"), status=500),
        row(STREAM, stream=True, chunk_lengths=[100, len(STREAM) - 100]),
        row(STREAM, stream=True),
        row("data: {}\n\n", stream=True),
    ]
    return _written(folder, rows)


def test_a_stream_comes_in_its_recorded_pieces_or_in_one_event_a_piece_and_errors_are_left_out(tmp_path: Path) -> None:
    body, known, unknown = recorded.exchanges(_recordings(tmp_path), "openai.chat")
    assert [each.stream for each in (body, known, unknown)] == [False, True, True]
    assert [len(piece) for piece in known.pieces] == [100, len(STREAM) - 100]
    assert b"".join(unknown.pieces).decode() == STREAM
    assert all(piece.count(b"data:") == 1 for piece in unknown.pieces)
    counts = [("bodies", 1), ("streams", 2), ("streams in recorded pieces", 1)]
    assert [(each.kind, each.count) for each in recorded.ratios(tmp_path, "openai.chat", 1)] == counts


def test_the_share_of_the_fast_paths_is_of_bodies_and_events_that_no_general_reader_parses(tmp_path: Path) -> None:
    bodies, events = fast_paths.shares(_recordings(tmp_path), "openai.chat")
    assert (bodies.kind, bodies.recordings, bodies.total, bodies.percent) == ("bodies", 1, 1, 100)
    assert (events.kind, events.recordings, events.percent) == ("events", 2, 100)
    chunk = 'data: {"choices": [{"index": 0, "delta": {"content": "a"}%s}]}\n\n'
    rows = [row(chunk % "" * 3 + chunk % ', "unheard_of": 1', stream=True), row('{"choices": [], "unheard_of": 1}')]
    bodies, events = fast_paths.shares(_written(tmp_path, rows), "openai.chat")
    assert (bodies.percent, events.percent) == (0, 75)


def test_the_least_cost_is_measured_for_bodies_and_for_streams_in_known_pieces(tmp_path: Path) -> None:
    bodies, streams = minimum.minima(_recordings(tmp_path), "openai.chat", 2)
    assert (bodies.kind, bodies.count, bodies.framed) == ("bodies", 1, None)
    assert (streams.kind, streams.count) == ("streams", 1)
    assert all(row.typed > 0 and row.created > 0 for row in (bodies, streams))


def test_a_ratio_compares_whole_times_and_leaves_out_refused_responses(tmp_path: Path) -> None:
    body, stream, _ = recorded.exchanges(_recordings(tmp_path), "openai.chat")
    taken = dict.fromkeys(peers.READERS, [None] * 4) | {
        peers.PARSED: [100.0, 100.0, 100.0, 100.0],
        "toolparity": [110.0, 110.0, 120.0, 120.0],
        "LiteLLM": [300.0, 300.0, None, None],
    }
    rows = {(each.kind, each.reader): each for each in peers.figures([body, body, stream, stream], taken)}
    assert rows["bodies", "LiteLLM"].ratio == pytest.approx(300 / 110)
    assert ("streams", "LiteLLM") not in rows


def test_the_timer_reads_a_response_from_memory(tmp_path: Path) -> None:
    body, *_ = recorded.exchanges(_recordings(tmp_path), "openai.chat")
    lines = "".join(json.dumps(ask) + "\n" for ask in peers.asks([body]))
    (taken,) = peers.times("toolparity", lines)
    assert taken is not None
    assert taken > 0


def test_a_library_whose_program_fails_is_named_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(peers.READERS, "broken", ("unheard_of", None))
    with pytest.raises(RuntimeError, match=r"(?s)broken: .* ended with 1:.*No module named 'unheard_of'"):
        peers.times("broken", "{}\n")


def test_the_jobs_that_are_counted_read_the_same_calls_and_write_requests_on_every_wire() -> None:
    jobs = instructions.jobs("openai.chat", instructions.traffic_of("openai.chat"))
    assert len(jobs["body"]().calls) == len(jobs["stream"]().calls) == 3  # type: ignore[attr-defined]
    for wire in writing.PROVIDERS:
        assert {"request", "request base"} <= instructions.jobs(wire, None).keys()


def test_a_ratio_that_grew_by_more_than_a_tenth_or_is_not_stored_is_reported() -> None:
    stored = {"a": 2.0, "b": 2.0}
    assert instructions.slowed({"a": 2.19, "b": 2.21, "c": 1.0}, stored) == ["b", "c"]


def test_growth_compares_the_cost_of_one_more_unit_after_each_doubling() -> None:
    assert growth.growth([1, 2, 4], [10 + 3, 10 + 6, 10 + 12]) == 1
    assert growth.growth([1, 2, 4, 8], [10 + 1, 10 + 4, 10 + 16, 10 + 64]) == 2


def test_growth_is_measured_for_every_entry_point_on_work_that_has_that_size() -> None:
    for name, entry in growth.entries().items():
        small, large = (entry.job(entry.material(units)) for units in (60, 120))
        small()
        if name.endswith((": body of calls", ": stream of calls")):
            assert len(large().calls) == 120 // (1 + ("stream" in name)), name  # type: ignore[attr-defined]


def test_every_step_of_the_renewal_is_a_command_that_writes_its_file(tmp_path: Path) -> None:
    assert {step.name for step in renew.STEPS} == {path.stem for path in renew.RESULTS.glob("*.json")}
    for step in renew.STEPS:
        command = step.command(Path("recordings"), tmp_path, step.fast)
        assert str(tmp_path / f"{step.name}.json") in command
        module = command[2] if command[2] != "benchmarks" else "benchmarks.__main__"
        shown = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
        assert step.size in shown.stdout
    into = tmp_path / "new"
    options = [str(tmp_path), "--fast", "--only", "turns", "--into", str(into)]
    subprocess.run([sys.executable, "-m", "benchmarks.renew", *options], capture_output=True, check=True)
    assert [path.name for path in into.iterdir()] == ["turns.json"]


def test_the_spread_is_the_ratio_in_each_fifth_of_the_run() -> None:
    times = Times({"base": [1.0] * 10, "ours": [2.0, 9.0, 3.0, 9.0, 4.0, 9.0, 5.0, 9.0, 9.0, 6.0]})
    assert times.ratio("ours", "base") == 2.0
    assert times.spread("ours", "base") == (2.0, 6.0)


def test_the_goals_are_those_of_the_wire() -> None:
    case = Case("xai.grpc", "request of 50 rounds", writing.BASE, {"ours": lambda: None})
    for seconds, holds in ((6.9, True), (7.1, False)):
        (row,) = _rows(case, Times({"ours": [seconds], writing.BASE: [1.0]}))
        assert (row.goal, row.holds, row.ratio) == ("< 7.0", holds, seconds)
