"""`toolparity history`: runs the suite on released versions of a library, and finds the releases that changed a law."""

from __future__ import annotations

from pathlib import Path

import click
import google.protobuf  # noqa: F401 # the suite needs the extra: without it, stop before libraries are installed

from toolparity.cassettes.cli import console, exits, options
from toolparity.cassettes.cli.names import must_fit
from toolparity.reports import versions
from toolparity.reports.version_text import sections, version_line

from ..laws import IDS
from ..runner.history import run as runner
from ..runner.history.measurer import Measurer
from ..subjects import environments, releases
from ..subjects.peers import PEERS

_ALL = "all"


@click.command(name="history", epilog=exits.EPILOG)
@click.argument("name", metavar="LIBRARY")
@click.option(
    "--versions",
    "count",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    metavar="N",
    help="How many versions.",
)
@click.option("--from", "since", default="", metavar="VERSION", help="The oldest release, or its beginning.")
@click.option("--to", "until", default="", metavar="VERSION", help="The newest release, or its beginning.")
@click.option("--at", multiple=True, metavar="VERSION", help="Exactly this release. Repeatable.")
@click.option(
    "--bisect",
    "laws",
    multiple=True,
    metavar="LAW",
    help="Find the releases that changed the failures of this law; all: of any law. Repeatable.",
)
@click.option("--json", "file", type=options.OutputFile(), metavar="FILE", help="Write the history.")
@click.option("--keep", is_flag=True, help="Leave the environments installed.")
@options.jobs
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    name: str,
    count: int,
    since: str,
    until: str,
    at: tuple[str, ...],
    laws: tuple[str, ...],
    file: Path | None,
    keep: bool,
    jobs: int | None,
) -> None:
    """Run the suite on released versions of a library: one line per law, one column per version.

    Without --from, the versions are the last releases of the N newest minor series (1.100.x). With --from, they are
    spread evenly over the releases from there on. Pre-releases are left out. Each version is installed with pip or npm,
    with the newest packages that fit it today, and removed after the run. Outcomes are kept in the user's cache, so
    that an interrupted run continues. A version that cannot be installed, or that does not read an easy call, is
    reported as not tested, with the reason.

    \b
    Examples:
      toolparity history litellm --versions 12
      toolparity history litellm --from 1.90 --to 1.100 --bisect all --json litellm.json
    """
    must_fit("library", [name], sorted(PEERS), "LIBRARY")
    must_fit("law", [law for law in laws if law != _ALL], IDS, "--bisect")
    if at and (since or until):
        raise click.UsageError("--at names the releases: omit --from and --to")
    released = releases.released(environments.known(name))
    selection = releases.select(released, count, since=since, until=until, at=at)
    bisect = None if not laws else frozenset() if _ALL in laws else frozenset(laws)
    with console.Steps(f"{name}: {len(selection.selected)} of {len(selection.range)} releases") as steps:
        history = runner.run(
            Measurer(name, keep=keep, jobs=jobs or 0, report=steps.report),
            selection,
            bisect=bisect,
            on_version=lambda version: steps.note(version_line(version)),
        )
    code = exits.decide(ctx, exits.code(ran=bool(history.tested)))
    if not options.is_stdout(file):
        console.show(sections(history))
    if file is not None:
        options.put(file, versions.write(history))
    ctx.exit(code)
