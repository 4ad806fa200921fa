"""When two requests of Ollama's chat API mean the same: key order and members that say nothing.

The equivalences, each with its reason:

* a member that is None, "", [] or {} = a member that is absent (the server's types have no difference, and the SDK
  sends ``tools: []`` with every request);
* ``content`` "" = none (the same, and the SDK leaves out an empty content).
"""

from __future__ import annotations

from typing import Any


def meaning(body: dict[str, Any]) -> dict[str, Any]:
    """The body without what makes no difference."""
    return {**_given(body), "messages": [_given(message) for message in body["messages"]]}


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value not in (None, "", [], {})}
