"""The tables of a turn log, for SQLite and PostgreSQL.

| table | a row is | written |
|---|---|---|
| `turns` | a turn: its status, its lease, the number of its next event | in every transaction |
| `turn_blocks` | a block of a turn: reasoning, text, a call or a result | when the block stops |
| `events` | an event as JSON text | before a client sees it |
| `calls` | a call and its progress; `key` identifies it permanently | before it starts, when it has its result |
| `states` | the difference (`changes`) of a state (`turns.state`) from the state before | with the calls |
| `steps` | an input of the machine that no event contains in full, for replays | with the events |
| `parts` | a long value that events, steps, blocks and states refer to (`parts`) | with the first of them |

Times are seconds since 1970. The migrations create the same tables; a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData()

#: Stores None as SQL NULL, not as the JSON text `null`.
_JSON = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _turn() -> Column[str]:
    return Column("turn_id", Text, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)


# `status`: open, waiting (for a decision or a result), over. `seq`: the number of the next event. `owner`: the token of
# the runner that holds the lease, until `lease_until`. `written`: the number of transactions that runners committed. A
# runner that lost its connection reads from it whether its last transaction was committed.
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

# `exact`: the block as JSON, if `text_content` and `content` cannot represent it exactly (see `rows`).
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

# `change`: a JSON object from JSON pointers to values. All changes of a turn, applied in order, yield its state.
states = Table(
    "states",
    metadata,
    _turn(),
    Column("number", Integer, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("change", Text, nullable=False),
)

# `happening`: the input as text. JSONB preserves neither the order of members nor every number and character, so a
# replay would produce another state. `begins_with`, `ends_with`: numbers of `states`. `state`: the digest of the state,
# in rows of version 2, which stored no states.
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
