"""Scans, scrubs, converts and replays the cassettes below some directories, and prints the counts.

    python -m docs.generate.public_cassettes DIRECTORY… [--jobs N] [--into results.jsonl]

For each cassette: its secrets by kind; its scrubbed copy, which must have the same shape and in which the scanner must
find no credential; its conversion to another format and back (the formats in turn, over the files); and the requests of
the original sent against the scrubbed copy through vcrpy, without and with the scrubber as vcrpy's hook. Nothing is
written but the results. The figures in docs/pages/cassette-maintenance.md are from this script.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolparity.cassettes import documents, interchange
from toolparity.cassettes.cli.console import ProgressBar
from toolparity.cassettes.interchange.model import CassetteContent, differences
from toolparity.cassettes.maintenance import files, scanning, scrubbing
from toolparity.cassettes.maintenance.replaying import unplayed
from toolparity.cassettes.secrets import Scrubber, scan
from toolparity.cassettes.workers import in_order
from toolparity.normalizer.errors import ToolparityError


class Job(NamedTuple):
    """A file, and the format to convert it to."""

    path: str
    target: str


def measure(job: Job) -> dict[str, Any]:
    """Return the facts about one file, or why it has none."""
    try:
        document, known = files.load(job.path)
    except ToolparityError as error:
        kind = "not a cassette" if error.what == "not a cassette" else error.what.partition(":")[0]
        return {"path": job.path, "unread": kind}
    facts: dict[str, Any] = {"path": job.path, "format": known.name, "interactions": len(known.items(document.data))}
    found = scan(scanning.scannable(document, known), {})
    facts["found"] = [[scanning.level_of(leak), leak.kind, leak.interaction, leak.part, leak.path] for leak in found]
    try:
        content = known.read(document.data)
    except ToolparityError as error:
        facts["unreadable"] = error.what
        content = None
    facts |= _scrubbed(document, known, content, job.path)
    if content is not None:
        facts |= {"target": job.target, "conversion": _converted(content, known, job.target)}
    return facts


def _scrubbed(
    document: documents.Document, known: interchange.Format, content: CassetteContent | None, path: str
) -> dict[str, Any]:
    try:
        text, counts, changed = scrubbing.scrubbed_text(document, path)
    except ToolparityError as error:
        return {"not scrubbed": error.what}
    clean = documents.load(text.encode("utf-8", "surrogatepass"), path)
    left = scan(scanning.scannable(clean, known), {})
    facts: dict[str, Any] = {
        "values": len(changed),
        "scrubbed": counts,
        "left": [[scanning.level_of(leak), leak.kind, leak.interaction, leak.part, leak.path] for leak in left],
        "identical": text == document.text,
    }
    if content is not None:
        scrubbed = known.read(clean.data)
        facts["empty"] = sum(
            bool(old.response.body) != bool(new.response.body)
            for old, new in zip(content.interactions, scrubbed.interactions, strict=True)
        )
        before = {number for number, _ in unplayed(content)}
        requests = [item.request for item in content.interactions]
        plain = {number for number, _ in unplayed(scrubbed, requests)}
        facts["unplayed before"] = len(before)
        facts["unplayed after"] = len(plain - before)
        if plain - before:
            hook = Scrubber({}, drop_headers=False).before_record_request
            facts["unplayed with the hook"] = len(
                {number for number, _ in unplayed(scrubbed, requests, hook=hook)} - before
            )
    return facts


def _converted(content: CassetteContent, known: interchange.Format, target: str) -> str:
    """Return "equal", or why the content cannot be converted there and back."""
    try:
        there = interchange.convert(content, target)
        read = interchange.read(documents.load(there, f"there{interchange.FORMATS[target].suffix}"))
        back = interchange.convert(read, known.name)
        final = interchange.read(documents.load(back, f"back{known.suffix}"))
    except ToolparityError as error:
        return f"refused: {error.what}"
    return "equal" if not list(differences(content, final)) else "different"


def jobs_of(paths: list[str]) -> Iterator[Job]:
    """Yield every file that may be a cassette, with the formats in turn."""
    targets = list(interchange.FORMATS)
    for number, (path, _) in enumerate(files.find(paths)):
        yield Job(path, targets[number % len(targets)])


def report(results: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the report."""
    read = [facts for facts in results if "unread" not in facts]
    usable = [facts for facts in read if "conversion" in facts]
    levels = Counter((level, kind) for facts in read for level, kind, *_ in facts["found"])
    yield f"files: {len(results):,}; not read: {dict(Counter(f['unread'] for f in results if 'unread' in f))}"
    yield f"cassettes scanned: {len(read):,} with {sum(facts['interactions'] for facts in read):,} interactions"
    yield f"formats: {dict(Counter(facts['format'] for facts in read))}"
    yield f"cassettes with secrets: {sum(bool(facts['found']) for facts in read):,}"
    yield f"cassettes with credentials: {sum(_has_credentials(facts['found']) for facts in read):,}"
    for (level, kind), count in sorted(levels.items()):
        yield f"  {level}  {kind}: {count:,}"
    yield f"scrubbed: {sum(facts.get('values', 0) > 0 for facts in read):,} cassettes changed, "
    yield f"  {sum(facts.get('values', 0) for facts in read):,} values; unchanged and identical: {_identical(read):,}"
    yield f"  refused: {dict(Counter(facts['not scrubbed'] for facts in read if 'not scrubbed' in facts))}"
    yield f"  credentials left, so not written: {sum(_has_credentials(facts.get('left', [])) for facts in read):,}"
    yield f"  empty: {sum(facts.get('empty', 0) for facts in read):,}"
    yield f"converted there and back: {dict(Counter(_reason(facts['conversion']) for facts in usable))}"
    for target in interchange.FORMATS:
        of_target = [_reason(facts["conversion"]) for facts in usable if facts["target"] == target]
        yield f"  {target}: {dict(Counter(of_target))}"
    yield f"  not readable as HTTP: {dict(Counter(facts['unreadable'] for facts in read if 'unreadable' in facts))}"
    played = sum(facts["interactions"] - facts["unplayed before"] for facts in usable if "unplayed before" in facts)
    yield f"requests that vcrpy plays from the original: {played:,}"
    yield f"  of these not played from the scrubbed copy: {sum(facts.get('unplayed after', 0) for facts in usable):,}"
    hooked = sum(facts.get("unplayed with the hook", 0) for facts in usable)
    yield f"  with the scrubber as vcrpy's hook: {hooked:,}"


def _has_credentials(found: list[list[Any]]) -> bool:
    return any(level == "credential" for level, *_ in found)


def _identical(read: list[dict[str, Any]]) -> int:
    return sum(facts.get("values") == 0 and facts["identical"] for facts in read)


def _reason(conversion: str) -> str:
    return conversion.partition("interaction")[0]


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="DIRECTORY")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--into", type=Path, help="a file for the facts about each cassette, as JSON lines")
    parser.add_argument("--read", type=Path, help="print the report of an earlier run")
    options = parser.parse_args()
    if options.read:
        results = [json.loads(line) for line in options.read.read_text().splitlines()]
    else:
        jobs = list(jobs_of(options.paths))
        results = []
        with ProgressBar(len(jobs), "measuring") as progress, open(options.into or "/dev/null", "w") as output:
            for facts in in_order(measure, jobs, options.jobs, "toolparity.cassettes.maintenance.scrubbing"):
                results.append(facts)
                output.write(json.dumps(facts) + "\n")
                output.flush()
                progress.advance(1)
    print("\n".join(report(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
