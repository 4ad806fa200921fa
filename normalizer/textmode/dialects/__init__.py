"""Table of the dialects, each defined in one module. To add a dialect, add a module and an entry to the table.

Detection tries the dialects in the order of the table, so those with the more specific opening tags come first.
"""

from __future__ import annotations

from ...errors import ToolparityError
from ..dialect import Dialect
from .deepseek import DIALECT as DEEPSEEK
from .dsml import DIALECT as DSML
from .glm import DIALECT as GLM
from .harmony import DIALECT as HARMONY
from .hermes import DIALECT as HERMES
from .invoke import DIALECT as INVOKE
from .kimi import DIALECT as KIMI
from .llama import DIALECT as LLAMA
from .mistral import DIALECT as MISTRAL
from .qwen_coder import DIALECT as QWEN_CODER
from .tool_xml import DIALECT as TOOL_XML


class UnknownDialect(ToolparityError, ValueError):
    """The name of a text-mode dialect is unknown."""


DIALECTS: dict[str, Dialect] = {
    each.name: each
    for each in (TOOL_XML, INVOKE, DSML, QWEN_CODER, GLM, HERMES, LLAMA, MISTRAL, DEEPSEEK, KIMI, HARMONY)
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect with a name. Raises UnknownDialect."""
    found = DIALECTS.get(name)
    if found is None:
        raise UnknownDialect(f"no dialect is called {name!r}", hint=f"one of {', '.join(DIALECTS)}")
    return found
