"""A corpus with a bit of everything that an audit reads, for tests that cut it into parts."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.audit.conversations.test_audit import conversation
from tests.support.optional import package
from tests.support.programs import interruptible
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from toolparity.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "cassettes" / "examples"
#: The file that can be cut, as its conversations can.
LINES = "day10.jsonl"
TABLE = "table.parquet"
#: All exchanges, also those that cannot be decoded.
EXCHANGES = 93


def write_corpus(folder: Path) -> Path:
    """Write cassettes, a table, JSON lines (plain and compressed), damaged files, and files without traffic.

    Conversations begin in one file and end in another, in the order of a walk: day2, day9, day10, then more/.
    """
    (folder / "more").mkdir(parents=True)
    shutil.copytree(EXAMPLES, folder / "more" / "cassettes")
    kept = [[first, second] for n in range(12) for first, second in [conversation(f"c{n}", kept=n % 3)]]
    write_rows(folder / "day2.jsonl", *_noise(3), *(first for first, _ in kept[:6]))
    write_rows(folder / "day9.jsonl.gz", *(second for _, second in kept[:3]), *_noise(2), kept[6][0])
    write_rows(folder / LINES, *_mixed(kept[7:10]), *(second for _, second in kept[3:5]), *(r for r, _ in kept[10:]))
    write_rows(folder / "more" / "day1.jsonl", kept[5][1], kept[6][1], "{broken", *(r for _, r in kept[10:]))
    rows = [exchange for number in range(5) for exchange in conversation(f"t{number}", kept=number % 3)]
    cells = [{"request": json.dumps(exchange["request"]), "response": exchange["body"]} for exchange in rows]
    pyarrow, parquet = package("pyarrow", extra="dev"), package("pyarrow.parquet", extra="dev")
    parquet.write_table(pyarrow.Table.from_pylist(cells), folder / "more" / TABLE, row_group_size=3)
    lines = write_rows(folder / "more" / "day4.jsonl", *(exchange | {"id": "z"} for exchange in rows))
    lines.with_suffix(".jsonl.zst").write_bytes(package("backports.zstd", extra="dev").compress(lines.read_bytes()))
    lines.unlink()
    (folder / "more" / "settings.json").write_text('{"theme": "dark"}')
    (folder / "more" / "torn.jsonl.gz").write_bytes((folder / "day9.jsonl.gz").read_bytes()[:-9])
    return folder


def _noise(count: int) -> list[dict[str, Any]]:
    cut = row(chat_stream("f", end=False), stream=True)
    wrong = row(chat_body("f", arguments="[1]"), request={"messages": [{"role": "user", "content": "\ud83d"}]})
    return [cut, wrong, row("<html>"), row("{}", wire="google"), row(chat_body("f", "g"))] * count


def _mixed(conversations: list[list[dict[str, Any]]]) -> list[Any]:
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


_INTERRUPTED = """
import multiprocessing, os, pathlib, re, signal, time
from toolparity.audit.bulk import parallel
from toolparity.cli import main
real = parallel.split_files
def ignores_interrupts(process):
    status = pathlib.Path(f"/proc/{{process.pid}}/status")
    return not status.exists() or int(re.search(r"SigIgn:\\s+(\\w+)", status.read_text())[1], 16) & 2
def split_files(*args, **options):
    for number, piece in enumerate(real(*args, **options)):
        if number == {part}:
            while {part} and not all(map(ignores_interrupts, multiprocessing.active_children())):
                time.sleep(0.05)
            os.killpg(0, signal.SIGINT)
        yield piece
if __name__ == "__main__":
    parallel.PART_BYTES = 3000
    parallel.split_files = split_files
    main(["audit", *{args!r}, {path!r}])
"""


def interrupted(path: Path, *args: str, part: int) -> tuple[int, str, bool]:
    """Interrupt an audit before a part of its input is processed, when its workers ignore interrupts.

    Return its exit code, its last line on standard error, and whether there is a traceback.
    """
    program = _INTERRUPTED.format(path=str(path), args=args, part=part)
    with interruptible([sys.executable, "-c", program]) as process:
        _, stderr = process.communicate(timeout=120)  # ends when all processes have closed it
    return process.returncode, stderr.splitlines()[-1], "Traceback" in stderr
