"""Writes the page of the providers' dialects from their profiles: ``python docs/dialects.py > docs/dialects.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from toolparity.normalizer.wires.openai_chat.profiles import PROFILES, RECORDED, TRAITS, Trait

HEAD = """\
# Dialects of Chat Completions

What the responses of providers do that serve `openai.chat` besides OpenAI. Values are all that is known, so a recorded
trait lists every value of the provider's recordings; an empty cell is unknown. This page is written by
`python docs/dialects.py > docs/dialects.md`; the table is `PROFILES` in `normalizer/wires/openai_chat/profiles.py`.
The normalizer reads all of these, whether or not the caller names the provider.

"""
MEANINGS = """
## Traits

| trait | meaning |
|---|---|
"""
SOURCES = """
## Sources

Traits without an entry here are recorded: tests compare them with all recordings of the provider.

| provider | trait | source |
|---|---|---|
"""


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


def page() -> str:
    """The page: one row a provider, then the meaning of the traits, then the sources."""
    meanings = (f"| {name} | {meaning} |\n" for name, meaning in TRAITS.items())
    sources = (
        f"| {profile.title} | {name} | {', '.join(f'<{source}>' for source in trait.sources)} |\n"
        for profile in PROFILES.values()
        for name, trait in profile.traits.items()
        if trait.sources != (RECORDED,)
    )
    return HEAD + "".join(_rows()) + MEANINGS + "".join(meanings) + SOURCES + "".join(sources)


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode())
