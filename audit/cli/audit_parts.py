"""`toolparity audit part` and `toolparity audit merge`: an audit of input that is too large for one machine."""

from __future__ import annotations

from pathlib import Path

import click

from toolparity.cassettes.cli import exits, options
from toolparity.cassettes.cli.console import Problems, ProgressBar
from toolparity.cassettes.sources import disk_size
from toolparity.normalizer.model import Policy, Wire

from ..bulk.merging import merge_parts
from ..bulk.part_files import PartFile
from ..bulk.shares import write_part
from ..conversations.audit import FINDINGS_KEPT
from ..options import AuditOptions
from ..sarif import KEPT
from .audit_output import check_outputs, output_options, show


class ShareOf(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A share of the input: its number, and the number of shares."""

    name = "K/N"

    def convert(
        self, value: str | tuple[int, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, slash, of = value.partition("/")
        if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            self.fail(f"{value!r} is not a share such as 3/16, from 1/16 to 16/16", param, ctx)
        return int(number), int(of)


@click.command(name="part", epilog=exits.EPILOG)
@options.paths
@click.option(
    "-o",
    "--output",
    "target",
    type=options.OutputFile(stdout=False),
    metavar="FILE",
    required=True,
    help="The part file to write. An existing one is replaced at the end.",
)
@click.option(
    "--share",
    type=ShareOf(),
    help="Audit the share K of N shares of the input, which are about equal in bytes. Files of plain JSON lines and "
    "Parquet files are cut.",
)
@options.policy
@options.limit
@options.wire
@options.format
@options.column
@options.jobs
@click.pass_context
def part(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    target: Path,
    share: tuple[int, int] | None,
    policy: Policy,
    limit: int | None,
    wire: Wire | None,
    format: str | None,
    columns: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Audit a part of the input and write the result to a part file, for `toolparity audit merge`.

    A part file has figures, and for each exchange fingerprints, ids, and excerpts of at most 160 characters, but no
    bodies. Run this command on as many machines as needed, each with other paths, or all with the same paths and
    another share.

    \b
    Examples:
      toolparity audit part logs/monday -o monday.part
      toolparity audit part --share 3/16 logs/ -o 3.part
      toolparity audit part --share $SLURM_ARRAY_TASK_ID/16 logs/ -o $SLURM_ARRAY_TASK_ID.part
    """
    size = disk_size(paths) // (1 if share is None else share[1])
    with ProgressBar(size, "auditing") as progress, Problems(progress.note) as problems:
        written = write_part(
            target,
            paths,
            AuditOptions(policy, limit, wire, format, columns),
            share=share,
            jobs=jobs or 0,
            on_problem=problems.add,
            on_progress=progress.advance,
        )
    click.echo(f"{target}: {written.exchanges:,} exchange{'' if written.exchanges == 1 else 's'}", err=True)
    ctx.exit(exits.FAULT if written.faults else exits.ALL_WELL)


@click.command(name="merge", epilog=exits.EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_options
@click.pass_context
def merge(
    ctx: click.Context,
    *,
    files: tuple[Path, ...],
    fail_on: tuple[str, ...],
    as_data: bool,
    page: Path | None,
    sarif: Path | None,
) -> None:
    """Merge part files into the audit of the whole input.

    The result is that of `toolparity audit` on one machine, however the input was cut and whatever the order of the
    files. The order of the input is that of a directory: names, with the numbers in them by value. A file that is
    missing, passed twice, or made with other options is an error.

    \b
    Examples:
      toolparity audit merge *.part
      toolparity audit merge --fail-on dropped-in-fact --html audit.html *.part
    """
    check_outputs(as_data=as_data, page=page, sarif=sarif)
    parts = [PartFile(str(file), file) for file in files]
    ranges = sum(len(part.description.ranges) for part in parts)
    with ProgressBar(ranges, "merging") as progress, Problems(progress.note) as problems:
        merged = merge_parts(
            parts, kept=KEPT if sarif else FINDINGS_KEPT, on_problem=problems.add, on_progress=progress.advance
        )
    limit, policy = merged.options.limit, merged.options.policy
    show(ctx, merged.audit, policy=policy, limit=limit, fail_on=fail_on, as_data=as_data, page=page, sarif=sarif)


#: The commands below `toolparity audit`, by name.
COMMANDS: dict[str, click.Command] = {"part": part, "merge": merge}
