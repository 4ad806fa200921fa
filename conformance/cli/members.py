"""Shows which members real providers send and no case of the suite has, with the reason for each.

    python -m toolparity.conformance.cli.members RECORDING...

RECORDING is a file or a folder in any format that `toolparity audit` reads; emulated responses in it are left out. The
suite's cases are the recorded cassettes, the played scripts and the written bodies of the scenarios. Reasons are in
`conformance/cases/members.toml`. Exits with 1 if a member has none.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from tabulate import tabulate

from toolparity.cassettes.recorder.drift import MemberDrift, compared_surfaces, drift, is_emulated
from toolparity.cassettes.sources import Exchange, Problem, read
from toolparity.cassettes.surfaces import SURFACES

from .. import cases
from ..cases.scenarios import scenarios
from ..cases.traffic import responses

_REASONS = resources.files(cases) / "members.toml"


class LeftOut(Struct, frozen=True, forbid_unknown_fields=True):
    """Members that no case has. ``surface``, ``kind``, and each of ``members``: a pattern in which * is a wildcard.

    [ ] match themselves. A member below one that matches is left out with it.
    """

    surface: str
    members: list[str]
    reason: str
    kind: str = "*"

    def concerns(self, member: MemberDrift) -> bool:
        """Return whether the reason is about this member."""
        return (
            _matches(member.surface, self.surface)
            and _matches(member.kind, self.kind)
            and any(_matches(member.path, one) or _matches(member.path, f"{one}*") for one in self.members)
        )


def _matches(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def left_out() -> list[LeftOut]:
    """Return the reasons."""
    return msgspec.convert(tomllib.loads(_REASONS.read_text("utf-8"))["left_out"], list[LeftOut])


def emulated(*, written: bool = True) -> Iterator[Exchange]:
    """Yield the responses of all cases. ``written``: also the bodies that are written by hand."""
    for scenario in scenarios().values():
        if scenario.script is None and not written:
            continue
        for surface in scenario.surfaces:
            for response in (one for mode in scenario.modes(surface) for one in responses(scenario.id, surface, mode)):
                at = SURFACES[surface]
                frames = response.pieces if at.by_messages else None
                yield Exchange(
                    source=f"{response.source}#1",
                    provider=response.provider or at.provider,
                    wire=at.wire,
                    stream=response.stream,
                    status=response.status,
                    body=None if frames is not None else b"".join(response.pieces),
                    frames=frames,
                )


def _recorded(paths: Iterable[Path]) -> tuple[list[Exchange], int]:
    """Return the responses of real providers, and how many places cannot be read; these go to standard error."""
    real, faults = [], 0
    for found in (found for path in paths for found in read(path)):
        if isinstance(found, Problem):
            faults += found.fault
            if found.fault:
                click.echo(str(found), err=True)
        elif not is_emulated(found):
            real.append(found)
    return real, faults


def _only_live(real: list[Exchange], made: Iterable[Exchange]) -> list[MemberDrift]:
    return [one for one in drift(real, made, at_least=0) if one.difference == "only live"]


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(recordings: Sequence[Path]) -> None:
    """Show which members real providers send and no case of the suite has, with the reason for each."""
    real, faults = _recorded(recordings)
    made = list(emulated())
    surfaces = compared_surfaces(real, made)
    if not surfaces:
        click.echo("nothing to compare: the recordings have no response of a real provider on a surface", err=True)
        raise SystemExit(4 if faults else 5)
    by_scripts = Counter(one.surface for one in _only_live(real, emulated(written=False)))
    missing, reasons = _only_live(real, made), left_out()
    found = [(one, next((reason for reason in reasons if reason.concerns(one)), None)) for one in missing]
    rows: list[tuple[str, int, int, int, int, int]] = []
    for name, (live, of_suite) in surfaces.items():
        listed = [reason for one, reason in found if one.surface == name]
        rows.append((name, live, of_suite, by_scripts[name], len(listed), listed.count(None)))
    total = ("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    heads = ["surface", "recorded", "cases", "only recorded: without written", "with written", "without a reason"]
    click.echo(tabulate([*rows, total], heads, intfmt=","))
    for one, reason in found:
        what = f"{one.surface} {one.kind} {one.path} ({one.seen:,} of {one.messages:,})"
        click.echo(f"{what}: {'NO REASON' if reason is None else reason.reason}")
    for unused in [one for one in reasons if all(one is not reason for _, reason in found)]:
        click.echo(f"no recorded member is left out for: {unused.surface} {unused.members}: {unused.reason}", err=True)
    raise SystemExit(4 if faults else 1 if any(reason is None for _, reason in found) else 0)


if __name__ == "__main__":
    main()
