"""The tables of the dialects of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docs.generate import filled
from toolparity.normalizer.wires.openai_chat.profiles import PROFILES, RECORDED, TRAITS, Trait

#: Traits whose values are words of this page, not of the wire.
_WORDS = ("indexes", "arguments", "usage")


def _cell(name: str, trait: Trait | None) -> str:
    if trait is None:
        return ""
    quoted = (
        f"`{value}`" if name in ("ids", "reasoning", "stops", "stops of calls") else value for value in trait.values
    )
    return ", ".join(quoted).replace("|", "\\|")


def _rows() -> Iterator[str]:
    yield "| provider | " + " | ".join(TRAITS) + " |\n"
    yield "|---" * (1 + len(TRAITS)) + "|\n"
    for profile in PROFILES.values():
        cells = (_cell(name, profile.traits.get(name)) for name in TRAITS)
        yield f"| {profile.title} | " + " | ".join(cells) + " |\n"


def files() -> dict[Path, str]:
    """Return the page."""
    meanings = (f"| {name} | {meaning} |\n" for name, meaning in TRAITS.items())
    sources = (
        f"| {profile.title} | {name} | {', '.join(f'<{source}>' for source in trait.sources)} |\n"
        for profile in PROFILES.values()
        for name, trait in profile.traits.items()
        if trait.sources != (RECORDED,)
    )
    blocks = {
        "providers": "".join(_rows()),
        "traits": "| trait | meaning |\n|---|---|\n" + "".join(meanings),
        "sources": "| provider | trait | source |\n|---|---|---|\n" + "".join(sources),
    }
    return filled("dialects.md", blocks)
