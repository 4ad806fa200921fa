"""The tables of a turn log, for SQLite and PostgreSQL, and the statements that write them.

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

from typing import Any

import sqlalchemy as sa
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UpdateBase,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB, psycopg

metadata = MetaData()

#: Stores None as SQL NULL, not as the JSON text `null`.
_JSON = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _turn() -> Column[str]:
    return Column("turn_id", Text, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)


# `status`: open, waiting (for a decision or a result), over. `seq`: the number of the next event. `owner`: the token of
# the runner that holds the lease, until `lease_until`. `written`: the number of transactions that runners committed. A
# runner that lost its connection reads from it whether its last transaction was committed. `position`: the number of
# the turn in its conversation, from 0; of two turns that continue the same one, only the first can be inserted.
# `user_id`: "" without a user; PostgreSQL reads `user` as the name of the role. The usage and the cost are those of the
# last state.
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
    Column("conversation", Text),
    Column("position", Integer),
    Column("user_id", Text),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cost", Double),
    Index("turns_by_status", "status"),
    Index("turns_by_conversation", "conversation", "user_id", "position", unique=True),
    Index("turns_by_user", "user_id", "created"),
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
    Column("outcome", Text),
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

# `input`: the input as text. JSONB preserves neither the order of members nor every number and character, so a
# replay would produce another state. `begins_with`, `ends_with`: numbers of `states`. `state`: the digest of the state,
# in rows of version 2, which stored no states.
steps = Table(
    "steps",
    metadata,
    _turn(),
    Column("number", Integer, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("event_count", Integer, nullable=False),
    Column("input", Text, nullable=False),
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


class Statements:
    """Statements of a `LogObserver`, built once per database because building them costs more than running them.

    Those that every transaction needs are SQL for `Connection.exec_driver_sql`, with named parameters: SQLAlchemy takes
    longer to convert the values of a row, all of which are plain here, than the database to write it.

    ``at``: the current time, see `Database.at` and `Database.times`.

    ``advance`` sets the number of a turn's next event to ``next_seq``, if ``mine`` owns the turn, its next event is
    ``first`` and its runners have written ``before`` transactions. ``settle`` also sets the status, the termination and
    the usage. ``begin`` inserts a turn unless its id or its position in a conversation exists. ``void`` deletes the
    blocks from ``first_block`` on.
    """

    def __init__(self, dialect: str, at: ColumnElement[float]) -> None:
        # The dialects' own `insert` supports ON CONFLICT.
        insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
        lease_until = at + sa.bindparam("lease", type_=Double)
        mine = (turns.c.id == sa.bindparam("turn"), turns.c.owner == sa.bindparam("mine"))
        expected = (turns.c.seq == sa.bindparam("first"), turns.c.written == sa.bindparam("before"))
        advanced: dict[str, Any] = {"seq": sa.bindparam("next_seq"), "updated": at, "lease_until": lease_until}
        advanced["written"] = turns.c.written + sa.literal_column("1")
        settled: dict[str, Any] = {"status": sa.bindparam("now_status"), "termination": sa.bindparam("now_termination")}
        settled |= {name: sa.bindparam(f"now_{name}") for name in ("input_tokens", "output_tokens", "cost")}
        driver: Dialect = sqlite.dialect(paramstyle="named")
        if dialect == "postgresql":
            driver = psycopg.dialect()  # type: ignore[no-untyped-call]
        self.advance = _sql(sa.update(turns).where(*mine, *expected).values(advanced), driver)
        self.settle = _sql(sa.update(turns).where(*mine, *expected).values({**advanced, **settled}), driver)
        self.renew = sa.update(turns).where(*mine).values(lease_until=lease_until)
        self.release = sa.update(turns).where(*mine).values(owner=None, lease_until=None)
        new = {"created": at, "updated": at, "lease_until": lease_until}
        begun: dict[str, Any] = {column.name: sa.bindparam(column.name) for column in turns.c if column.name not in new}
        self.begin = _sql(insert(turns).values(new | begun).on_conflict_do_nothing(), driver)
        self.event = _sql(sa.insert(events), driver)
        self.step = _sql(sa.insert(steps), driver)
        self.state = _sql(sa.insert(states), driver)
        self.part = _sql(insert(parts).on_conflict_do_nothing(), driver)
        self.void = sa.delete(turn_blocks).where(
            turn_blocks.c.turn_id == sa.bindparam("turn"), turn_blocks.c.sequence >= sa.bindparam("first_block")
        )
        self.block = _sql(_upsert(insert, turn_blocks), driver)
        self.call = _sql(_upsert(insert, calls), driver)


def _sql(statement: UpdateBase, dialect: Dialect) -> str:
    return str(statement.compile(dialect=dialect))


def _upsert(insert: Any, table: Table) -> UpdateBase:
    """Return a statement that inserts a row, or replaces the row with the same primary key."""
    key = [column.name for column in table.primary_key]
    inserted = insert(table)
    others = {column.name: inserted.excluded[column.name] for column in table.c if column.name not in key}
    upsert: UpdateBase = inserted.on_conflict_do_update(index_elements=key, set_=others)
    return upsert
