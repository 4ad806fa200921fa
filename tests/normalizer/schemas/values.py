"""Values of an original schema beside those of the adapted one."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from toolparity.normalizer.schemas.adapt.canonical import canonical
from toolparity.normalizer.schemas.adapt.references import with_definitions
from toolparity.normalizer.schemas.adapt.validation import fits, same
from toolparity.schemas import Adapted


def complete(schema: Any) -> dict[str, Any]:
    """A schema as JSON Schema 2020-12, in which every reference names a definition."""
    return with_definitions(canonical(schema), lambda pointer, reference: None)


def assert_mapped_back(adapted: Adapted, value: Any, narrowed: set[str]) -> None:
    """Assert that the only adapted tool takes a value and returns it, as far as the losses that narrow allow."""
    ((wire_name, name),) = adapted.names.items()
    on_wire, arguments = adapted.express(name, value)
    written = canonical(adapted.tools[0].parameters) if adapted.tools[0].parameters is not None else {}
    if not fits(written, arguments):
        assert "closed" in narrowed
        assert _excludes_undeclared(written, arguments)
        return
    restored_name, restored = adapted.restore(on_wire, arguments)
    assert (on_wire, restored_name) == (wire_name, name)
    if "absent-or-null" in narrowed:
        restored, value = _without_nulls(restored), _without_nulls(value)
    assert same(restored, value)


def _excludes_undeclared(schema: Any, value: Any) -> bool:
    """Whether a schema rejects a value because of a property that it does not declare."""
    waiting = list(Draft202012Validator(schema).iter_errors(value))
    while waiting:
        error = waiting.pop()
        if error.validator == "additionalProperties":
            return True
        waiting += error.context or ()
    return False


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
