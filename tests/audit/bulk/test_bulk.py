"""`toolparity.bulk`: the audit as functions, on any engine."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.audit.bulk.corpus import reports, run, write_corpus
from tests.support.optional import package
from toolparity import bulk
from toolparity.audit.errors import InvalidPart
from toolparity.normalizer import json_codec

DOCS = Path(__file__).resolve().parents[3] / "docs" / "pages" / "bulk.md"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "logs")


def test_results_in_any_order_give_the_local_report(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    options = bulk.AuditOptions(policy="first", limit=1)
    parts = pickle.loads(pickle.dumps(list(bulk.split([str(corpus)], options, 2000))))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda part: bulk.map_part(part, options), parts))
    random.Random(1).shuffle(results)
    problems: list[str] = []
    report = bulk.merge(results, on_problem=lambda problem, count: problems.append(f"{problem.location} {count}"))
    local = reports(tmp_path, corpus, "--policy", "first", "--limit", "1")
    assert json_codec.encode(report.json()) + b"\n" == local["json"]
    assert report.html() == local["html"]
    assert report.text(90).encode() == local["text"]
    assert f"{corpus}/more/day1.jsonl:3 1" in problems


def test_part_files_and_results_can_be_merged_together(corpus: Path, tmp_path: Path) -> None:
    run("part", corpus / "day2.jsonl", "-o", tmp_path / "a.part", "--jobs", "1")
    rest = [str(path) for path in corpus.iterdir() if path.name != "day2.jsonl"]
    report = bulk.merge([*map(bulk.map_part, bulk.split(rest)), tmp_path / "a.part"])
    assert report.json() == json.loads(run(corpus, "--json", "--jobs", "1").stdout)


def test_a_missing_result_is_an_error(corpus: Path) -> None:
    results = [bulk.map_part(part) for part in bulk.split([str(corpus / "day2.jsonl")], part_bytes=2000)]
    for given, message in (
        (results[1:], "no part holds the range"),
        ([*results[:2], results[1]], "result 3: result 2 holds the same range"),
        ([], "no part files"),
    ):
        with pytest.raises(InvalidPart, match=message):
            bulk.merge(given)


def test_many_results_keep_few_files_open(corpus: Path) -> None:
    """The limit of open files is below the number of results."""
    script = f"""
import resource
from toolparity import bulk
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
results = [bulk.map_part(part) for part in bulk.split([{str(corpus)!r}], part_bytes=150)]
assert len(results) > 80
print(bulk.merge(results).audit.exchanges)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "73\n"


@pytest.mark.thorough
def test_the_example_for_ray_gives_the_local_report(corpus: Path, tmp_path: Path) -> None:
    package("ray", extra="dev")
    example = DOCS.read_text().split("```python\n# Ray Data\n")[1].split("```")[0]
    script = tmp_path / "example.py"
    script.write_text(example.replace('["s3://bucket/logs/"]', f"[{str(corpus)!r}], part_bytes=3000"))
    command = [sys.executable, str(script)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert result.stdout == bulk.merge(map(bulk.map_part, bulk.split([str(corpus)]))).text()
