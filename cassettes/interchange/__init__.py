"""Cassettes of several tools: recognized, read into a common form, written in any of the formats without a loss.

    content = read(load(data, name))        # .interactions: requests and responses with their exact bytes
    converted = convert(content, "har")     # bytes; raises CassetteNotConverted if HAR cannot hold everything

A format is a module with ``NAME``, ``SUFFIX``, ``recognizes``, ``items``, ``read`` and ``write``, and a line in
`FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import documents
from ..errors import CassetteNotConverted, UnreadableSource
from . import betamax, cassetter, har, polly, recordings, vcr_ruby, vcrpy
from .model import CassetteContent, differences


class Format(NamedTuple):
    """A format of cassettes: its name and suffix, whether it recognizes parsed data, and how it reads and writes."""

    name: str
    suffix: str
    recognizes: Callable[[Any], bool]
    items: Callable[[Any], list[Any]]
    read: Callable[[Any], CassetteContent]
    write: Callable[[CassetteContent], bytes]


#: The first format that recognizes a file is its format.
FORMATS: dict[str, Format] = {
    module.NAME: Format(
        module.NAME,
        module.SUFFIX,
        module.recognizes,
        module.items,
        module.read,
        module.write,
    )
    for module in (cassetter, vcrpy, betamax, vcr_ruby, polly, har, recordings)
}


def format_of(data: Any) -> Format:
    """Return the format of parsed data. Raises UnreadableSource if it is none of `FORMATS`."""
    for known in FORMATS.values():
        if known.recognizes(data):
            return known
    raise UnreadableSource("not a cassette", hint=f"expected a file of {', '.join(sorted(FORMATS))}")


def read(document: documents.Document) -> CassetteContent:
    """Return the content of a cassette. Raises UnreadableSource."""
    return format_of(document.data).read(document.data)


def convert(content: CassetteContent, target: str) -> bytes:
    """Return the file that the target format has for this content.

    The result is read again and compared. Raises CassetteNotConverted with the places that the target cannot hold.
    """
    known = FORMATS[target]
    if target != vcrpy.NAME:
        for number, interaction in enumerate(content.interactions, 1):
            if "grpc" in ((interaction.rest.get(vcrpy.NAME) or {}).get("response") or {}):
                raise CassetteNotConverted(f"{target} cannot hold interaction {number}: it is a gRPC call")
    try:
        written = known.write(content)
        read_back = known.read(documents.load(written, f"converted{known.suffix}").data)
    except UnreadableSource as error:
        raise CassetteNotConverted(f"{target} cannot hold it: {error.what}", where=error.where) from None
    lost = list(differences(content, read_back))
    if lost:
        shown = "; ".join(lost[:5]) + (f"; and {len(lost) - 5:,} more" if len(lost) > 5 else "")
        raise CassetteNotConverted(f"{target} cannot hold it unchanged: {shown}")
    return written


__all__ = ["FORMATS", "CassetteContent", "Format", "convert", "format_of", "read"]
