"""`toolparity audit part` and `merge`, and `toolparity.bulk`: an audit from the audits of the parts of its input."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.bulk.corpus import EXCHANGES, TABLE, reports, run
from tests.support.optional import package
from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, row, write_rows
from toolparity import bulk
from toolparity.audit.bulk import shares
from toolparity.audit.bulk.part_files import PartWriter
from toolparity.audit.errors import InvalidPart
from toolparity.audit.summary import audit_part
from toolparity.cassettes.sources import Problem, split_files
from toolparity.normalizer import json_codec

DOCS = Path(__file__).resolve().parents[3] / "docs" / "pages" / "bulk.md"
_DEFAULT = bulk.AuditOptions()
OPTIONS = bulk.AuditOptions(policy="first", limit=1)


@pytest.fixture(scope="module")
def local(corpus: Path) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "90")
        return reports(corpus.parent, corpus, "--policy", "first", "--limit", "1")


def failure(*args: str | Path) -> str:
    """Return the only line on standard error of an audit that fails."""
    result = run(*args)
    assert result.exit_code == 4, result.output
    (line,) = result.stderr.splitlines()
    return line


def test_a_part_takes_the_place_of_no_device_or_pipe(corpus: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, Path("/dev/full")):
        assert "it is not a regular file" in failure("part", "-o", target, corpus)
        assert not target.is_file()


def shared(folder: Path, count: int, *args: str | Path) -> list[Path]:
    """Write the part files of all shares of an input."""
    parts = [folder / f"{number}.part" for number in range(1, count + 1)]
    for number, part in enumerate(parts, 1):
        run("part", "--share", f"{number}/{count}", "--jobs", "1", *args, "-o", part)
    return parts


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("count", [1, 2, 5, 23])
def test_shares_of_an_input_give_the_local_audit(
    corpus: Path, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr(shares, "PART_BYTES", 1000)
    options, whole = ("--policy", "first", "--limit", "1"), tmp_path / "whole.part"
    parts = shared(tmp_path, count, corpus, *options)
    random.Random(count).shuffle(parts)
    run("part", corpus, *options, "--jobs", "1", "-o", whole)  # which also cuts compressed lines
    assert reports(tmp_path, "merge", *parts) == reports(tmp_path, "merge", whole) == local
    findings = json.loads(local["json"])["conversations"]["wires"]["openai.chat"]["findings"]
    assert findings["dropped-in-fact"] >= 4, "conversations of the corpus end in other files"


def written(path: Path, *pieces: bulk.Part, options: bulk.AuditOptions = _DEFAULT) -> Path:
    with path.open("wb") as file, PartWriter(file, options) as writer:
        for piece in pieces:
            if isinstance(piece, Problem):
                writer.unread(piece)
            else:
                writer.add(piece, audit_part(piece, None, options.policy, options.limit))
    return path


@examples(60, plain=8)
@given(st.integers(100, 3000), st.integers(1, 7), st.integers(0, 1_000_000))
def test_any_partition_in_any_order_gives_the_local_audit(
    corpus: Path, local: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, size: int, count: int, seed: int
) -> None:
    """Each piece of the input, also one that is shorter than a line, is in any of the part files, or a result."""
    folder, chance, problems = tmp_path_factory.mktemp("any"), random.Random(seed), list[str]()
    pieces = pickle.loads(pickle.dumps(list(bulk.split([str(corpus)], OPTIONS, size))))
    results: list[bytes | Path] = [bulk.map_part(pieces.pop(chance.randrange(len(pieces))), OPTIONS)]
    homes: list[list[bulk.Part]] = [[] for _ in range(count)]
    for piece in pieces:
        chance.choice(homes).append(piece)
    results += [written(folder / f"{number}.part", *home, options=OPTIONS) for number, home in enumerate(homes)]
    chance.shuffle(results)
    report = bulk.merge(results, on_problem=lambda problem, count: problems.append(f"{problem.location} {count}"))
    assert json_codec.encode(report.json()) + b"\n" == local["json"]
    assert (report.html(), report.text(90).encode()) == (local["html"], local["text"])
    assert f"{corpus}/more/day1.jsonl:3 1" in problems


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
    assert result.stdout == f"{EXCHANGES}\n"


@pytest.mark.thorough
def test_the_example_for_ray_gives_the_local_report(corpus: Path, tmp_path: Path) -> None:
    package("ray", extra="dev")
    example = DOCS.read_text().split("```python\n# Ray Data\n")[1].split("```")[0]
    script = tmp_path / "example.py"
    script.write_text(example.replace('["s3://bucket/logs/"]', f"[{str(corpus)!r}], part_bytes=3000"))
    command = [sys.executable, str(script)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert result.stdout == bulk.merge(map(bulk.map_part, bulk.split([str(corpus)]))).text()


def test_a_part_file_has_no_bodies(tmp_path: Path) -> None:
    secret = "x" * 200 + "the end of a long text"
    request = {"messages": [{"role": "user", "content": secret}]}
    run("part", write_rows(tmp_path / "r.jsonl", row(chat_body(), request=request)), "-o", tmp_path / "a.part")
    with zipfile.ZipFile(tmp_path / "a.part") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert (b"x" * 160 in content, b"the end" in content) == (True, False)


@pytest.fixture
def cut(tmp_path: Path) -> list[Path]:
    """Three parts of one file, each with a third of its bytes."""
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"))] * 9)
    pieces = list(split_files([str(path)], path.stat().st_size // 3 + 1))
    assert len(pieces) == 3
    return [written(tmp_path / f"{n}.part", piece) for n, piece in enumerate(pieces)]


def test_ranges_that_are_missing_repeated_or_of_a_changed_file_are_errors(
    corpus: Path, cut: list[Path], tmp_path: Path
) -> None:
    groups = list(split_files([str(corpus / "more" / TABLE)], 100))
    assert len(groups) == 4
    run("part", tmp_path / "r.jsonl", "-o", tmp_path / "all.part")
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"))] * 12)
    last = written(tmp_path / "last.part", *list(split_files([str(path)], path.stat().st_size // 3 + 1))[2:])
    for parts, *messages in (
        (cut[1:], "r.jsonl: no part holds the range from 0 to "),
        (cut[:2], "to its end (was a part file forgotten?)"),
        ([cut[2], cut[0]], "r.jsonl: no part holds the range from "),
        ([*cut, cut[1]], "1.part: ", "1.part holds the same range of ", "was a part passed twice?"),
        ([tmp_path / "all.part", cut[0]], "holds the same range of "),
        ([tmp_path / "all.part", cut[2]], "holds the same range of "),
        ([*cut[:2], last], "changed between the parts: "),
        ([written(tmp_path / "groups.part", *groups[:3])], "no part holds the range from 3 to its end"),
    ):
        line = failure("merge", *parts)
        assert [message for message in messages if message not in line] == [], line
    one, two = (part.read_bytes() for part in cut[:2])
    for results, message in (([one, two, two], "result 3: result 2 holds the same range"), ([], "no part files")):
        with pytest.raises(InvalidPart, match=message):
            bulk.merge(results)


def test_members_that_contradict_each_other_are_an_error(tmp_path: Path) -> None:
    whole = tmp_path / "whole.part"
    run("part", write_rows(tmp_path / "r.jsonl", row(chat_body("f"))), "-o", whole)
    audits = "the number of its audits is not that of its ranges"
    changes: list[tuple[str, Callable[[bytes], bytes], str]] = [
        ("records", lambda data: data + data, "it has more records than its ranges"),
        ("records", lambda data: b"", "it has fewer records than its ranges"),
        ("audits", lambda data: data + b"\n" + data, audits),
        ("audits", lambda data: b"", audits),
    ]
    for member, change, message in changes:
        damaged = tmp_path / "damaged.part"
        with zipfile.ZipFile(whole) as old, zipfile.ZipFile(damaged, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                new.writestr(name, change(data) if name.partition(".")[0] == member else data)
        line = failure("merge", damaged)
        assert f"damaged: {message} (pass files that toolparity audit part wrote)" in line


def test_a_missing_share_a_repeated_one_and_one_of_another_input_are_errors(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(3):
        write_rows(tmp_path / "in" / f"{n}.jsonl", row(chat_body("f")))
    one, two, three = shared(tmp_path, 3, tmp_path / "in")
    assert failure("merge", one, three) == "toolparity: 1 of 3 shares are missing: 2/3 (pass every part file)"
    assert "share 2/3 was passed twice: also in " in failure("merge", one, two, three, two)
    write_rows(tmp_path / "in" / "3.jsonl", row(chat_body("f")))
    run("part", "--share", "3/3", tmp_path / "in", "-o", three)
    assert "share 3/3 of another input than the other shares" in failure("merge", one, two, three)


def test_parts_with_other_options_are_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f")))
    for name, policy in (("a", "all"), ("b", "first")):
        run("part", path, "--policy", policy, "-o", tmp_path / f"{name}.part")
    line = failure("merge", tmp_path / "a.part", tmp_path / "b.part")
    assert ("b.part: made with policy first, but " in line, "a.part with policy all" in line) == (True, True)


def test_a_file_that_is_not_a_whole_part_file_of_this_version_is_refused(cut: list[Path], tmp_path: Path) -> None:
    part = tmp_path / "x.part"
    for content in (b"", b"text", b"PK\x05\x06" + bytes(18), cut[0].read_bytes()[:-100]):
        part.write_bytes(content)
        assert "x.part: not a part file, or damaged: " in failure("merge", part)
    assert "missing: the file does not exist" in failure("merge", tmp_path / "missing")
    with zipfile.ZipFile(part, "w") as archive:
        archive.writestr("part.json", '{"format":"toolparity-audit-part","version":3,"toolparity":"9.0","more":1}')
    assert "x.part: format toolparity-audit-part 3 of toolparity 9.0 is not supported" in failure("merge", *cut, part)


def test_a_path_that_is_passed_twice_is_an_error_and_leaves_the_old_part(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", row(chat_body("f")))
    (tmp_path / "a.part").write_bytes(b"old")
    line = failure("part", path, path, "-o", tmp_path / "a.part")
    assert line.endswith("in.jsonl: the input contains this file twice (pass each path once)")
    assert (tmp_path / "a.part").read_bytes() == b"old"
    assert {one.name for one in tmp_path.iterdir()} == {"in.jsonl", "a.part"}


def test_a_share_that_cannot_be_and_places_that_cannot_be_read_have_their_exit_codes(
    corpus: Path, tmp_path: Path
) -> None:
    part = tmp_path / "a.part"
    for share in ("0/3", "4/3", "1", "a/b", "1/0"):
        result = run("part", "--share", share, tmp_path, "-o", part)
        assert (result.exit_code, "is not a share such as 3/16" in result.stderr) == (2, True), share
    assert run("part", corpus, "-o", part, "--jobs", "1").exit_code == 4
    assert run("merge", part).exit_code == 4
    assert run("merge", part, "--fail-on", "dropped-in-fact").exit_code == 1
