"""A corpus with a bit of everything that an audit reads, for tests that cut it into parts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.audit.conversations.test_audit import conversation
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from toolparity.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "cassettes" / "examples"
#: The file that can be cut, as its conversations can.
LINES = "day10.jsonl"


def write_corpus(folder: Path) -> Path:
    """Write cassettes, JSON lines (plain and compressed), damaged files, and files without traffic.

    Conversations begin in one file and end in another, in the order of a walk: day2, day9, day10, then more/.
    """
    (folder / "more").mkdir(parents=True)
    shutil.copytree(EXAMPLES, folder / "more" / "cassettes")
    kept = [[first, second] for n in range(12) for first, second in [conversation(f"c{n}", kept=n % 3)]]
    write_rows(folder / "day2.jsonl", *_noise(3), *(first for first, _ in kept[:6]))
    write_rows(folder / "day9.jsonl.gz", *(second for _, second in kept[:3]), *_noise(2), kept[6][0])
    write_rows(folder / LINES, *_mixed(kept[7:10]), *(second for _, second in kept[3:5]), *(r for r, _ in kept[10:]))
    write_rows(folder / "more" / "day1.jsonl", kept[5][1], kept[6][1], "{broken", *(r for _, r in kept[10:]))
    (folder / "more" / "settings.json").write_text('{"theme": "dark"}')
    (folder / "more" / "torn.jsonl.gz").write_bytes((folder / "day9.jsonl.gz").read_bytes()[:-9])
    return folder


def _noise(count: int) -> list[dict[str, Any]]:
    cut = row(chat_stream("f", end=False), stream=True)
    wrong = row(chat_body("f", arguments="[1]"), request={"messages": [{"role": "user", "content": "\ud83d"}]})
    return [cut, wrong, row("<html>"), row("{}", wire="google"), row(chat_body("f", "g"))] * count


def _mixed(conversations: list[list[dict[str, Any]]]) -> list[dict[str, Any] | str]:
    return [item for both in conversations for item in ("", *both, "{broken", "  ", "[]", *_noise(1))]


def run(*args: str | Path) -> Result:
    """Run `toolparity audit`."""
    return CliRunner().invoke(main, ["audit", *map(str, args)])


def reports(folder: Path, *args: str | Path) -> dict[str, bytes]:
    """Return text, JSON, page, standard error and exit code of an audit."""
    page = folder / "page.html"
    text, data = run(*args, "--html", page), run(*args, "--json")
    json.loads(data.stdout)
    results = {"text": text.stdout_bytes, "json": data.stdout_bytes, "html": page.read_bytes()}
    return results | {"stderr": text.stderr_bytes, "code": str(text.exit_code).encode()}
