"""The metrics: the text format, and labels that traffic cannot break or multiply."""

from __future__ import annotations

import re

from toolparity.audit.proxy.judgement import JudgedFinding, Judgement
from toolparity.audit.proxy.metrics import Metrics

_LINE = re.compile(r'[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)*\})? [0-9.e+-]+')


def _judgement(**members: object) -> Judgement:
    judgement = Judgement(1, 0.0, 0.0, "POST", "/", "complete", 200, 0.3)
    for name, value in members.items():
        setattr(judgement, name, value)
    return judgement


def test_every_line_is_a_comment_or_a_sample() -> None:
    metrics = Metrics()
    metrics.gauges = {"open_exchanges": ("Exchanges that are passing.", lambda: 3.0)}
    metrics.recorded = {"recorded": 2}
    metrics(_judgement(wire="openai.chat", input_tokens=5, findings=[JudgedFinding('a"\n\\b', "error", "")]))
    lines = metrics.text().splitlines()
    assert all(line.startswith("# ") or _LINE.fullmatch(line) for line in lines)
    assert "toolparity_proxy_open_exchanges 3" in lines
    assert 'toolparity_proxy_recorded_total{result="recorded"} 2' in lines
    assert 'toolparity_proxy_tokens_total{wire="openai.chat",direction="input"} 5' in lines


def test_a_histogram_counts_up_to_each_bound_and_labels_from_traffic_are_limited() -> None:
    metrics = Metrics()
    for seconds in (0.1, 0.3, 1000.0):
        metrics(_judgement(waited=seconds))
    counts = dict(re.findall(r'_bucket\{le="(.+?)"\} (\d+)', metrics.text()))
    assert [counts[bound] for bound in ("0.05", "0.1", "0.5", "120", "+Inf")] == ["0", "1", "2", "2", "3"]
    for number in range(3000):
        metrics(_judgement(findings=[JudgedFinding(f"code-{number}", "error", "")]))
    samples = [line for line in metrics.text().splitlines() if line.startswith("toolparity_proxy_findings_total{")]
    assert len(samples) <= 1001
    assert sum(int(line.rpartition(" ")[2]) for line in samples) == 3000
