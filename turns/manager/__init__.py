"""A manager of turns for servers, and its web application.

    log = Log("postgresql://…/turns")
    app = turns_app(TurnManager(log, Agent(provider, tools)))  # an ASGI application

Install the extra `server`. The manager alone needs the extras `log` and `turns`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from toolparity.normalizer.errors import MissingExtra

from .manager import AgentSource, TurnManager, TurnOrigin, TurnStatus

if TYPE_CHECKING:
    from .app import ALL_USERS, Action, Authorize, turn_routes, turns_app

__all__ = [
    "TurnManager",
    "TurnOrigin",
    "TurnStatus",
    "AgentSource",
    "turns_app",
    "turn_routes",
    "ALL_USERS",
    "Authorize",
    "Action",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("starlette") is None:
        raise MissingExtra(f"{name} needs starlette", hint="pip install 'toolparity[server]'")
    from . import app

    return globals().setdefault(name, getattr(app, name))
