"""`toolparity report upstream`: the draft of a bug report for the project of a library."""

from __future__ import annotations

from pathlib import Path

import click

from toolparity import reports
from toolparity.cassettes.cli import exits, names
from toolparity.reports.files import load
from toolparity.reports.results import Run

from ..laws import LAWS
from ..reproductions.accusations import Accusation, failures
from ..reproductions.confirmation import unconfirmed
from ..reproductions.libraries import LIBRARIES
from ..reproductions.topics import has_topic
from ..reproductions.upstream import draft

#: The results of the shipped subjects, in a checkout of this project.
PUBLISHED = Path(reports.__file__).resolve().parent / "published" / "results.json.gz"
_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(name="upstream", epilog=exits.EPILOG)
@click.argument("subject")
@click.argument("case")
@click.option("--law", help="The law, if the subject breaks several in this case.")
@click.option("--results", type=_FILE, metavar="FILE", help="Results of a run. The default are the published ones.")
@click.option("-o", "--output", type=_FILE, default="-", metavar="FILE", help="Write the draft to this file.")
@click.option("--files", type=_FOLDER, metavar="FOLDER", help="Write the script and the response to this folder, too.")
def command(
    *, subject: str, case: str, law: str | None, results: Path | None, output: Path, files: Path | None
) -> None:
    """Write the draft of a bug report about a failure: Markdown with a script of at most 20 lines, and a test.

    CASE is printed by `toolparity check`: its scenario, surface, mode and policy. The command runs the script first if
    the library is installed in the version of the results, and writes no draft about a failure that is not confirmed.

    \b
    Examples:
      toolparity report upstream litellm 'odd-index[openai.chat-stream-all]'
      toolparity report upstream mine 'single-call[openai.chat-plain-all]' --results run.json -o draft.md
    """
    accusation = _chosen(_run(results), subject, case, law)
    _must_be_confirmed(accusation)
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
        (files / accusation.response.file).write_bytes(accusation.response.data)
        (files / accusation.script.name).write_text(accusation.script.text, "utf-8")
    with click.open_file(str(output), "w", encoding="utf-8") as file:
        file.write(draft(accusation))


def _run(results: Path | None) -> Run:
    if results is None and not PUBLISHED.exists():
        raise click.UsageError("there are no published results here: name a file with --results")
    return load(results or PUBLISHED)


def _chosen(run: Run, subject: str, case: str, law: str | None) -> Accusation:
    """Return the failure that the arguments name. Raises click.UsageError with what they could name."""
    cases = [result.case for result in run.results if result.subject == subject]
    if not cases:
        raise click.UsageError(names.unknown("subject", subject, [item.name for item in run.subjects]))
    if subject not in LIBRARIES:
        raise click.UsageError(f"no script asks {subject}: scripts are written for {', '.join(LIBRARIES)}")
    if case not in cases:
        raise click.UsageError(names.unknown("case", case, cases))
    found = [one for one in failures(run) if (one.result.subject, one.result.case) == (subject, case)]
    laws = [one.verdict.check for one in found]
    if not found:
        raise click.UsageError(f"{subject} breaks no law in {case}")
    if law is None and len(found) > 1:
        raise click.UsageError(f"{subject} breaks several laws in {case}: choose one with --law: {', '.join(laws)}")
    if law is not None and law not in LAWS:
        raise click.UsageError(names.unknown("law", law, list(LAWS)))
    if law is not None and law not in laws:
        raise click.UsageError(f"{subject} does not break {law} in {case}; it breaks {', '.join(laws)}")
    return found[0] if law is None else found[laws.index(law)]


def _must_be_confirmed(accusation: Accusation) -> None:
    """Raise click.ClickException with the reason if nothing confirms the failure outside of the suite."""
    law = accusation.verdict.check
    reason = unconfirmed(accusation) if has_topic(accusation) else f"no script shows a failure of {law}"
    if reason:
        raise click.ClickException(f"no draft about {accusation.result.case}: {reason}")
