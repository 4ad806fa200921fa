"""The tables of a turn log, for SQLite and PostgreSQL.

| table | a row is | written |
|---|---|---|
| `turns` | a turn: what it is at, who runs it, the number of its next event | with everything else |
| `turn_blocks` | what was thought, said, called or returned, in sequence | when the block stops |
| `events` | an event as it was told, as JSON | before anybody sees it |
| `calls` | a kept call and what it is at; `key` names it for ever | before it starts, when it has its result |
| `states` | how one state of the turn (`turns.state`) differs from the state before (`changes`) | with the calls |
| `steps` | an input of the machine that no event repeats in full: for running the turn again | with the events |
| `parts` | a long value that events, steps and states refer to, once (`parts`) | with the first of them |

Times are seconds since 1970. What the migrations make is the same; a test holds them together.
"""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData()

#: null is no value, as in the document's rows; not the JSON text `null`.
_JSON = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _turn() -> Column[str]:
    return Column("turn_id", Text, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)


# `status`: open, waiting (for a decision), over. `seq`: the number of the next event. `owner`: a token of whoever runs
# the turn, until `lease_until`. `written`: the number of transactions of its runners. A runner that lost the connection
# reads from it whether its last transaction was committed.
turns = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("wire", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("termination", Text),
    Column("seq", Integer, nullable=False),
    Column("owner", Text),
    Column("lease_until", Double),
    Column("created", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("written", Integer, nullable=False, server_default="0"),
    Index("turns_by_status", "status"),
)

# `exact`: the block as JSON, where `text_content` and `content` could not hold every character of it (`rows`).
turn_blocks = Table(
    "turn_blocks",
    metadata,
    _turn(),
    Column("sequence", Integer, primary_key=True),
    Column("block_type", Text, nullable=False),
    Column("text_content", Text),
    Column("content", _JSON),
    Column("round", Integer, nullable=False),
    Column("cut", Boolean, nullable=False),
    Column("exact", Text),
)

events = Table(
    "events",
    metadata,
    _turn(),
    Column("seq", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    _turn(),
    Column("key", Text, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("how", Text),
    Column("attempts", Integer, nullable=False),
    Column("server", Text),
)

# `change`: JSON pointers and the values there. The changes of a turn, applied in order, are its state.
states = Table(
    "states",
    metadata,
    _turn(),
    Column("number", Integer, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("change", Text, nullable=False),
)

# `happening`: text, and not JSONB, which keeps neither the order of members nor every number and character: a state
# that is made again of those would not be the same. `begins_with`, `ends_with`: numbers of `states`. `state`: the
# digest of the state where version 2 kept no more.
steps = Table(
    "steps",
    metadata,
    _turn(),
    Column("number", Integer, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("told", Integer, nullable=False),
    Column("happening", Text, nullable=False),
    Column("state", Text),
    Column("begins_with", Integer),
    Column("ends_with", Integer),
)

parts = Table(
    "parts",
    metadata,
    _turn(),
    Column("digest", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
