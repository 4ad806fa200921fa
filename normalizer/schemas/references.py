"""References of schemas: their targets, and which of them are recursive. `referencing` resolves them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import MissingExtra
from .keywords import nodes


def references(schema: Any) -> list[tuple[str, str]]:
    """Return the pointer of each schema with a reference, and the reference."""
    return [
        (node.pointer, node.schema["$ref"])
        for node in nodes(schema)
        if isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str)
    ]


class Resolver:
    """Looks up the references inside one schema. It never fetches anything."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._resolver: Any = None

    def target(self, reference: str) -> Any:
        """Return the schema that a reference names, or None if this document does not contain it.

        Raises MissingExtra if `referencing` is not installed.
        """
        if self._resolver is None:
            self._resolver = _resolver(self._schema)
        try:
            target = self._resolver.lookup(reference).contents
        except import_module("referencing.exceptions").Unresolvable:
            return None
        return target if isinstance(target, (dict, bool)) else None

    def is_recursive(self, reference: str) -> bool:
        """Return whether the target of a reference leads back to the reference."""
        seen = set[str]()
        waiting = [reference]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            inner = [found for _, found in references(self.target(current))]
            if reference in inner:
                return True
            waiting += inner
        return False


def _resolver(schema: Any) -> Any:
    try:
        referencing = import_module("referencing")
    except ImportError:
        raise MissingExtra(
            "schemas with references need referencing", hint="pip install 'toolparity[schemas]'"
        ) from None
    resource = import_module("referencing.jsonschema").DRAFT202012.create_resource(schema)
    return referencing.Registry().with_resource("", resource).resolver()
