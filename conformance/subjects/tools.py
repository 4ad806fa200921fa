"""The tools that the suite gives to an agent. They record each run."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


def result_text(number: int, name: str) -> str:
    """Return the result of a run. ``number``: its position among all runs of the response, from 1."""
    return f"result {number} of {name}"


class Tool(Struct, frozen=True):
    """A function that an agent declares to its model and runs.

    ``parameters``: a JSON schema. ``runs``: the list in which a run is recorded, shared by all tools of a response.
    An agent in another process declares the tool from its ``definition``. It runs the tool over HTTP
    (`toolparity.conformance.subjects.loopback`), or reports its runs itself.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    runs: list[dict[str, Any]] = []

    def __call__(self, arguments: Any) -> str:
        """Record a run with these arguments, a dict or the JSON text, and return its result."""
        self.runs.append({"name": self.name, "arguments": arguments})
        return result_text(len(self.runs), self.name)

    @property
    def definition(self) -> dict[str, Any]:
        """The name, the description and the schema."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}
