"""The README of built packages: its relative links become addresses in the repository, at the tag of the release."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: A block of code, which stays as it is, or the target of a relative link or picture.
_TARGET = re.compile(r"^```.*?^```$|(?<=\]\()(?!#|\w+:)(?P<path>[^)\s]+)(?=\))", re.MULTILINE | re.DOTALL)
_PICTURES = (".png", ".svg", ".webp")


def with_addresses(text: str, repository: str, version: str) -> str:
    """Return a Markdown text in which no link depends on the place of its file."""

    def replaced(found: re.Match[str]) -> str:
        if found["path"] is None:
            return found[0]
        return f"{repository}/{'raw' if found['path'].endswith(_PICTURES) else 'blob'}/v{version}/{found['path']}"

    return _TARGET.sub(replaced, text)


class Readme(MetadataHookInterface):
    """The field ``readme``, from README.md, the address of the repository and the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        text = with_addresses(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
