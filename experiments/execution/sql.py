"""What the few hand-written statements of this package need to say on both databases.

Statements are written by hand where the ORM cannot say it in one round trip (claim, begin, finish, recompute)
and each attempt passes through; everything else uses the ORM. Table and column names are those of the models.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

from django.db import connection, models
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from experiments.evaluation.text import to_json
from experiments.models.fields import JsonTextField


@dataclass(frozen=True)
class Dialect:
    """The words in which the databases differ. SQLite locks the whole file instead of rows, so there its row
    locks are empty: `BEGIN IMMEDIATE` does their work."""

    now: str
    skip_locked: str
    share: str
    no_key_update: str
    later_form: str

    def later(self, seconds: float) -> str:
        """The database's clock plus `seconds`."""
        return self.later_form.format(seconds=float(seconds))


_DIALECTS = {
    "postgresql": Dialect(
        now="statement_timestamp()",
        skip_locked="FOR UPDATE OF {} SKIP LOCKED",
        share="FOR SHARE OF {}",
        no_key_update="FOR NO KEY UPDATE OF {}",
        later_form="statement_timestamp() + interval '{seconds} seconds'",
    ),
    "sqlite": Dialect(
        now="strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')",
        skip_locked="",
        share="",
        no_key_update="",
        later_form="strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '{seconds} seconds')",
    ),
}


BY_KEY = "(experiments_attempt.state || '')"
"""An attempt's state in a condition that no partial index answers. Rows are found by their keys then: the
partial indexes of states hold an entry for every earlier state of a run's attempts until they are vacuumed,
and a plan that reads them all would make the cost of an attempt grow with the run."""


def dialect() -> Dialect:
    """The dialect of this thread's connection."""
    return _DIALECTS[connection.vendor]


def later(seconds: float) -> CombinedExpression:
    """For the ORM: the database's clock plus `seconds` (minus, when negative)."""
    return Now() + timedelta(seconds=seconds)


def rows(count: int, width: int) -> str:
    """Placeholders for `count` rows of a VALUES list, `width` values each."""
    row = f"({', '.join(['%s'] * width)})"
    return ", ".join([row] * count)


def marks(items: Sequence[Any]) -> str:
    """Placeholders for the items of an IN list, which must not be empty."""
    return ", ".join(["%s"] * len(items))


def execute(sql: str, params: Sequence[Any] = ()) -> int:
    """Run one statement; the number of rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def fetch(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run one statement; all the rows it gives."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def source(columns: Sequence[tuple[str, str]], values: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """Rows as the query of a common table expression, with its parameters: `WITH v(a, b) AS (<source>)`.

    `columns` are (name, type) pairs. On PostgreSQL all rows are one parameter, a JSON document: the driver
    takes ten times as long to bind a thousand parameters as the server takes to read the document.
    """
    if connection.vendor == "postgresql":
        names = [name for name, _ in columns]
        typed = ", ".join(f"{name} {kind}" for name, kind in columns)
        document = json.dumps([dict(zip(names, row, strict=True)) for row in values], ensure_ascii=False)
        return f"SELECT * FROM json_to_recordset(%s::json) AS t({typed})", [document]
    return f"VALUES {rows(len(values), len(columns))}", [value for row in values for value in row]


def named(column: str, keys: Sequence[int]) -> tuple[str, list[Any]]:
    """A condition that names the rows a join finds anyway: PostgreSQL cannot guess how few a document holds
    and would read a small table whole."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s)", [list(keys)]
    return "true", []


def each_case(table: str, condition: str, cases: Sequence[int]) -> tuple[str, list[Any]]:
    """The rows of `table` that fulfil `condition` for each of some cases, as an item of FROM without its
    alias.

    On PostgreSQL one look into the index a case, and OFFSET 0 keeps it so: before a new run is analysed the
    planner takes it for small and would read all of it for every batch.
    """
    if connection.vendor == "postgresql":
        looked_up = f"SELECT * FROM {table} WHERE {condition} AND case_id = k.case_key OFFSET 0"
        return f"unnest(%s::bigint[]) AS k(case_key) CROSS JOIN LATERAL ({looked_up})", [list(cases)]
    return f"(SELECT * FROM {table} WHERE {condition} AND case_id IN ({marks(cases)}))", list(cases)


def insert(model: type[models.Model], values: Sequence[dict[str, Any]], *, conflict: str = "") -> list[int]:
    """One INSERT of rows given by column attribute, each with the same attributes; the new keys in their
    order.

    A fraction of `bulk_create`'s time. What is left out is null. `conflict`: an ON CONFLICT clause.
    """
    if not values:
        return []
    columns = [column for column in _columns(model) if column.attribute in values[0]]
    names = ", ".join(column.name for column in columns)
    prepared = [[column.prepared(row[column.attribute]) for column in columns] for row in values]
    query, params = source([(column.name, column.kind) for column in columns], prepared)
    key = model._meta.pk
    assert key is not None
    returned = fetch(
        # "WHERE true" tells SQLite that ON is not a join's.
        f"WITH v({names}) AS ({query}) INSERT INTO {model._meta.db_table} ({names})"
        f" SELECT {names} FROM v WHERE true {conflict} RETURNING {key.column}",
        params,
    )
    # Both databases number the rows of one INSERT in its order, but do not promise to return them so.
    return sorted(int(row[0]) for row in returned)


class Column(NamedTuple):
    """One column of a model as a statement needs it."""

    name: str
    attribute: str
    kind: str
    is_json: bool

    def prepared(self, value: Any) -> Any:
        """The value as the column holds it."""
        return to_json(value) if self.is_json and value is not None else value


@cache
def _columns(model: type[models.Model]) -> tuple[Column, ...]:
    return tuple(
        Column(
            str(field.column),
            field.attname,
            str(field.db_type(connection)),
            isinstance(field, JsonTextField),
        )
        for field in model._meta.concrete_fields
        if not isinstance(field, models.AutoField)
    )
