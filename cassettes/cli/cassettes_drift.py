"""`toolparity cassettes drift`: the members in which real and emulated responses differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from toolparity.normalizer import json_codec

from ..library import RECORDED
from ..sources import Exchange, Problem, read
from . import exits

if TYPE_CHECKING:
    from ..recorder.drift import MemberDrift


@click.command(name="drift", epilog=exits.EPILOG)
@click.argument("live", type=click.Path(path_type=Path))
@click.argument("emulated", type=click.Path(path_type=Path), default=RECORDED)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Report members that are in at least this share of the messages of their kind.",
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Report a member of emulated messages only if at least N live responses could have it.",
)
@click.option("--proposals", is_flag=True, help="Print what to change in the emulated providers, one line each.")
@click.option("--json", "as_data", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def drift_command(
    ctx: click.Context, *, live: Path, emulated: Path, at_least: float, samples: int, proposals: bool, as_data: bool
) -> None:
    """Compare real responses with emulated ones, member by member. Exits with 1 if they differ.

    LIVE and EMULATED are files or folders in any format that `toolparity audit` reads; EMULATED is the shipped library
    by default. Responses whose header or provenance says that they are emulated are left out of LIVE, and those of real
    providers out of EMULATED. A difference is a member that only one side has, that has another type, or whose values
    are of another class: another word, an id with another prefix, a fraction.

    \b
    Examples:
      toolparity cassettes drift my-live-cassettes
      toolparity cassettes drift recordings/openai.chat.jsonl.gz --at-least 0.05
      toolparity cassettes drift my-live-cassettes --proposals
    """
    from ..recorder.drift import compared_surfaces, drift, is_emulated

    faults = 0
    sides: dict[str, list[Exchange]] = {"LIVE": [], "EMULATED": []}
    for name, path, other in (("LIVE", live, True), ("EMULATED", emulated, False)):
        exchanges, unread = _exchanges(path)
        faults += unread
        sides[name] = [one for one in exchanges if is_emulated(one) is not other]
        if left_out := len(exchanges) - len(sides[name]):
            what = "emulated responses" if other else "responses of real providers"
            click.echo(f"{path}: {left_out:,} {what} are not compared as {name}", err=True)
        if not sides[name]:  # nothing to compare with the other, which may be the whole shipped library
            break
    real, made = sides.values()
    surfaces = compared_surfaces(real, made)
    if not surfaces:
        click.echo("nothing to compare: LIVE and EMULATED have no responses of the same provider and wire", err=True)
        ctx.exit(exits.code(faults=faults, ran=0))
    found = drift(real, made, at_least=at_least)
    drifts = [one for one in found if one.difference != "only emulated" or one.samples >= samples]
    if unsure := len(found) - len(drifts):
        few = f"fewer than {samples:,} live responses could have them (--samples)"
        click.echo(f"{unsure:,} members that only emulated messages have are not reported: {few}", err=True)
    code = exits.decide(ctx, exits.code(failed=bool(drifts), faults=faults, ran=len(surfaces)))
    if as_data:
        counts = {name: {"live": real, "emulated": made} for name, (real, made) in surfaces.items()}
        click.echo(json_codec.encode({"surfaces": counts, "drifts": [_data(one) for one in drifts]}))
        ctx.exit(code)
    for name, (of_live, of_emulated) in surfaces.items():
        listed = [one for one in drifts if one.surface == name]
        click.echo(f"{name}: {of_live:,} live and {of_emulated:,} emulated responses, {len(listed):,} members differ")
        for one in listed:
            click.echo(f"  {one.proposal if proposals else _line(one)}")
    ctx.exit(code)


def _exchanges(path: Path) -> tuple[list[Exchange], int]:
    """Return the exchanges below a path, and in how many places it cannot be read; these go to standard error."""
    exchanges = []
    faults = 0
    for found in read(path):
        if not isinstance(found, Problem):
            exchanges.append(found)
        elif found.fault:
            faults += 1
            click.echo(str(found), err=True)
    return exchanges, faults


def _line(one: MemberDrift) -> str:
    what = f"{one.kind}: {one.path}" if one.path else one.kind
    both = {"only live": one.live, "only emulated": one.emulated}.get(
        one.difference
    ) or f"{one.live}, not {one.emulated}"
    return f"{one.difference}  {what}: {both} ({one.seen:,} of {one.messages:,})"


def _data(one: MemberDrift) -> dict[str, object]:
    return {**msgspec.to_builtins(one), "share": one.share, "proposal": one.proposal}
