"""`toolparity cassettes`: lists, verifies, shows, compares and imports cassettes."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from toolparity.cassettes.errors import UnreadableCassette
from toolparity.cassettes.library import files, importer, inventory
from toolparity.cassettes.library.files import Place
from toolparity.cassettes.recorder import verify
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Policy
from toolparity.normalizer.policies import select

from ..audit.exchange import first_choice, unlogged
from ..workers import cores, in_order
from . import cassette_report as report
from . import console, exits, options
from .console import ProgressBar
from .names import Group, Named, nearest

#: Up to this many cassettes are verified in this process.
_FEW = 16
_EPILOG = f"Exit codes: {exits.TABLE}"

_library = click.option(
    "--library",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="TOOLPARITY_CASSETTES",
    default=files.RECORDED,
    help="Another library than the shipped one (also TOOLPARITY_CASSETTES).",
)
_patterns = click.argument("patterns", nargs=-1, metavar="[CASSETTE]...")
_json = click.option("--json", "as_data", is_flag=True, help="As JSON.")


@click.group(cls=Group, name="cassettes", context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
def command() -> None:
    """Look into a library of cassettes, and hold it against what it says of itself.

    A cassette is live (a provider answered), emulated (our own servers did) or imported (another project recorded it);
    every command says which. CASSETTE is a path below the library, a part of one, or a pattern (* is a wildcard).

    \b
    Examples:
      toolparity cassettes list
      toolparity cassettes verify anthropic
      toolparity cassettes show xai/xai.grpc/single-call.stream.yaml
      toolparity cassettes age --warn 90 --fail 365
    """


@command.command(name="list", epilog=_EPILOG)
@_patterns
@_library
@_json
@click.pass_context
def list_command(ctx: click.Context, *, patterns: tuple[str, ...], library: Path, as_data: bool) -> None:
    """List cassettes with their origin, surface, model and date. Only the beginning of each file is read."""
    found = list(inventory.known(_chosen(ctx, patterns, library)))
    code = exits.decide(ctx, exits.code(faults=_say_errors(found), ran=len(found)))
    if as_data:
        click.echo(json_codec.encode(report.listed_json(found)))
    else:
        console.show(report.listed(found))
    ctx.exit(code)


@command.command(name="verify", epilog=_EPILOG)
@_patterns
@_library
@options.jobs
@_json
@click.option(
    "--live", is_flag=True, help="Ask the real provider again, and show what has drifted; costs what it charges."
)
@click.pass_context
def verify_command(
    ctx: click.Context, *, patterns: tuple[str, ...], library: Path, jobs: int | None, as_data: bool, live: bool
) -> None:
    """Verify cassettes, each step by step: what CI runs. Exits with 1 where anything is wrong.

    \b
    readable    plain YAML of a cassette, inside the library, within the caps
    provenance  complete: origin, date, who, with what, which scenario
    place       it stands where its provenance says
    digest      the interactions and the provenance are those that were recorded
    origin      nothing that our emulated servers said passes for anybody else's, nor the reverse
    scrubbed    scrubbing again changes nothing, and the scanner finds no secret
    scenario    its scenario is known and has not changed since
    decodes     the normalizer reads it, and nothing is broken that the scenario does not break
    replays     through the official SDK with the network cut, every interaction played

    No file is changed. An imported cassette is of no scenario: it is not replayed, and that is said.
    """
    places = _chosen(ctx, patterns, library)
    if live:
        _drift(ctx, places, as_data)
    verdicts: list[verify.Verified] = []
    with ProgressBar(len(places), "verifying") as progress:
        for verdict in _verified(places, jobs or cores()):
            verdicts.append(verdict)
            progress.advance(1)
    problems = [problem for one in verdicts for problem in one.problems]
    faults = sum(problem.fault for problem in problems)
    code = exits.decide(ctx, exits.code(failed=len(problems) > faults, faults=faults, ran=len(verdicts)))
    if as_data:
        click.echo(json_codec.encode(report.verified_json(verdicts)))
    else:
        console.show(report.verified(verdicts))
    ctx.exit(code)


def _verified(places: list[Place], jobs: int) -> Iterator[verify.Verified]:
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
    """Show one cassette: where it comes from, what was asked and said, and what a policy makes of it."""
    place = _one(cassette, library)
    loaded = files.load(place.path)
    answers = []
    for response in verify.decoded(loaded):
        with unlogged():
            answers.append((response, select(response, policy, limit, first_choice(response))))
    if as_data:
        click.echo(json_codec.encode(report.shown_json(loaded, place.shown, answers)))
    else:
        console.show(report.shown(loaded, place.shown, answers))


@command.command(name="path", epilog=_EPILOG)
@_patterns
@_library
@click.pass_context
def path_command(ctx: click.Context, *, patterns: tuple[str, ...], library: Path) -> None:
    """Print where the library is, or where cassettes of it are, a path a line: for other commands and programs."""
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
    help="Exit with 1 where this changed, or a level before it.",
)
@_json
@click.pass_context
def diff_command(ctx: click.Context, *, old: str, new: str, library: Path, fail_on: str, as_data: bool) -> None:
    """Show what changed from OLD to NEW by meaning, at three levels. Exits with 1 where anything did, see --fail-on.

    \b
    shape    fields and their types, calls by name, stops, which token figures there are
    values   models, parameters, arguments of calls, results, token figures
    words    texts of requests and answers

    Ids, times, signatures and encrypted contents differ between any two recordings, and are not compared.
    """
    from toolparity.cassettes.recorder import diff

    heads, outlines = [], []
    for name in (old, new):
        loaded = files.load(_one(name, library).path)
        told = loaded.provenance
        heads.append({"cassette": name, "origin": told.origin, "date": told.date})
        pairs = zip(loaded.requests, loaded.responses, strict=True)
        outlines.append(diff.outline(pairs, verify.speaking(told)))
    changes = diff.diff(outlines[0], outlines[1], down_to="words")
    counts = {level: sum(change.level == level for change in changes) for level in diff.LEVELS}
    failing = diff.LEVELS[: diff.LEVELS.index(fail_on) + 1]
    code = exits.decide(ctx, exits.code(failed=any(counts[level] for level in failing), ran=2))
    if as_data:
        listed = [{"level": change.level, **msgspec.to_builtins(change)} for change in changes]
        click.echo(json_codec.encode({"old": heads[0], "new": heads[1], "counts": counts, "changes": listed}))
    else:
        for head in heads:
            click.echo(f"{head['origin']}, {head['date']}: {head['cassette']}")
        if changes:
            click.echo(diff.render(changes, most=len(changes)))
        click.echo("; ".join(f"{level}: {count:,} changed" for level, count in counts.items()))
    ctx.exit(code)


@command.command(name="age", epilog=_EPILOG)
@_patterns
@_library
@click.option("--warn", type=click.IntRange(min=0), metavar="DAYS", help="Warn of live cassettes older than this.")
@click.option("--fail", type=click.IntRange(min=0), metavar="DAYS", help="Exit with 1 where a live one is older.")
@click.pass_context
def age_command(
    ctx: click.Context, *, patterns: tuple[str, ...], library: Path, warn: int | None, fail: int | None
) -> None:
    """Show how old cassettes are, the oldest first. Nothing is ever recorded again by itself.

    Only live cassettes age: an emulated one shows our servers, an imported one what somebody saw once.
    """
    found = list(inventory.known(_chosen(ctx, patterns, library)))
    aged = inventory.oldest_first(found, datetime.now(UTC).date())
    over: dict[int, str] = {}
    for index, (one, days) in enumerate(aged):
        if one.origin != "live":
            continue
        for word, limit in (("warn", warn), ("fail", fail)):
            if limit is not None and days > limit:
                over[index] = word
    code = exits.decide(ctx, exits.code(failed="fail" in over.values(), faults=_say_errors(found), ran=len(found)))
    console.show(report.aged(aged, over))
    live = sum(one.origin == "live" for one, _ in aged)
    told = report.by_origin(one.origin for one, _ in aged)
    click.echo(f"{told}; only the live ones age" if live else f"{told}; none is live, so none is too old", err=True)
    for index, word in over.items():
        one, days = aged[index]
        click.echo(f"{one.place.shown}: live, {days:,} days old: {'too old' if word == 'fail' else 'old'}", err=True)
    ctx.exit(code)


@command.command(name="orphans", epilog=_EPILOG)
@_library
@_json
@click.pass_context
def orphans_command(ctx: click.Context, *, library: Path, as_data: bool) -> None:
    """Find cassettes without a scenario, and scenarios without a cassette on a surface that can play them."""
    found = list(inventory.known(files.find(library)))
    strays = list(inventory.strays(found))
    lacking = list(inventory.lacking(library))
    code = exits.decide(ctx, exits.code(failed=bool(strays or lacking), faults=_say_errors(found), ran=1))
    if as_data:
        data = {
            "cassettes": [{"path": s.place.shown, "origin": s.origin, "why": s.why} for s in strays],
            "scenarios": lacking,
        }
        click.echo(json_codec.encode(data))
    else:
        console.show(report.orphaned(strays, lacking))
        click.echo(f"{len(strays):,} cassettes without a scenario, {len(lacking):,} recordings lacking")
    ctx.exit(code)


@command.command(name="import", epilog=_EPILOG)
@options.paths
@click.option("--into", type=options.Output(folder=True), required=True, help="The library to put it in.")
@click.option("--note", help="Kept in the cassettes as given: whose work it is, under which licence.")
@click.option("--force", is_flag=True, help="Replace cassettes that are there already.")
@click.pass_context
def import_command(ctx: click.Context, *, paths: tuple[str, ...], into: Path, note: str | None, force: bool) -> None:
    """Take in other projects' recordings: cassettes of vcrpy and its kin, HAR files.

    Each file gives a cassette for every provider and wire in it, of origin "imported". Of headers only the content
    type is kept; the rest is scrubbed, and what the scanner still refuses is not written.
    """
    written = faults = 0
    for one in importer.take_in(list(paths), into, note=note, force=force):
        if isinstance(one, importer.Left):
            faults += one.fault
            click.echo(str(one), err=True)
            continue
        written += 1
        place = os.path.relpath(one.path, into)
        click.echo(f"{one.told.origin}  {Path(place).as_posix()}  {one.interactions:,} interactions of {one.source}")
    if not written and not faults:
        click.echo("nothing was taken in: no exchange of a known wire was found", err=True)
    ctx.exit(exits.code(faults=faults, ran=written))


def _chosen(ctx: click.Context, patterns: tuple[str, ...], library: Path) -> list[Place]:
    """Return the cassettes that match a pattern. Raises click.BadParameter for a pattern that matches none."""
    places = files.find(library)
    if not places:
        click.echo(f"no cassette is in {library}", err=True)
        ctx.exit(exits.NOTHING_RAN)
    for pattern in patterns:
        if not any(_fits(place, pattern) for place in places):
            raise _unknown(pattern, places)
    return [place for place in places if not patterns or any(_fits(place, one) for one in patterns)]


def _fits(place: Place, pattern: str) -> bool:
    return fnmatch.fnmatchcase(place.shown, pattern) or fnmatch.fnmatchcase(place.shown, f"*{pattern}*")


def _one(name: str, library: Path) -> Place:
    """Return the cassette at a path, or the only one that matches. Raises click.BadParameter."""
    if os.path.isfile(name):
        path = Path(name)
        return files.place_of(path, library if path.is_relative_to(library) else path.parent)
    places = files.find(library)
    exact = [place for place in places if place.shown in (name, name + files.SUFFIX)]
    fitting = exact or [place for place in places if _fits(place, name)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise _unknown(name, places)
    told = ", ".join(place.shown for place in fitting[:5]) + (", …" if len(fitting) > 5 else "")
    raise click.BadParameter(f"{name}: {len(fitting)} cassettes fit ({told})", param_hint="CASSETTE")


def _unknown(name: str, places: list[Place]) -> click.BadParameter:
    alike = nearest(name, {place.name for place in places if place.name})
    near = [place.shown for place in places if place.name in alike][:3]
    there = f"did you mean {' or '.join(near)}?" if near else "toolparity cassettes list shows them"
    return click.BadParameter(f"no cassette is called {name!r}; {there}", param_hint="CASSETTE")


def _drift(ctx: click.Context, places: list[Place], as_data: bool) -> None:
    """Play the scenarios against the real providers again and report differences. Writes no file, and exits."""
    from toolparity.cassettes.recorder import record
    from toolparity.cassettes.scripts import scripts
    from toolparity.cassettes.surfaces import surface

    rows: list[dict[str, Any]] = []
    faults = 0
    for place in places:
        row: dict[str, Any] = {"path": place.shown, "origin": None, "drifted": None, "error": None}
        try:
            told = files.provenance_of(place.path)
            row["origin"] = told.origin
            script = scripts().get(told.scenario or "")
            if script is None or told.surface is None:
                raise UnreadableCassette("no scenario is known that could be asked again")
            at = surface(told.surface)
            row["drifted"] = [str(one) for one in record.drift(place.path, script, at, record.live(at))]
        except ToolparityError as error:
            row["error"] = str(error)
            faults += 1
        rows.append(row)
        if not as_data:
            what = [row["error"]] if row["error"] else row["drifted"] or ["as recorded"]
            click.echo("\n".join([f"{row['origin'] or 'unknown'}  {place.shown}", *(f"    {line}" for line in what)]))
    if as_data:
        click.echo(json_codec.encode(rows))
    ctx.exit(exits.code(failed=any(row["drifted"] for row in rows), faults=faults, ran=len(rows)))


def _say_errors(found: list[inventory.Known]) -> int:
    """Print a line for each cassette without readable provenance. Return their number."""
    errors = [one.error for one in found if one.error is not None]
    for error in errors:
        click.echo(f"toolparity: {error}", err=True)
    return len(errors)
