"""Publishes the current report of the shipped subjects in `reports/published/`.

    python -m toolparity.conformance.cli.publish

    results.json.gz         the results, for toolparity report reports/published/results.json.gz
    summary.json            names and versions of the results, which have more than 50 MB when they are unpacked
    index.html              the page; ``--render`` writes it and the files below from the results, without a run
    README.md               the same in Markdown
    badge.svg, badge.json   the result of this project's own normalizer
    badges/NAME.svg         the result of an implementation, for its maintainer to embed
    history/NAME.json       a library over its versions, as toolparity history NAME --json writes it; it is only read

The headline is also written into the README of the project. The same results give the same bytes: durations are left
out, and SOURCE_DATE_EPOCH sets the date. Libraries that are not installed are listed as not tested.
"""

from __future__ import annotations

import gzip
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import click
from msgspec import Struct, json
from msgspec.structs import replace

from toolparity import reports
from toolparity.cassettes.cli.console import ProgressBar
from toolparity.normalizer.errors import ToolparityError
from toolparity.reports import formats, results
from toolparity.reports.files import load, load_history
from toolparity.reports.results import Report, Run
from toolparity.reports.sentences import headline_text, passing_text
from toolparity.reports.statistics import count_verdicts
from toolparity.reports.subject_groups import leading
from toolparity.reports.versions import LibraryHistory

from ..cases.scenarios import scenarios
from ..known_bad import known_bad
from ..laws import IDS
from ..laws.consequences import CONSEQUENCES
from ..reproductions import reproductions
from ..reproductions.reasons import untrue
from ..runner import baseline, kill, status, suite
from ..runner.judge import CaseFilter
from ..runner.release import required
from ..subjects import SUBJECTS, environments, library_of, role_of
from ..subjects.peers import PEERS

FOLDER = Path(reports.__file__).resolve().parent / "published"
COMMAND = "python -m toolparity.conformance.cli.publish"
#: The subject that the badge shows.
OWN = "normalizer"
_NOT_TESTED = "not tested"
RESULTS = "results.json.gz"
SUMMARY = "summary.json"
#: The folder of the histories of libraries, beside the results.
HISTORY = "history"
#: The folder of the badges of implementations.
BADGES = "badges"

#: The lines of the project's README between which the headline is.
_MARKERS = (f"<!-- headline: {COMMAND} -->", "<!-- end of headline -->")

#: Personal folders, the innermost first, and their replacements in the publication.
_FOLDERS = (
    (environments.home(), b"~/.cache/toolparity/subjects"),
    (FOLDER.parents[1], b"toolparity"),
    (sys.prefix, b"python"),
    (f"{Path.home()}/.", b"~/."),
)

_HEAD = f"""\
# Results of the shipped subjects

The current report: [the page](index.html), [the results](results.json.gz). Written by `{COMMAND}`, and never by hand.

"""


class Summary(Struct, frozen=True):
    """The subjects of the published results, and the ids of their laws and scenarios."""

    subjects: list[results.SubjectInfo]
    laws: list[str]
    scenarios: list[str]


def run(case_filter: CaseFilter, names: Sequence[str], on_progress: Callable[[int], None] = lambda cases: None) -> Run:
    """Run the named subjects on the selected cases."""
    result = suite.run(names, case_filter, expected=suite.expected_failures({}), on_progress=on_progress)
    subjects = [_published(item, result.date) for item in result.subjects]
    result = replace(result, subjects=subjects, environment=_with_missing(result))
    return _without_personal_folders(_without_durations(result))


def _published(subject: results.SubjectInfo, date: str) -> results.SubjectInfo:
    """Return a subject with its role, the day of its run and its badge. ``date``: the date of the run."""
    role = role_of(subject.name)
    badge = f"{BADGES}/{subject.name}.svg" if role == "implementation" else ""
    library = library_of(subject.name)
    return replace(subject, role=role, library=library, date=subject.date or date[:10], badge=badge)


def killed(case_filter: CaseFilter, on_progress: Callable[[int], None] = lambda subjects: None) -> Run:
    """Return the kill matrix of the selected cases."""
    return _without_durations(kill.run(case_filter, on_progress=on_progress))


