"""How a reader repeats one failure of a run without the suite."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Reproduction(NamedTuple):
    """A script that shows the failure of a law in a case, with the response that it needs.

    ``subject`` … ``policy``: the case. ``install``: the command that installs the library. ``name``, ``script``: the
    script's file name and text. ``file``, ``body``: the name and the content of the file that the script reads.

    ``parts``: the body as text, in pieces. Every second one belongs to a call that the failure is about. ``kind``: such
    calls are "lost" if they are not in the output, "unexpected" if they are and must not be, and "" if there are none.
    """

    subject: str
    scenario: str
    surface: str
    mode: str
    policy: str
    law: str
    install: str
    name: str
    script: str
    file: str
    body: bytes
    parts: list[str]
    kind: Literal["", "lost", "unexpected"]
