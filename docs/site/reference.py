"""The pages of the reference that are generated: Python (`api.toml`), commands, laws, losses and request rules."""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from toolparity.cli import main
from toolparity.conformance.laws import LAWS, SERVER_LAWS
from toolparity.normalizer.schemas import TOOL_LOSSES
from toolparity.normalizer.wires.registry import WIRES, spec
from toolparity.normalizer.wires.write_context import LOSSES

#: Public name -> where it is defined, for names that a module has, too: a path could mean either.
SHADOWED = {
    "toolparity.textmode.detect": "toolparity.normalizer.textmode.detect.detect",
    "toolparity.turns.orchestration.rerun": "toolparity.turns.orchestration.rerun.rerun",
}


class Page(NamedTuple):
    """A page of the Python reference. ``names``: module -> its public names on this page."""

    file: str
    title: str
    text: str
    names: dict[str, list[str]]

    def markdown(self) -> str:
        """Return the page, for mkdocstrings."""
        parts = [f"# {self.title}\n\n{self.text}\n"]
        for module, names in self.names.items():
            for path in (f"{module}.{name}" for name in names):
                home = SHADOWED.get(path, path)
                parts.append(f"::: {home}\n" + (f"    options:\n      heading: {path}\n" if home != path else ""))
        return "\n".join(parts)


@cache
def public(module: str) -> tuple[str, ...]:
    """Return the public names of a module: ``__all__``, else the classes that it defines."""
    home = import_module(module)
    own = (name for name, value in inspect.getmembers(home, inspect.isclass) if value.__module__ == module)
    return tuple(getattr(home, "__all__", own))


def pages() -> list[Page]:
    """Return the pages of `api.toml`. Raises ValueError if a public name is on none, or on two."""
    listed = [Page(**page) for page in tomllib.loads(Path(__file__).with_name("api.toml").read_text("utf-8"))["page"]]
    named = [f"{module}.{name}" for page in listed for module, names in page.names.items() for name in names.split()]  # type: ignore[attr-defined]
    found = []
    for page in listed:
        names: dict[str, list[str]] = {}
        for module, words in page.names.items():
            rest = [name for name in public(module) if f"{module}.{name}" not in named]
            names[module] = [name for word in words.split() for name in (rest if word == "*" else [word])]  # type: ignore[attr-defined]
        found.append(page._replace(names=names))
    documented = [f"{module}.{name}" for page in found for module, names in page.names.items() for name in names]
    modules = {module for page in found for module in page.names if hasattr(import_module(module), "__all__")}
    wrong = {f"{module}.{name}" for module in modules for name in public(module)} - {*documented}
    if wrong or len({*documented}) < len(documented):
        raise ValueError(f"api.toml must have each public name on one page: {', '.join(sorted(wrong)) or 'repeated'}")
    return found


def _table(head: str, rows: Iterable[Iterable[Any]]) -> str:
    cells = (" | ".join(re.sub(r"\s+", " ", str(cell)).replace("|", "\\|") for cell in row) for row in rows)
    return f"| {head} |\n{'|---' * (head.count('|') + 1)}|\n" + "".join(f"| {row} |\n" for row in cells)


def laws() -> str:
    """Return the page of the laws."""
    rows = (
        (f"`{law.id}`", law.level, law.sentence, ", ".join(f"`{claim}`" for claim in sorted(law.claims)) or "always")
        for law in (*LAWS.values(), *SERVER_LAWS.values())
    )
    return f"""# Laws

What the suite requires of an implementation. A law applies to a case if the subject claims what the last column names
([subjects](../subjects.md)). `stream-form` judges gateways and stand-in providers only.

{_table("law | level | what it requires | applies with", rows)}"""


def losses() -> str:
    """Return the page of the losses."""
    adapted = ((f"`{code}`", effect, meaning) for code, (effect, meaning) in TOOL_LOSSES.items())
    return f"""# Losses

## Losses of requests

`write_request` reports what the target wire or provider cannot express, in `losses`.
[Features of the wires](../wire-features.md) has the losses between each two wires.

{_table("code | what it means", ((f"`{code}`", meaning) for code, meaning in LOSSES.items()))}

## Losses of tool definitions

`adapt_tools` reports what it changes. The effect is that on the arguments: *exact* maps every value there and back,
*widens* accepts values that the original rejects, *narrows* cannot express some that it accepts, and *describes*
changes a description only.

{_table("code | effect | what it means", adapted)}"""


def _rules() -> Iterator[str]:
    for wire in WIRES:
        rules = spec(wire).part("rules").RULES
        rows = (
            (f"`{rule.id}`", rule.reason, ", ".join(sorted(rule.providers or ())) or "all", rule.status, rule.source)
            for rule in rules
        )
        yield f"## {wire}\n\n" + _table("rule | what the provider refuses | providers | status | source", rows)


def rules() -> str:
    """Return the page of the request rules."""
    return (
        "# Request rules\n\nWhat providers refuse. `check_request` finds it before a request is sent, and stand-in "
        "providers refuse it\nwith the status. Identifiers like ORD-04 are failures reported from the field.\n\n"
    ) + "\n".join(_rules())


def _escaped(text: str) -> str:
    return re.sub(r"[\[<*]", r"\\\g<0>", text)


def _commands(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (sub := command.get_command(context, name)) and not sub.hidden:
                yield from _commands(sub, f"{path} {name}")
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {path}\n\n```text\n{path} {usage}\n```\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        kept = paragraph.removeprefix("\b\n")  # click's mark of lines that it does not wrap
        yield f"```text\n{textwrap.dedent(kept)}\n```\n" if kept != paragraph else f"{_escaped(paragraph)}\n"
    options = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    yield _table("option | what it does", ((f"`{name}`", _escaped(text)) for name, text in options if name != "--help"))


def commands() -> str:
    """Return the page of the commands and their options."""
    head = (
        "# All options\n\n[Command line](../command-line.md) has an overview of the commands, and the exit codes.\n\n"
    )
    return head + "\n".join(_commands(main, "toolparity"))


def files() -> dict[str, str]:
    """Return the generated pages by their paths in the site."""
    tables = {"laws": laws, "losses": losses, "rules": rules, "commands": commands}
    return {
        **{f"api/{page.file}": page.markdown() for page in pages()},
        **{f"reference/{name}.md": page() for name, page in tables.items()},
    }