def joined(old: Run, new: Run) -> Run:
    """Merge two runs. The new run takes precedence, and what is no longer in the suite is removed."""
    merged = results.merge([old, new])
    known = scenarios()
    current = replace(
        merged,
        laws=[item for item in merged.laws if item.id in IDS],
        scenarios=[item for item in merged.scenarios if item.id in known],
        results=[item for item in merged.results if item.scenario in known],
        traffic=[item for item in merged.traffic if item.scenario in known],
        environment=new.environment,
        date=new.date,
    )
    return replace(current, environment=_with_missing(current))


def _with_missing(result: Run) -> dict[str, str]:
    """Return the environment, with the libraries that were not tested."""
    names = {subject.name for subject in result.subjects}
    missing = ", ".join(name for name in PEERS if name not in names)
    environment = {name: value for name, value in result.environment.items() if name != _NOT_TESTED}
    return {**environment, _NOT_TESTED: missing} if missing else environment


def _without_durations(result: Run) -> Run:
    """Return the run without durations."""
    return replace(
        result,
        subjects=[replace(item, seconds=0.0) for item in result.subjects],
        results=[replace(item, seconds=0.0) for item in result.results],
        seconds=0.0,
    )


def _without_personal_folders(result: Run) -> Run:
    """Return the run without personal folders, which appear in the error messages of libraries."""
    data = results.write(result)
    for folder, name in _FOLDERS:
        data = data.replace(str(folder).encode(), name)
    return results.read(data)


def files(result: Run, histories: Sequence[LibraryHistory] = ()) -> dict[str, bytes]:
    """Return everything that is written, as file name -> content. ``histories``: libraries over their versions.

    A publication is not compared with the previous one. Laws and adapters change between the two, so a difference says
    nothing about a library.
    """
    report = Report(result, histories=histories, reproductions=reproductions(result))
    own = _report_of(result, OWN)
    return {
        RESULTS: packed(result),
        SUMMARY: json.format(json.encode(summary_of(result)), indent=1) + b"\n",
        "index.html": formats.render("html", report),
        "README.md": (_HEAD + _implementations(result) + _missing_libraries(result)).encode()
        + formats.render("markdown", report),
        "badge.svg": formats.render("badge", own),
        "badge.json": formats.render("endpoint", own),
        **{one.badge: formats.render("badge", _report_of(result, one.name)) for one in result.subjects if one.badge},
    }


def _report_of(result: Run, name: str) -> Report:
    """Return the report of one subject."""
    subjects = [item for item in result.subjects if item.name == name]
    results_of_it = [item for item in result.results if item.subject == name]
    return Report(replace(result, subjects=subjects, results=results_of_it, kills=[]))


def _implementations(result: Run) -> str:
    """Return a table of the versions, dates and badges of the implementations."""
    rows = [
        f"| `{one.name}` | {one.version} | {one.date} | [![{one.name}]({one.badge})](index.html#subject={one.name}) |\n"
        for one in result.subjects
        if one.badge
    ]
    return f"""\
Each implementation was run on its date. Its badge leads to its cases, and can be embedded anywhere.

| implementation | version | run on | badge |
|---|---|---|---|
{"".join(rows)}
"""


def _missing_libraries(result: Run) -> str:
    """Return a paragraph that names each library that was not tested, or ""."""
    missing = result.environment.get(_NOT_TESTED)
    return f"Not tested in this run: {missing}.\n\n" if missing else ""


def packed(result: Run) -> bytes:
    """Return the results compressed with gzip, without a time stamp."""
    return gzip.compress(results.write(result), mtime=0)


def summary_of(result: Run) -> Summary:
    """Return the summary that is published beside the results."""
    return Summary(result.subjects, [item.id for item in result.laws], [item.id for item in result.scenarios])


def summary(folder: Path = FOLDER) -> Summary:
    """Return the published summary."""
    return json.decode((folder / SUMMARY).read_bytes(), type=Summary)


def publish(result: Run, folder: Path = FOLDER) -> None:
    """Write the publication of a run, with the histories that the folder has."""
    (folder / BADGES).mkdir(parents=True, exist_ok=True)
    histories = [load_history(path) for path in sorted((folder / HISTORY).glob("*.json"))]
    for name, content in files(result, histories).items():
        (folder / name).write_bytes(content)


