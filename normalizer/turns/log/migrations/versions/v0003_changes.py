"""States as changes, and long values once: what a turn writes grows with the turn and not with its square.

A state that version 2 kept becomes a change of the whole. So does each state that a step of it began with. What was
written before keeps its long values in place.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from toolparity.normalizer.turns.machine.state import dump, load

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make a chain of each turn's states, and a table of parts."""
    op.add_column("turns", sa.Column("written", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "parts",
        _turn(),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.rename_table("states", "states_of_version_2")
    op.create_table(
        "states",
        _turn(),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
    )
    whole = "'{\"\":' || %s || '}'"  # pointer "" is the whole
    began = f"SELECT turn_id, number, seq, {whole % 'begins'} FROM steps WHERE begins IS NOT NULL"
    after = "COALESCE((SELECT MAX(number) FROM steps WHERE steps.turn_id = kept.turn_id), 0) + 1"
    ended = f"SELECT turn_id, {after}, seq, {whole % 'state'} FROM states_of_version_2 AS kept"
    for found in (began, ended):
        op.execute(f"INSERT INTO states (turn_id, number, seq, change) {found}")
    op.drop_table("states_of_version_2")
    op.add_column("steps", sa.Column("begins_with", sa.Integer))
    op.add_column("steps", sa.Column("ends_with", sa.Integer))
    op.execute("UPDATE steps SET begins_with = number WHERE begins IS NOT NULL")
    _drop("steps", "begins")


def downgrade() -> None:
    """Put long values back in place, and keep the last state of each turn, whole."""
    op.add_column("steps", sa.Column("begins", sa.Text))
    op.rename_table("states", "states_of_version_3")
    op.create_table(
        "states", _turn(), sa.Column("seq", sa.Integer, nullable=False), sa.Column("state", sa.Text, nullable=False)
    )
    connection = op.get_bind()
    for turn in list(connection.scalars(sa.text("SELECT id FROM turns"))):
        _unpack(connection, turn)
        _whole(connection, turn)
    op.drop_table("states_of_version_3")
    for column in ("begins_with", "ends_with"):
        _drop("steps", column)
    op.drop_table("parts")
    _drop("turns", "written")


def _turn() -> sa.Column[str]:
    return sa.Column("turn_id", sa.Text, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True)


def _drop(table: str, column: str) -> None:
    op.execute(
        f"ALTER TABLE {table} DROP COLUMN {column}"
    )  # a batch would drop the table, and with it who refers to it


def _unpack(connection: sa.Connection, turn: str) -> None:
    """Write every packed document of the turn as it was."""
    rows = connection.execute(sa.text("SELECT digest, value FROM parts WHERE turn_id = :turn"), {"turn": turn})
    parts = {row.digest: json.loads(row.value) for row in rows}
    for table, key, column in (
        ("events", "seq", "data"),
        ("steps", "number", "happening"),
        ("turn_blocks", "sequence", "exact"),
        ("states_of_version_3", "number", "change"),
    ):
        chosen = f"SELECT {key}, {column} FROM {table} WHERE turn_id = :turn AND substr({column}, 1, 1) = '['"
        for number, text in list(connection.execute(sa.text(chosen), {"turn": turn})):
            document, found = json.loads(text)
            whole = _text(_applied(document, {pointer: parts[digest] for pointer, digest in found.items()}))
            changed = f"UPDATE {table} SET {column} = :whole WHERE turn_id = :turn AND {key} = :number"
            connection.execute(sa.text(changed), {"whole": whole, "turn": turn, "number": number})


def _whole(connection: sa.Connection, turn: str) -> None:
    """Write the last state, each that a step began with, and the digest of each that a step ended with."""
    chosen = "SELECT number, seq, change FROM states_of_version_3 WHERE turn_id = :turn ORDER BY number"
    rows = list(connection.execute(sa.text(chosen), {"turn": turn}))
    document: Any = None
    for number, seq, change in rows:
        document = _applied(document, json.loads(change))
        dumped = dump(load(_text(document)), 2)  # a program that knows these tables reads it
        values = {"turn": turn, "number": number, "seq": seq, "state": dumped.decode()}
        values["digest"] = hashlib.sha256(dumped).hexdigest()
        for statement in (
            "UPDATE steps SET begins = :state WHERE turn_id = :turn AND begins_with = :number",
            "UPDATE steps SET state = :digest WHERE turn_id = :turn AND ends_with = :number",
        ):
            connection.execute(sa.text(statement), values)
        if number == rows[-1].number:
            written = "INSERT INTO states (turn_id, seq, state) VALUES (:turn, :seq, :state)"
            connection.execute(sa.text(written), values)


def _applied(document: Any, changed: dict[str, Any]) -> Any:
    for pointer, value in changed.items():
        if not pointer:
            document = value
            continue
        *way, last = (name.replace("~1", "/").replace("~0", "~") for name in pointer[1:].split("/"))
        inner = document
        for name in way:
            inner = inner[int(name)] if isinstance(inner, list) else inner[name]
        if not isinstance(inner, list):
            inner[last] = value
        elif int(last) == len(inner):
            inner.append(value)
        else:
            inner[int(last)] = value
    return document


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
