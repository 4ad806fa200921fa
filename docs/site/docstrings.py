"""What the docstrings of this project need to become reference: an extension of Griffe, which mkdocstrings reads with.

Comments ``#:`` before a constant become its docstring. Descriptions of parameters and fields in a paragraph become a
list. Names of public objects and errors become links. Structs get the signature of their fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import griffe

from docs.generate import ROOT
from docs.site import reference

_ITEM = re.compile(r"(?:^|(?<=[.;:,] ))(?=``\*{0,2}\w+(?:``(?:, | and )``\w+)*``: )")
_NAME = re.compile(r"(?<!`)`([\w.]+)(?:\(\))?`(?!`)")
_ERROR = re.compile(r"(?<![\w`.\[])([A-Z]\w+)\b(?![`\]])")


class Docstrings(griffe.Extension):
    """See the module."""

    def __init__(self, repository: str) -> None:
        self.repository = repository
        self.seen: set[str] = set()

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """Public name without its module -> its paths."""
        found: dict[str, list[str]] = {}
        for page in reference.pages():
            for module, names in page.names.items():
                for name in names:
                    found.setdefault(name, []).append(f"{module}.{name}")
        return found

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object, once."""
        if obj.path in self.seen:
            return
        self.seen.add(obj.path)
        if obj.is_attribute and obj.docstring is None and (text := _comment(obj)):
            obj.docstring = griffe.Docstring(text, parent=obj)
        if obj.docstring:
            obj.docstring.value = self.rendered(obj)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Give structs the signature of their fields, and show only bases that mean something to a reader."""
        classes = [*_classes(pkg)]
        for cls in classes:
            if "__init__" not in cls.members and _is_struct(cls):
                parameters = griffe.Parameters(griffe.Parameter("self"), *_fields(cls))
                cls.set_member("__init__", griffe.Function("__init__", parameters=parameters, lineno=cls.lineno))
        for cls in classes:
            cls.bases = [
                base
                for base in cls.bases
                if not re.match(r"_|Struct\b|NamedTuple|TypedDict|Protocol", str(base).rpartition(".")[2])
            ]

    def rendered(self, obj: griffe.Object) -> str:
        """Return the Markdown of a docstring."""
        assert obj.docstring
        paragraphs = []
        for paragraph in obj.docstring.value.split("\n\n"):
            if paragraph.startswith("    "):  # code
                paragraphs.append(paragraph)
                continue
            text = (
                " ".join(paragraph.split("\n"))
                if "\n|" not in paragraph and not paragraph.startswith("- ")
                else paragraph
            )
            text = _NAME.sub(lambda name: self.link(name[1], obj.path, name[0]), text)
            if text.startswith("Raises ") or " Raises " in text:
                text = _ERROR.sub(lambda name: self.link(name[1], obj.path, name[0]), text)
            head, *items = _ITEM.split(text)
            paragraphs.append(
                "\n\n".join(filter(None, (head.strip(), "\n".join(f"- {item.strip()}" for item in items))))
            )
        if obj.path in self.sources:
            file = obj.filepath.resolve().relative_to(ROOT).as_posix()
            paragraphs.append(f'<a class="source" href="{self.repository}/blob/main/{file}#L{obj.lineno}">Source</a>')
        return "\n\n".join(paragraphs)

    @cached_property
    def sources(self) -> set[str]:
        """The paths at which public classes and functions are defined."""
        values = (
            getattr(import_module(module), name)
            for page in reference.pages()
            for module, names in page.names.items()
            for name in names
        )
        return {f"{value.__module__}.{value.__qualname__}" for value in values if hasattr(value, "__qualname__")}

    def link(self, name: str, near: str, otherwise: str) -> str:
        """Return a link to the public object of this name, the nearest one of several."""
        last = name.rpartition(".")[2]
        owner = name.split(".")[-2] if "." in name else ""
        paths = self.paths.get(last) or (self.paths.get(owner, []) if owner[:1].isupper() else [])
        if not paths or (
            last[:1].islower() and len(last) < 7 and "." not in name and not near.startswith("toolparity.turns")
        ):
            return otherwise
        path = max(paths, key=lambda path: len(_common(path, near)))
        return f"[`{name}`][{path}]"


def _common(one: str, other: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[:length]


def _comment(attr: griffe.Object) -> str:
    lines: list[str] = []
    for line in reversed(attr.lines_collection[attr.filepath][: (attr.lineno or 1) - 1]):
        if not line.strip().startswith("#: "):
            break
        lines.insert(0, line.strip()[3:])
    return "\n".join(lines)


def _classes(obj: griffe.Object) -> Iterator[griffe.Class]:
    for member in obj.members.values():
        if not member.is_alias and (member.is_module or member.is_class):
            if member.is_class:
                yield member
            yield from _classes(member)


def _is_struct(cls: griffe.Class) -> bool:
    try:
        bases = [str(base) for each in (cls, *cls.mro()) for base in each.bases]
    except ValueError:
        bases = [str(base) for base in cls.bases]
    return any(base.rpartition(".")[2] in ("Struct", "NamedTuple", "TypedDict") for base in bases)


def _fields(cls: griffe.Class) -> list[griffe.Parameter]:
    members = {name: member for each in (*reversed(cls.mro()), cls) for name, member in each.members.items()}
    return [
        griffe.Parameter(
            name,
            annotation=member.annotation,
            kind=griffe.ParameterKind.positional_or_keyword,
            default=member.value,
        )
        for name, member in members.items()
        if member.is_attribute and not member.is_alias and member.annotation and not name.startswith("_")
        if "ClassVar" not in str(member.annotation) and "property" not in member.labels
    ]
