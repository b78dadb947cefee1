"""Column types shared by the models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models

from experiments.evaluation.text import to_json

if TYPE_CHECKING:
    _TextField = models.TextField[Any, Any]
else:
    _TextField = models.TextField


class JsonTextField(_TextField):
    """A JSON document kept as text, lossless for any Python string.

    ``jsonb`` refuses NUL and lone surrogates, which a system under test may well reply; as escaped text
    both databases keep them. Nothing queries inside these documents: what lists filter on has a column.
    """

    description = "JSON document stored as text"
    # What the stubs read: any JSON value goes in and comes out.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, _expression: object, _connection: object) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else to_json(value)

    def value_to_string(self, obj: models.Model) -> str:
        return to_json(self.value_from_object(obj))

    def value_from_object(self, obj: models.Model) -> Any:
        return getattr(obj, self.attname)
