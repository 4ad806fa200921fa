"""The turn log: a record of every turn in a database (a SQLite file or PostgreSQL), written while the turn runs.

    log = Log("sqlite:///turns.db")
    async with log.record() as recorder:
        await Turn(provider, tools, observers=[recorder]).run("What do I owe?")

    for turn in await log.left():                       # open turns that no process runs, as after a crash
        async with log.take(turn) as recorder:          # takes the lease: no other process can run the turn
            await Turn(provider, tools, observers=[recorder], state=recorder.state).run()

A block is stored when it stops. Install the extra `log`, or `postgres` for PostgreSQL.
"""

from importlib.util import find_spec

from toolparity.normalizer.errors import MissingExtra

for _needed in ("sqlalchemy", "alembic"):
    if find_spec(_needed) is None:
        raise MissingExtra(f"the turn log needs {_needed}", hint="pip install 'toolparity[log]'")

from .migrate import upgrade  # noqa: E402
from .recorder import LogObserver  # noqa: E402
from .rows import CallRow, EventRow, TurnRow  # noqa: E402
from .store import Log, Page, StoredTurn  # noqa: E402

__all__ = ["CallRow", "EventRow", "TurnRow", "StoredTurn", "Log", "Page", "LogObserver", "upgrade"]
