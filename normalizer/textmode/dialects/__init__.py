"""Table of the dialects, each defined in one module. To add a dialect, add a module and an entry to the table.

Modules with several dialects have a table of those that differ only in their tags.

Detection tries the dialects in the order of the table, so those with the more specific opening tags come first.
"""

from __future__ import annotations

from ...errors import ToolparityError
from ..dialect import TextDialect
from .deepseek import DeepSeek
from .dsml import Dsml
from .gemma import GEMMA
from .glm import Glm
from .harmony import Harmony
from .hermes import Hermes
from .hunyuan import Hunyuan
from .invoke import Invoke
from .kimi import Kimi
from .kimi_k3 import KimiK3
from .llama import Llama
from .minicpm import MiniCpm
from .minimax import MiniMax
from .mistral import Mistral
from .pythonic import PYTHONIC
from .qwen_coder import QwenCoder
from .solar import Solar
from .step import Step
from .tagged_json import TAGGED_JSON
from .tool_xml import ToolXml


class UnknownDialect(ToolparityError, ValueError):
    """The name of a text-mode dialect is unknown."""


#: Name of a dialect -> the dialect: what the parameter ``dialect`` of the readers accepts.
DIALECTS: dict[str, TextDialect] = {
    dialect.name: dialect
    for dialect in (
        *(ToolXml(), Invoke(), Dsml(), QwenCoder(), Hunyuan(), Glm(), Hermes()),
        *(Llama(), Mistral(), DeepSeek(), Kimi(), KimiK3(), Harmony(), Step(), Solar(), MiniCpm(), MiniMax()),
        *(*TAGGED_JSON, *PYTHONIC, *GEMMA),
    )
}


def dialect_of(name: str) -> TextDialect:
    """Return the dialect with a name. Raises UnknownDialect."""
    if name not in DIALECTS:
        raise UnknownDialect(f"unknown dialect: {name!r}", hint=f"one of {', '.join(DIALECTS)}")
    return DIALECTS[name]
