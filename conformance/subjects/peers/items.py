"""Items of OpenAI Responses that are client calls. The programs of libraries import this module, too."""

from __future__ import annotations

import json
from pathlib import Path

#: Type of the item -> the name of the call if the item has none, and the member with the arguments.
CLIENT_ITEMS: dict[str, tuple[str, str]] = {
    kind: (name, member)
    for kind, (name, member) in json.loads(Path(__file__).with_name("items.json").read_text("utf-8")).items()
}
