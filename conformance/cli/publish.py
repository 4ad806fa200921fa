"""Publishes the current report of the shipped subjects in `reports/published/`.

    python -m toolparity.conformance.cli.publish

    results.json.gz         the results, for toolparity report reports/published/results.json.gz
    index.html              the page; ``--render`` writes it and the files below from the results, without a run
    README.md               the same in Markdown
    badge.svg, badge.json   the result of this project's own normalizer

The same results give the same bytes: durations are left out, and SOURCE_DATE_EPOCH sets the date. Libraries that are
not installed are listed as not tested.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from msgspec import Struct, json
from msgspec.structs import replace

from toolparity import reports
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports import formats, results
from toolparity.reports.files import load
from toolparity.reports.results import Report, Run

from ..cases.scenarios import scenarios
from ..known_bad import known_bad
from ..laws import IDS
from ..runner import kill, suite
from ..runner.judge import CaseFilter
from ..subjects import SUBJECTS, installing
from ..subjects.peers import PEERS
from .console import ProgressBar

FOLDER = Path(reports.__file__).resolve().parent / "published"
COMMAND = "python -m toolparity.conformance.cli.publish"
#: The subject that the badge shows.
OWN = "normalizer"
_LACKING = "not tested"
RESULTS = "results.json.gz"

#: Personal folders, the innermost first, and their replacements in the publication.
_FOLDERS = (
    (installing.home(), b"~/.cache/toolparity/subjects"),
    (FOLDER.parents[1], b"toolparity"),
    (sys.prefix, b"python"),
    (f"{Path.home()}/.", b"~/."),
)

_HEAD = f"""\
# How the shipped subjects fare

The current report: [the page](index.html), [the results](results.json.gz). Written by `{COMMAND}`, and never by hand.

"""


class PublishedIndex(Struct, frozen=True):
    """The part of the published results that `behind` compares."""

    subjects: list[results.SubjectInfo]
    laws: list[results.LawInfo]
    scenarios: list[results.ScenarioInfo]


def run(choice: CaseFilter, names: Sequence[str], on_progress: Callable[[int], None] = lambda cases: None) -> Run:
    """Run the named subjects on the selected cases."""
    made = suite.run(names, choice, expected=suite.expected_failures(None), on_progress=on_progress)
    return _impersonal(_untimed(replace(made, environment=_told(made))))


def killed(choice: CaseFilter, on_progress: Callable[[int], None] = lambda subjects: None) -> Run:
    """Return the kill matrix of the selected cases."""
    return _untimed(kill.run(choice, on_progress=on_progress))


def joined(old: Run, new: Run) -> Run:
    """Merge two runs. The new run takes precedence, and what is no longer in the suite is removed."""
    both = results.merge([old, new])
    known = scenarios()
    kept = replace(
        both,
        laws=[one for one in both.laws if one.id in IDS],
        scenarios=[one for one in both.scenarios if one.id in known],
        results=[one for one in both.results if one.scenario in known],
        traffic=[one for one in both.traffic if one.scenario in known],
        environment=new.environment,
        date=new.date,
    )
    return replace(kept, environment=_told(kept))


def _told(made: Run) -> dict[str, str]:
    """Return the environment, with the libraries that were not tested."""
    names = {one.name for one in made.subjects}
    lacking = ", ".join(name for name in PEERS if name not in names)
    told = {name: value for name, value in made.environment.items() if name != _LACKING}
    return {**told, _LACKING: lacking} if lacking else told


def _untimed(made: Run) -> Run:
    """Return the run without durations."""
    return replace(
        made,
        subjects=[replace(one, seconds=0.0) for one in made.subjects],
        results=[replace(one, seconds=0.0) for one in made.results],
        seconds=0.0,
    )


def _impersonal(made: Run) -> Run:
    """Return the run without personal folders, which appear in the error messages of libraries."""
    data = results.write(made)
    for folder, name in _FOLDERS:
        data = data.replace(str(folder).encode(), name)
    return results.read(data)


def files(made: Run) -> dict[str, bytes]:
    """Return everything that is published, as file name -> content.

    A publication is not compared with the previous one. Laws and adapters change between the two, so a difference says
    nothing about a library.
    """
    report = Report(made)
    own = Report(
        replace(
            made,
            subjects=[one for one in made.subjects if one.name == OWN],
            results=[one for one in made.results if one.subject == OWN],
            kills=[],
        )
    )
    return {
        RESULTS: packed(made),
        "index.html": formats.render("html", report),
        "README.md": _HEAD.encode() + formats.render("markdown", report),
        "badge.svg": formats.render("badge", own),
        "badge.json": formats.render("endpoint", own),
    }


def packed(made: Run) -> bytes:
    """Return the results compressed with gzip, without a time stamp."""
    return gzip.compress(results.write(made), mtime=0)


def publish(made: Run, folder: Path = FOLDER) -> None:
    """Write the publication of a run."""
    folder.mkdir(exist_ok=True)
    for name, content in files(made).items():
        (folder / name).write_bytes(content)


def behind(folder: Path = FOLDER) -> list[str]:
    """List the differences between the suite and the publication: "scenario parallel-four is missing"."""
    index = json.decode(gzip.decompress((folder / RESULTS).read_bytes()), type=PublishedIndex)
    kinds = (
        ("subject", {*SUBJECTS}, {one.name for one in index.subjects} - {*PEERS}),
        ("law", {*IDS}, {one.id for one in index.laws}),
        ("scenario", {*scenarios()}, {one.id for one in index.scenarios}),
    )
    return [
        f"{kind} {name} {'is not published' if name in now else 'was removed from the suite'}"
        for kind, now, then in kinds
        for name in sorted(now ^ then)
    ]


def _loaded(path: Path) -> Run | None:
    return load(path) if path.exists() else None


@click.command()
@click.argument("names", nargs=-1, metavar="[SUBJECT]...")
@click.option("--render", is_flag=True, help="Render the published results without a run.")
def main(*, names: tuple[str, ...], render: bool) -> None:
    """Run all shipped subjects and all installed libraries against the suite, and publish the results.

    With SUBJECT only these are run; the published results of the others are kept.
    """
    if names and render:
        raise click.UsageError("--render runs nothing: omit SUBJECT")
    old = _loaded(FOLDER / RESULTS) if names or render else None
    if render and old is None:
        raise click.UsageError("there are no published results to render")
    try:
        made = old if render and old else _measured(old, names)
        publish(made)
    except ToolparityError as error:
        raise click.ClickException(str(error)) from None
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    click.echo(f"{FOLDER}: {', '.join(one.name for one in made.subjects)}; {size / 1_000_000:.1f} MB")
    if missing := made.environment.get(_LACKING):
        click.echo(f"not tested: {missing}; install them with toolparity subjects install NAME", err=True)


def _measured(old: Run | None, names: Sequence[str]) -> Run:
    chosen = CaseFilter()
    told = names or [*SUBJECTS, *(name for name in PEERS if installing.installed(name))]
    length = sum(1 for _ in chosen.cases()) * len(told) + (0 if old else len(known_bad()))
    with ProgressBar(length, "publishing") as progress:
        made = run(chosen, told, progress.advance)
        return joined(old or killed(chosen, progress.advance), made)


if __name__ == "__main__":
    main()
