"""What the import commands share: who imports, and how the outcome is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.management.base import CommandError

from experiments.evaluation.text import plural, printable

if TYPE_CHECKING:
    from experiments.models import User
    from experiments.services.authoring import Imported

_SHOWN = 10


def importer(username: str | None) -> User | None:
    """The user of this name, or None for the product itself; CommandError for an unknown name."""
    from experiments.models import User

    if username is None:
        return None
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"there is no user {printable(username, 150)}")
    return user


def outcome_lines(found: Imported, noun: str) -> list[str]:
    """What an import changed, one fact a line."""
    if not found.changed_anything:
        return [f"{found.name} v{found.version}: nothing changed, {plural(len(found.unchanged), noun)}"]
    lines = [f"{found.name} v{found.version}: {plural(len(found.unchanged), noun)} unchanged"]
    for word, keys in (
        ("created", found.created),
        ("changed", found.changed),
        ("archived", found.archived),
        ("restored", found.restored),
    ):
        if keys:
            more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
            lines.append(f"  {word} ({len(keys):,}): {', '.join(keys[:_SHOWN])}{more}")
    return lines
