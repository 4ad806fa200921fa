"""Skeletons of subjects in several languages, which `toolparity subject new` writes.

``common`` has the files of every skeleton, ``<language>/shared`` those of every kind of a language, and
``<language>/<kind>`` those of one kind. A kind may also use further folders of a language. The placeholder
``{{name}}`` is replaced by the name of the project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class Language(Struct, frozen=True):
    """What the README of a skeleton says about a language.

    ``needs``: the tools to install. ``build``: the command that builds the subject, "" if none is needed. ``subject``:
    the argument that selects the subject, quoted for a shell. ``entry``: the file with the declarations. ``module``:
    the path of a module, with ``{}`` for its name. ``note``: a sentence about the build, or "".
    """

    needs: str
    build: str
    subject: str
    entry: str
    module: str
    note: str = ""


class Kind(Struct, frozen=True):
    """What the README of a skeleton says about a kind of subjects.

    ``input``: how a response reaches the subject. ``stand_in``: the module whose place the user's software takes.
    ``replaced_by``: what takes this place. ``parts``: further folders with templates.
    """

    input: str
    stand_in: str
    replaced_by: str
    parts: tuple[str, ...]


LANGUAGES: dict[str, Language] = {
    "python": Language("Python 3.11 or newer", "", "parity_subject:Subject", "parity_subject.py", "{}.py"),
    "node": Language("Node 18 or newer", "", '"exec:node subject.mjs"', "subject.mjs", "{}.mjs"),
    "go": Language(
        "Go 1.19 or newer",
        "go build -o subject .",
        "exec:./subject",
        "main.go",
        "{}.go",
        "Below a folder with a `go.work` that does not list this one, set `GOWORK=off`.",
    ),
    "rust": Language(
        "Rust 1.74 or newer",
        "cargo build --release",
        "exec:target/release/subject",
        "src/main.rs",
        "src/{}.rs",
    ),
}
KINDS: dict[str, Kind] = {
    "reader": Kind("It gets the bytes of each response.", "openai_chat", "library", ("chat",)),
    "base_url": Kind(
        "It gets an address, and fetches each response with its own client.",
        "openai_chat",
        "library",
        ("chat", "client"),
    ),
    "agent": Kind(
        "It gets an address and tools, asks a model there, and runs the tools that the model calls.",
        "agent",
        "agent",
        ("client",),
    ),
}


def project_name(folder: Path) -> str:
    """Return the name of the project in a folder, in the characters that package names may have in all languages."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    return name if name[:1].isalpha() else f"subject-{name}".rstrip("-")


def write(folder: Path, language: str, kind: str) -> list[Path]:
    """Write the skeleton into a folder, which is created if it does not exist, and return the files, sorted.

    ``language``: a key of `LANGUAGES`. ``kind``: a key of `KINDS`. Raises FileExistsError if the folder is not empty,
    and OSError if a file cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists and is not an empty folder")
    chosen, chosen_kind = LANGUAGES[language], KINDS[kind]
    note = f"{chosen.note}\n\n" if chosen.note else ""
    values = {
        "name": project_name(folder),
        "input": chosen_kind.input,
        "needs": chosen.needs,
        "build": f"Build it first:\n\n```sh\n{chosen.build}\n```\n\n{note}" if chosen.build else "",
        "subject": chosen.subject,
        "entry": chosen.entry,
        "stand_in": chosen.module.format(chosen_kind.stand_in),
        "replaced_by": chosen_kind.replaced_by,
    }
    sources = _files(HERE / "common")
    for part in ("shared", *chosen_kind.parts, kind):
        sources |= _files(HERE / language / part)
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(source.read_text("utf-8"), values), "utf-8")
    return sorted(folder / name for name in sources)


def _files(folder: Path) -> dict[str, Path]:
    """Return the template files below a folder by their relative paths."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path for path in found}


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