def behind(folder: Path = FOLDER) -> list[str]:
    """List the differences between the suite and the publication: "scenario single-call is not published".

    Scenarios that no release requires yet may be missing: publications are made for releases.
    """
    published = summary(folder)
    released = {scenario for scenario, _, _ in required().cases}
    new = {*scenarios()} - released - {*published.scenarios}
    kinds = (
        ("subject", {*SUBJECTS}, {item.name for item in published.subjects} - {*PEERS}),
        ("law", {*IDS}, {*published.laws}),
        ("scenario", {*scenarios()} - new, {*published.scenarios}),
    )
    return [
        f"{kind} {name} {'is not published' if name in now else 'was removed from the suite'}"
        for kind, now, then in kinds
        for name in sorted(now ^ then)
    ]


def with_headline(readme: str, result: Run) -> str:
    """Return the text of the project's README with the headline of these results between its two markers."""
    head, _, rest = readme.partition(_MARKERS[0])
    _, marker, tail = rest.partition(_MARKERS[1])
    if not marker:
        raise ToolparityError(f"README.md lacks the markers {' and '.join(_MARKERS)}")
    subjects = leading(result, count_verdicts(result))
    sentence = f"{headline_text(subjects)}; {passing_text(subjects)}"
    text = textwrap.fill(f"In the [current results](reports/published/README.md), {sentence}.", 120)
    return f"{head}{_MARKERS[0]}\n{text}\n{_MARKERS[1]}{tail}"


def _loaded(path: Path) -> Run | None:
    """Return the published run with the facts of today: about subjects and laws, and the reasons of the baselines."""
    if not path.exists():
        return None
    run = load(path)
    subjects = [_published(item, run.date) for item in run.subjects]
    laws = [replace(item, consequences=CONSEQUENCES.get(item.id, {})) for item in run.laws]
    results = [_with_reasons(item) for item in run.results]
    return replace(run, subjects=subjects, laws=laws, results=results, environment=_with_missing(run))


def _with_reasons(result: results.Result) -> results.Result:
    """Return a result whose expected failures have the reasons that the baseline of the subject has now."""
    return replace(result, verdicts=[_with_reason(result, verdict) for verdict in result.verdicts])


def _with_reason(result: results.Result, verdict: results.Verdict) -> results.Verdict:
    if not verdict.behaviour:
        return verdict
    failed = replace(verdict, outcome="fail", reason=verdict.reason.rpartition(results.KNOWN)[0])
    now = status.status(result, failed, _known(result.subject))
    return now if now.outcome == "expected" else verdict


@cache
def _known(subject: str) -> status.Known:
    return status.Known(expected=baseline.read(baseline.shipped_path(subject)))


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
        result = old if render and old else _run_all(old, names)
        if wrong := [*untrue(result)]:
            raise ToolparityError("\n".join(["reasons of baselines that their cases do not show:", *wrong]))
        publish(result)
        readme = FOLDER.parents[1] / "README.md"
        readme.write_text(with_headline(readme.read_text("utf-8"), result), "utf-8")
    except ToolparityError as error:
        raise click.ClickException(str(error)) from None
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    click.echo(f"{FOLDER}: {', '.join(subject.name for subject in result.subjects)}; {size / 1_000_000:.1f} MB")
    known = [verdict.behaviour for _, verdict in result.verdicts() if verdict.outcome == "expected"]
    click.echo(f"{len(known):,} expected failures show what their reasons say, in {len({*known}):,} sentences")
    if missing := result.environment.get(_NOT_TESTED):
        click.echo(f"not tested: {missing}; install them with toolparity subjects install NAME", err=True)


def _run_all(old: Run | None, names: Sequence[str]) -> Run:
    case_filter = CaseFilter()
    selected = names or [*SUBJECTS, *(name for name in PEERS if environments.installed(name))]
    length = sum(1 for _ in case_filter.cases()) * len(selected) + (0 if old else len(known_bad()))
    with ProgressBar(length, "publishing") as progress:
        result = run(case_filter, selected, progress.advance)
        return joined(old or killed(case_filter, progress.advance), result)


if __name__ == "__main__":
    main()
