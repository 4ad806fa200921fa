"""`toolparity cassettes`: lists, verifies, shows, compares and imports cassettes."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Policy
from toolparity.normalizer.policies import selection_of

from ..errors import UnreadableCassette
from ..library import files, importer, inventory
from ..library.files import CassettePath
from ..library.provenance import KEY, Provenance
from ..maintenance import adopting
from ..recorder import verify
from ..workers import cores, in_order
from . import cassette_files, console, exits, options
from . import cassette_report as report
from .cassettes_drift import drift_command
from .console import ProgressBar
from .names import Group, Named, nearest

#: Up to this many cassettes are verified in this process.
_FEW = 16
_EPILOG = exits.EPILOG

_library = click.option(
    "--library",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="TOOLPARITY_CASSETTES",
    default=files.RECORDED,
    help="The library to use instead of the shipped one (also TOOLPARITY_CASSETTES).",
)
_patterns = click.argument("patterns", nargs=-1, metavar="[CASSETTE]...")
_json = click.option("--json", "as_data", is_flag=True, help="Print the result as JSON.")


@click.group(cls=Group, name="cassettes", context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def command() -> None:
    """Inspect a library of cassettes, and verify it against its provenance.

    The origin of a cassette is live (recorded from a provider), emulated (recorded from an emulated provider) or
    imported (recorded by another project); every command shows it. CASSETTE is a path below the library, a part of one,
    or a pattern (* is a wildcard).

    \b
    Examples:
      toolparity cassettes list
      toolparity cassettes verify anthropic
      toolparity cassettes show xai/xai.grpc/single-call.stream.yaml
      toolparity cassettes age --warn 90 --fail 365
      toolparity cassettes drift my-live-cassettes

    \b
    Cassettes of any project, in the formats of vcrpy, cassetter, VCR, Betamax, HAR and Polly.js:
      toolparity cassettes scan my-cassettes
      toolparity cassettes scrub my-cassettes --in-place
      toolparity cassettes check my-cassettes
      toolparity cassettes secrets --check-rules
      toolparity cassettes convert my-cassettes --to har --into converted
      toolparity cassettes adopt my-cassettes --into library
    """


for _sub in (drift_command, *cassette_files.COMMANDS):
    command.add_command(_sub)


@command.command(name="list", epilog=_EPILOG)
@_patterns
@_library
@_json
@click.pass_context
def list_command(ctx: click.Context, *, patterns: tuple[str, ...], library: Path, as_data: bool) -> None:
    """List cassettes with their origin, surface, model and date. Only the beginning of each file is read."""
    cassettes = list(inventory.list_cassettes(_chosen(ctx, patterns, library)))
    code = exits.decide(ctx, exits.code(faults=_print_errors(cassettes), ran=len(cassettes)))
    if as_data:
        click.echo(json_codec.encode(report.listed_json(cassettes)))
    else:
        console.show(report.listed(cassettes))
    ctx.exit(code)


@command.command(name="verify", epilog=_EPILOG)
@_patterns
@_library
@options.jobs
@_json
@click.option(
    "--live", is_flag=True, help="Repeat the requests with the real provider, and show changes; the provider charges."
)
@click.pass_context
def verify_command(
    ctx: click.Context, *, patterns: tuple[str, ...], library: Path, jobs: int | None, as_data: bool, live: bool
) -> None:
    """Verify cassettes step by step, as in CI. Exits with 1 if a step fails.

    \b
    readable    the file is plain YAML, inside the library, within the size limits
    provenance  origin, date, author, tools and scenario are stated
    place       the path matches the provenance
    digest      the interactions and the provenance are unchanged since the recording
    origin      emulated responses are marked as emulated, and no others are
    scrubbed    scrubbing again changes nothing, and the scanner finds no secret
    scenario    the scenario exists and is unchanged since the recording
    decodes     the normalizer reads it, with no errors except those that the scenario causes
    replays     the official SDK plays every interaction without a network

    No file is changed. An imported cassette has no scenario: it is not replayed, and the result says so.
    """
    places = _chosen(ctx, patterns, library)
    if live:
        _drift(ctx, places, as_data)
    verdicts: list[verify.VerifiedCassette] = []
    with ProgressBar(len(places), "verifying") as progress:
        for verdict in _verified(places, jobs or cores()):
            verdicts.append(verdict)
            progress.advance(1)
    problems = [problem for verdict in verdicts for problem in verdict.problems]
    faults = sum(problem.fault for problem in problems)
    code = exits.decide(ctx, exits.code(failed=len(problems) > faults, faults=faults, ran=len(verdicts)))
    if as_data:
        click.echo(json_codec.encode(report.verified_json(verdicts)))
    else:
        console.show(report.verified(verdicts))
    ctx.exit(code)


def _verified(places: list[CassettePath], jobs: int) -> Iterator[verify.VerifiedCassette]:
    """Yield the results in the order of the places. A few are verified here, because starting workers takes longer."""
    if jobs > 1 and len(places) > _FEW:
        return in_order(verify.verify_one, places, jobs, "toolparity.cassettes.recorder.verify")
    return map(verify.verify_one, places)


@command.command(name="show", epilog=_EPILOG)
@click.argument("cassette")
@_library
@options.policy
@options.limit
@_json
def show_command(*, cassette: str, library: Path, policy: Policy, limit: int | None, as_data: bool) -> None:
    """Show one cassette: its provenance, requests, responses, and the selection under a policy."""
    place = _single(cassette, library)
    loaded = files.load(place.path)
    answers = []
    for response in verify.decoded(loaded):
        answers.append((response, selection_of(response, policy, limit)))
    if as_data:
        click.echo(json_codec.encode(report.shown_json(loaded, place.shown, answers)))
    else:
        console.show(report.shown(loaded, place.shown, answers))


@command.command(name="path", epilog=_EPILOG)
@_patterns
@_library
@click.pass_context
def path_command(ctx: click.Context, *, patterns: tuple[str, ...], library: Path) -> None:
    """Print the path of the library or of cassettes, one per line, for other commands and programs."""
    for path in [place.path for place in _chosen(ctx, patterns, library)] if patterns else [library]:
        click.echo(str(path))


@command.command(name="diff", epilog=_EPILOG)
@click.argument("old")
@click.argument("new")
@_library
@click.option(
    "--fail-on",
    type=Named("level", ["shape", "values", "words"]),
    default="words",
    show_default=True,
    help="Exit with 1 if this level or one before it changed.",
)
@_json
@click.pass_context
def diff_command(ctx: click.Context, *, old: str, new: str, library: Path, fail_on: str, as_data: bool) -> None:
    """Show semantic changes from OLD to NEW at three levels. Exits with 1 if there are any, see --fail-on.

    \b
    shape    fields and their types, calls by name, stop reasons, which token counts are present
    values   models, parameters, arguments of calls, results, token counts
    words    texts of requests and responses

    Ids, times, signatures and encrypted content differ in every recording and are not compared.

    OLD and NEW may also be files of other projects, in any format that `scan` reads. They have no origin and no date,
    and their addresses show which provider answers.
    """
    from ..recorder import diff

    heads, outlines = [], []
    for name in (old, new):
        loaded, provenance = _compared(name, library)
        origin, date = (provenance.origin, provenance.date) if provenance else (None, None)
        heads.append({"cassette": name, "origin": origin, "date": date})
        pairs = zip(loaded.requests, loaded.responses, strict=True)
        outlines.append(diff.outline(pairs, verify.surface_for(provenance) if provenance else None))
    changes = diff.diff(outlines[0], outlines[1], down_to="words")
    counts = {level: sum(change.level == level for change in changes) for level in diff.LEVELS}
    failing = diff.LEVELS[: diff.LEVELS.index(fail_on) + 1]
    code = exits.decide(ctx, exits.code(failed=any(counts[level] for level in failing), ran=2))
    if as_data:
        listed = [{"level": change.level, **msgspec.to_builtins(change)} for change in changes]
        click.echo(json_codec.encode({"old": heads[0], "new": heads[1], "counts": counts, "changes": listed}))
    else:
        for head in heads:
            click.echo(f"{head['origin']}, {head['date']}: {head['cassette']}" if head["origin"] else head["cassette"])
        if changes:
            click.echo(diff.render(changes, most=len(changes)))
        click.echo("; ".join(f"{level}: {count:,} changed" for level, count in counts.items()))
    ctx.exit(code)


@command.command(name="age", epilog=_EPILOG)
@_patterns
@_library
@click.option("--warn", type=click.IntRange(min=0), metavar="DAYS", help="Warn about live cassettes that are older.")
@click.option("--fail", type=click.IntRange(min=0), metavar="DAYS", help="Exit with 1 if a live cassette is older.")
@click.pass_context
def age_command(
    ctx: click.Context, *, patterns: tuple[str, ...], library: Path, warn: int | None, fail: int | None
) -> None:
    """Show the age of cassettes, the oldest first. Old cassettes are not recorded again automatically.

    Limits apply to live cassettes only, because emulated and imported ones do not show a provider's current behaviour.
    """
    cassettes = list(inventory.list_cassettes(_chosen(ctx, patterns, library)))
    aged = inventory.oldest_first(cassettes, datetime.now(UTC).date())
    over: dict[int, str] = {}
    for index, (cassette, days) in enumerate(aged):
        if cassette.origin != "live":
            continue
        for word, limit in (("warn", warn), ("fail", fail)):
            if limit is not None and days > limit:
                over[index] = word
    code = exits.decide(
        ctx, exits.code(failed="fail" in over.values(), faults=_print_errors(cassettes), ran=len(cassettes))
    )
    console.show(report.aged(aged, over))
    live = sum(cassette.origin == "live" for cassette, _ in aged)
    counts = report.by_origin(cassette.origin for cassette, _ in aged)
    click.echo(
        f"{counts}; limits apply to live ones only" if live else f"{counts}; none is live, so no limit applies",
        err=True,
    )
    for index, word in over.items():
        cassette, days = aged[index]
        click.echo(
            f"{cassette.file.shown}: live, {days:,} days old: {'too old' if word == 'fail' else 'old'}", err=True
        )
    ctx.exit(code)


@command.command(name="orphans", epilog=_EPILOG)
@_library
@_json
@click.pass_context
def orphans_command(ctx: click.Context, *, library: Path, as_data: bool) -> None:
    """Find cassettes without a scenario, and scenarios without a cassette on a surface that supports them."""
    cassettes = list(inventory.list_cassettes(_chosen(ctx, (), library)))
    strays = list(inventory.stray_cassettes(cassettes))
    missing = list(inventory.missing_cassettes(library))
    code = exits.decide(ctx, exits.code(failed=bool(strays or missing), faults=_print_errors(cassettes), ran=1))
    if as_data:
        data = {
            "cassettes": [{"path": s.file.shown, "origin": s.origin, "why": s.why} for s in strays],
            "scenarios": missing,
        }
        click.echo(json_codec.encode(data))
    else:
        console.show(report.orphaned(strays, missing))
        click.echo(f"{len(strays):,} cassettes without a scenario, {len(missing):,} missing recordings")
    ctx.exit(code)


@command.command(name="import", epilog=_EPILOG)
@options.paths
@click.option("--into", type=options.OutputFile(folder=True), required=True, help="The library to write to.")
@click.option("--note", help="Text for the provenance, such as the author and the licence.")
@click.option("--force", is_flag=True, help="Replace existing cassettes.")
@click.pass_context
def import_command(ctx: click.Context, *, paths: tuple[str, ...], into: Path, note: str | None, force: bool) -> None:
    """Import recordings of other projects: cassettes of vcrpy and similar tools, and HAR files.

    Each file becomes one cassette for every provider and wire in it, with origin "imported". Only the content type of
    the headers is kept. The rest is scrubbed, and a cassette that the scanner still refuses is not written.
    """
    ctx.exit(cassette_files.imported(importer.import_files(list(paths), into, note=note, force=force), into))


def _chosen(ctx: click.Context, patterns: tuple[str, ...], library: Path) -> list[CassettePath]:
    """Return the cassettes that match a pattern. Raises click.BadParameter for a pattern that matches none."""
    places = files.find(library)
    if not places:
        click.echo(f"the library has no cassettes: {library}", err=True)
        ctx.exit(exits.NOTHING_RAN)
    for pattern in patterns:
        if not any(_matches(place, pattern) for place in places):
            raise _unknown(pattern, places)
    return [place for place in places if not patterns or any(_matches(place, pattern) for pattern in patterns)]


def _matches(place: CassettePath, pattern: str) -> bool:
    return fnmatch.fnmatchcase(place.shown, pattern) or fnmatch.fnmatchcase(place.shown, f"*{pattern}*")


def _single(name: str, library: Path) -> CassettePath:
    """Return the cassette at a path, or the only one that matches. Raises click.BadParameter."""
    if os.path.isfile(name):
        path = Path(name)
        return files.place_of(path, library if path.is_relative_to(library) else path.parent)
    places = files.find(library)
    exact = [place for place in places if place.shown in (name, name + files.SUFFIX)]
    fitting = exact or [place for place in places if _matches(place, name)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise _unknown(name, places)
    names = ", ".join(place.shown for place in fitting[:5]) + (", …" if len(fitting) > 5 else "")
    raise click.BadParameter(f"{name} matches {len(fitting)} cassettes: {names}", param_hint="CASSETTE")


def _compared(name: str, library: Path) -> tuple[files.Cassette, Provenance | None]:
    """Return a cassette and its provenance, or a file of any project and format, without provenance."""
    path = _single(name, library).path
    with contextlib.suppress(UnreadableCassette):  # another format
        loaded = files.load(path)
        if KEY in loaded.metadata:
            return loaded, loaded.provenance
    return files.Cassette(path, {"interactions": adopting.interactions_of(os.fspath(path))}), None


def _unknown(name: str, places: list[CassettePath]) -> click.BadParameter:
    alike = nearest(name, {place.name for place in places if place.name})
    near = [place.shown for place in places if place.name in alike][:3]
    there = f"did you mean {' or '.join(near)}?" if near else "toolparity cassettes list shows them"
    return click.BadParameter(f"no cassette is called {name!r}; {there}", param_hint="CASSETTE")


def _drift(ctx: click.Context, places: list[CassettePath], as_data: bool) -> None:
    """Play the scenarios against the real providers again and report differences. Writes no file, and exits."""
    from ..recorder import record
    from ..scripts import scripts
    from ..surfaces import surface

    rows: list[dict[str, Any]] = []
    faults = 0
    for place in places:
        row: dict[str, Any] = {"path": place.shown, "origin": None, "drifted": None, "error": None}
        try:
            provenance = files.provenance_of(place.path)
            row["origin"] = provenance.origin
            script = scripts().get(provenance.scenario or "")
            if script is None or provenance.surface is None:
                raise UnreadableCassette("it has no scenario whose requests can be repeated")
            at = surface(provenance.surface)
            row["drifted"] = [str(change) for change in record.drift(place.path, script, at, record.live(at))]
        except ToolparityError as error:
            row["error"] = str(error)
            faults += 1
        rows.append(row)
        if not as_data:
            lines = [row["error"]] if row["error"] else row["drifted"] or ["as recorded"]
            click.echo("\n".join([f"{row['origin'] or 'unknown'}  {place.shown}", *(f"    {line}" for line in lines)]))
    if as_data:
        click.echo(json_codec.encode(rows))
    ctx.exit(exits.code(failed=any(row["drifted"] for row in rows), faults=faults, ran=len(rows)))


def _print_errors(cassettes: list[inventory.ListedCassette]) -> int:
    """Print a line for each cassette without readable provenance. Return their number."""
    errors = [cassette.error for cassette in cassettes if cassette.error is not None]
    for error in errors:
        click.echo(f"toolparity: {error}", err=True)
    return len(errors)
