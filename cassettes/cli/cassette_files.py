"""`toolparity cassettes scan`, `scrub`, `check` and `convert`: cassettes of any project, wherever they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import click

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import ToolparityError

from .. import interchange
from ..errors import CassetteNotConverted, CassetteNotWritten
from ..library import importer
from ..library.writing import replace
from ..maintenance import adopting, checking, files, scanning, scrubbing, secret_rules
from ..workers import cores, in_order
from . import cassette_files_report as report
from . import console, exits, options
from .console import ProgressBar
from .names import Named

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Up to this many files are read in this process.
_FEW = 16
_EPILOG = exits.EPILOG
_json = click.option("--json", "as_data", is_flag=True, help="Print the result as JSON.")


def _each(function: Callable[[Item], Result], items: list[Item], jobs: int | None, label: str) -> Iterator[Result]:
    """Apply a function to each file, with a progress bar. A few files are read here: starting workers takes longer."""
    count = jobs or cores()
    several = count > 1 and len(items) > _FEW
    results = in_order(function, items, count, function.__module__) if several else map(function, items)
    with ProgressBar(len(items), label) as progress:
        for result in results:
            yield result
            progress.advance(1)


@click.command(name="scan", epilog=_EPILOG)
@options.paths
@options.jobs
@click.option(
    "--only",
    type=Named("level", ["credentials", "all"]),
    default="all",
    show_default=True,
    help="What counts as found: credentials only, or identifiers of accounts, persons and requests as well.",
)
@_json
@click.pass_context
def scan_command(ctx: click.Context, *, paths: tuple[str, ...], jobs: int | None, only: str, as_data: bool) -> None:
    """Find secrets in cassettes of any project. Exits with 1 if it finds any, and changes no file.

    Reads cassettes of vcrpy, cassetter, VCR for Ruby and R, Betamax and Polly.js, HAR files, and recordings as JSON
    lines. For each secret it prints the kind and the place, never the secret itself: the interaction, the part, the
    path inside, the first characters, the length, and the entry that allows the value. Streams are joined and
    compressed bodies are unpacked before they are searched. The values of the environment's own keys are searched as
    well.

    \b
    Examples:
      toolparity cassettes scan my-cassettes
      toolparity cassettes scan . --only credentials --json
    """
    scanned = [
        result
        for result in _each(scanning.scan_file, list(files.find(list(paths))), jobs, "scanning")
        if not result.skipped
    ]
    level = "credential" if only == "credentials" else None
    found = sum(bool(report.leaks(result, level)) for result in scanned)
    faults = sum(result.error is not None for result in scanned)
    if as_data:
        click.echo(json_codec.encode(report.scanned_json(scanned, level)))
    else:
        console.show(report.scanned(scanned, level))
    ctx.exit(exits.decide(ctx, exits.code(failed=bool(found), faults=faults, ran=len(scanned))))


@click.command(name="scrub", epilog=_EPILOG)
@options.paths
@options.jobs
@click.option("--in-place", is_flag=True, help="Replace the files.")
@click.option("--into", type=options.OutputFile(folder=True), help="Write copies to this directory.")
@_json
@click.pass_context
def scrub_command(
    ctx: click.Context, *, paths: tuple[str, ...], jobs: int | None, in_place: bool, into: Path | None, as_data: bool
) -> None:
    """Replace secrets in cassettes of any project by placeholders.

    Without --in-place or --into, no file is written, and the exit code is 1 if a file would change.

    A placeholder has the length of the secret, so that lengths, offsets and protobuf messages stay valid, and equal
    secrets get equal placeholders in all files. Headers keep their names. Comments, quotes and line breaks of the file
    stay, and a file without secrets is not touched. A file is written completely or not at all, and only if it has the
    same shape as before and the scanner finds no credential in it.

    If an address changes, vcrpy matches the original request only with the same scrubber, and the report names the
    interaction:

    \b
      from toolparity.cassettes.secrets import Scrubber
      vcr.VCR(before_record_request=Scrubber(drop_headers=False).before_record_request)

    \b
    Examples:
      toolparity cassettes scrub my-cassettes
      toolparity cassettes scrub my-cassettes --in-place
      toolparity cassettes scrub old.yaml --into clean
    """
    if in_place and into is not None:
        raise click.UsageError("--in-place and --into exclude each other")
    scrubjobs = []
    targets: set[str] = set()
    for path, found in files.find(list(paths)):
        target = path if in_place else None if into is None else str(into / _relative(path, paths))
        scrubjobs.append(scrubbing.ScrubJob(path, found, target, clashes=into is not None and target in targets))
        targets.add(target or "")
    results = [result for result in _each(scrubbing.scrub_file, scrubjobs, jobs, "scrubbing") if not result.skipped]
    pending = not in_place and into is None and any(result.values for result in results)
    faults = sum(result.error is not None for result in results)
    if as_data:
        click.echo(json_codec.encode(report.scrubbed_json(results)))
    else:
        console.show(report.scrubbed(results, written=in_place or into is not None))
    ctx.exit(exits.decide(ctx, exits.code(failed=pending, faults=faults, ran=len(results))))


@click.command(name="secrets", epilog=_EPILOG)
@click.option("--check-rules", is_flag=True, required=True, help="Try the scrubber with secrets of the rule sets.")
@click.option("--count", type=click.IntRange(1, 100), default=2, show_default=True, help="Secrets for each rule.")
@_json
@click.pass_context
def secrets_command(ctx: click.Context, *, check_rules: bool, count: int, as_data: bool) -> None:
    """Try the scrubber with secrets of maintained rule sets. Exits with 1 if one stays without a known reason.

    The rules of gitleaks and detect-secrets describe the forms of keys of many vendors. For each rule, secrets of its
    form are drawn and put into the contexts of gitleaks' own tests, such as an assignment in a configuration.

    \b
    Example:
      toolparity cassettes secrets --check-rules
    """
    tried = list(secret_rules.tried_rules(count))
    if as_data:
        click.echo(json_codec.encode(tried))
    else:
        console.show(report.tried_rules(tried, secret_rules.sources()))
    unknown = any(rule.kept and rule.reason is None for rule in tried)
    ctx.exit(exits.decide(ctx, exits.code(failed=unknown, ran=len(tried))))


@click.command(name="check", epilog=_EPILOG)
@options.paths
@options.jobs
@_json
@click.pass_context
def check_command(ctx: click.Context, *, paths: tuple[str, ...], jobs: int | None, as_data: bool) -> None:
    """Verify cassettes without provenance, as far as that is possible. Exits with 1 if a check fails.

    \b
    readable   a known format, with interactions that are complete
    scrubbed   the scanner finds no credential
    decodes    the normalizer reads every response of a model, and its tool calls
    replays    plain vcrpy plays every interaction, without a network

    The result lists what was not checked, because only a provenance shows it: changes since the recording, whether the
    answers are real, and the client. `toolparity cassettes verify` checks cassettes with provenance.
    """
    verdicts = [
        verdict
        for verdict in _each(checking.check_file, list(files.find(list(paths))), jobs, "checking")
        if verdict is not None
    ]
    problems = [problem for verdict in verdicts for problem in verdict.problems]
    faults = sum(problem.fault or problem.unread for problem in problems)
    if as_data:
        click.echo(json_codec.encode(report.checked_json(verdicts)))
    else:
        console.show(report.checked(verdicts))
    ctx.exit(exits.decide(ctx, exits.code(failed=len(problems) > faults, faults=faults, ran=len(verdicts))))


@click.command(name="convert", epilog=_EPILOG)
@options.paths
@click.option("--to", "target", type=Named("format", interchange.FORMATS), required=True, help="The format to write.")
@click.option("--into", type=options.OutputFile(folder=True), required=True, help="The directory to write to.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.pass_context
def convert_command(ctx: click.Context, *, paths: tuple[str, ...], target: str, into: Path, force: bool) -> None:
    """Convert cassettes to another format without a loss, or refuse.

    The formats are vcrpy, cassetter, vcr-ruby, betamax, har, polly and recordings (our JSON lines); the source's is
    recognized. Every result is read again and compared with the source: methods, addresses, headers with several
    values, statuses and each byte of the bodies. If anything differs, the file is not written, and the message names
    the place. Members that the target has no name for, such as the timings of a HAR, go into an additional member
    (`toolparity`, in HAR `_toolparity`) that the target's tool ignores, and come back with the next conversion.

    Secrets stay as they are: scrub the cassettes first.

    \b
    Examples:
      toolparity cassettes convert my-cassettes --to har --into converted
      toolparity cassettes convert spec/chat.yml --to vcrpy --into my-cassettes
    """
    written = refused = faults = 0
    places: set[Path] = set()
    for path, found in files.find(list(paths)):
        place = into / Path(_relative(path, paths)).with_suffix(interchange.FORMATS[target].suffix)
        try:
            document, known = files.load(path)
            content = known.read(document.data)
        except ToolparityError as error:
            if not (found and error.what == "not a cassette"):
                faults += 1
                error.where = error.where or path
                click.echo(str(error), err=True)
            continue
        try:
            replace(place, interchange.convert(content, target), (), None if force and place not in places else _absent)
        except ToolparityError as error:
            if isinstance(error, CassetteNotConverted | _AlreadyExists):
                refused += 1
            else:
                faults += 1
            error.where = error.where or path
            click.echo(str(error), err=True)
            continue
        written += 1
        places.add(place)
        click.echo(f"{known.name} -> {target}  {place}  {len(content.interactions):,} interactions")
    ctx.exit(exits.code(failed=bool(refused), faults=faults, ran=written + refused))


@click.command(name="adopt", epilog=_EPILOG)
@options.paths
@click.option("--into", type=options.OutputFile(folder=True), required=True, help="The library to write to.")
@click.option("--note", help="Text for the provenance, such as the author and the licence.")
@click.option("--force", is_flag=True, help="Replace existing cassettes.")
@click.pass_context
def adopt_command(ctx: click.Context, *, paths: tuple[str, ...], into: Path, note: str | None, force: bool) -> None:
    """Copy cassettes of other projects to a library, with provenance "imported", digest and seal.

    The files themselves do not change: each copy is DIRECTORY/PROVIDER/WIRE/NAME.yaml, scrubbed. Like `import`, but a
    file stays one cassette with all its interactions in their order, and with the headers that a library keeps. It is
    refused if its interactions are of several wires, or of none, or both streamed and plain: `import` makes one
    cassette for each.
    """
    ctx.exit(
        imported(importer.import_files(list(paths), into, note=note, force=force, whole=adopting.interactions_of), into)
    )


def imported(results: Iterator[importer.Imported | importer.Skipped], into: Path) -> int:
    """Print each cassette that was written, and what was skipped. Return the exit code."""
    written = faults = 0
    for result in results:
        if isinstance(result, importer.Skipped):
            faults += result.fault
            click.echo(str(result), err=True)
            continue
        written += 1
        place = os.path.relpath(result.path, into)
        count = f"{result.interactions:,} interactions of {result.source}"
        click.echo(f"{result.provenance.origin}  {Path(place).as_posix()}  {count}")
    if not written and not faults:
        click.echo("nothing was imported: the input has no exchange of a known wire", err=True)
    return exits.code(faults=faults, ran=written)


def _relative(path: str, roots: tuple[str, ...]) -> str:
    """Return a path below the argument that it was found in; of an argument that is a file, its name."""
    root = next((root for root in roots if os.path.isdir(root) and Path(path).is_relative_to(root)), None)
    return os.path.basename(path) if root is None else os.path.relpath(path, root)


class _AlreadyExists(CassetteNotWritten):
    """A file of this name exists, or another file of the same run was written to it."""


def _absent(path: Path) -> None:
    if os.path.lexists(path):
        raise _AlreadyExists("the file already exists", where=os.fspath(path), hint="replace it with --force")


COMMANDS: tuple[click.Command, ...] = (
    scan_command,
    scrub_command,
    check_command,
    secrets_command,
    convert_command,
    adopt_command,
)
