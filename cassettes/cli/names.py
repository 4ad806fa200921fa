"""Names on the command line: an unknown name is a usage error that suggests the nearest names."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from textwrap import shorten
from typing import Any

import click

#: The maximum length of the list of names that is shown if none is near, in characters.
_LISTED = 100


def nearest(name: str, known: Collection[str]) -> list[str]:
    """Return up to three similar names, ignoring case: similar spellings first, then names that contain it."""
    folded = {one.casefold(): one for one in known}
    close = get_close_matches(name.casefold(), folded, cutoff=0.6)
    close += [one for one in folded if name and name.casefold() in one and one not in close]
    return [folded[one] for one in close[:3]]


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Return the error message for an unknown name."""
    near = nearest(name, known)
    there = f"known: {shorten(', '.join(known), _LISTED, placeholder=' …')}"
    if near:
        there = f"did you mean {' or '.join(near)}?"
    return f"unknown {what}: {name!r}; {there}"


def must_fit(
    what: str, patterns: Iterable[str], known: Collection[str], option: str | None = None, others: str = ""
) -> None:
    """Raise click.BadParameter for the first pattern that matches none of the names.

    ``others``: a clause for the message about names that are not in a table.
    """
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in known):
            raise click.BadParameter(unknown(what, pattern, known) + others, param_hint=option)


class Named(click.Choice):  # type: ignore[type-arg, unused-ignore]
    """A parameter type: one of a table's names."""

    def __init__(self, what: str, known: Iterable[str]) -> None:
        super().__init__(list(known))
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(unknown(self._what, str(value), self.choices), param, ctx)
        return value


class Group(click.Group):
    """A group that suggests the nearest command for an unknown name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(unknown("command", name, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)
