"""References of schemas: their targets, and which of them are recursive. `referencing` resolves them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urljoin

from ..errors import MissingExtra
from .keywords import Node, nodes


def references(schema: Any, base: str = "") -> list[tuple[str, str]]:
    """Return the pointer of each schema with a reference, and the reference as `absolute` returns it.

    ``base``: the identifier of the embedded resource that contains the schema, or "" in the outermost one.
    """
    return [
        (node.pointer, absolute(node.schema["$ref"], inside))
        for node, inside in _with_bases(schema, base)
        if isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str)
    ]


def absolute(reference: str, base: str) -> str:
    """Return a reference as it is in the outermost resource: with the identifier of the resource that contains it.

    Follows JSON Schema 2020-12, 8.2.1: `$id` of a schema inside another is the base of the references in it.
    """
    return base + reference if reference.startswith("#") else urljoin(base, reference)


def base_inside(schema: Any, base: str) -> str:
    """Return the base of the references of a schema that is inside another: its `$id`, or the base around it."""
    own = schema.get("$id") if isinstance(schema, dict) else None
    return urljoin(base, own.rstrip("#")) if isinstance(own, str) else base


def _with_bases(schema: Any, base: str) -> Iterator[tuple[Node, str]]:
    """Yield like `nodes`, each schema with the base of its references. The first has the base that is passed."""
    embedded = [("", base)]  # the pointers and bases of the resources around the schema, the innermost last
    for node in nodes(schema):
        if node.pointer:
            while not node.pointer.startswith(f"{embedded[-1][0]}/"):
                embedded.pop()
            around = embedded[-1][1]
            if (inside := base_inside(node.schema, around)) != around:
                embedded.append((node.pointer, inside))
        yield node, embedded[-1][1]


class Resolver:
    """Looks up the references inside one schema. It never fetches anything.

    The methods take references as `references` returns them.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._resolver: Any = None
        self._bases: dict[int, str] | None = None
        self._inner: dict[str, list[str]] = {}
        self._recursive: dict[str, bool] = {}

    def target(self, reference: str) -> Any:
        """Return the schema that a reference names, or None if this document does not contain it.

        Raises MissingExtra if `referencing` is not installed and the reference is not a plain JSON pointer.
        """
        if self._bases is None:
            self._bases = {id(node.schema): base for node, base in _with_bases(self._schema, "") if base}
        if not self._bases and (reference == "#" or reference.startswith("#/")):
            target = _at(self._schema, unquote(reference))
            return target if isinstance(target, (dict, bool)) else None
        if self._resolver is None:
            self._resolver = _resolver(self._schema)
        try:
            target = self._resolver.lookup(reference).contents
        except (import_module("referencing.exceptions").Unresolvable, AttributeError, TypeError):
            return None  # an identifier that is not a text raises an error of Python
        return target if isinstance(target, (dict, bool)) else None

    def base(self, reference: str) -> str:
        """Return the base of the references in the target of a reference."""
        return (self._bases or {}).get(id(self.target(reference)), reference.partition("#")[0])

    def is_recursive(self, reference: str) -> bool:
        """Return whether the target of a reference leads back to the reference."""
        if reference not in self._recursive:
            self._recursive[reference] = reference in self._reachable(reference)
        return self._recursive[reference]

    def _reachable(self, reference: str) -> set[str]:
        """Return the references in the target of a reference, in their targets, and so on."""
        seen = set[str]()
        waiting = [reference]
        while waiting:
            current = waiting.pop()
            if current not in self._inner:
                self._inner[current] = [found for _, found in references(self.target(current), self.base(current))]
            waiting += [found for found in self._inner[current] if found not in seen]
            seen.update(self._inner[current])
        return seen


def _at(schema: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer with a leading ``#``, or None."""
    value = schema
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return None
    return value


def _resolver(schema: Any) -> Any:
    try:
        referencing = import_module("referencing")
    except ImportError:
        raise MissingExtra(
            "schemas with references need referencing", hint="pip install 'toolparity[schemas]'"
        ) from None
    resource = import_module("referencing.jsonschema").DRAFT202012.create_resource(schema)
    return referencing.Registry().with_resource("", resource).resolver()
