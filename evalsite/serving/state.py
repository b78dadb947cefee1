"""What the site needs in its database and on disk before the first request: tables, static files, owner."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from evalsite.serving import StartError

OWNER = "owner"
REACH_SECONDS = 5
Say = Callable[[str], None]


def bring_up_to_date(say: Say) -> None:
    """Migrate the database where needed. Raises StartError when it is out of reach or newer than we."""
    try:
        _reach()
        executor = MigrationExecutor(connection)
    except (DatabaseError, OSError) as error:
        raise StartError(f"The database at {_where()} cannot be used: {_first_line(error)}.") from None
    known, applied = set(executor.loader.disk_migrations), set(executor.loader.applied_migrations)
    ours = {app for app, _ in known}
    newer = sorted(
        f"{app}.{name}" for app, name in applied - known if app in ours and not _replaced(executor, app, name)
    )
    if newer:
        raise StartError(
            f"The database at {_where()} was written by a newer version of the site ({newer[-1]});"
            " update this one."
        )
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return
    if applied:
        kept = _keep_copy()
        say(f"The database is older than this version: applying {len(plan)} change(s){kept}.")
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise StartError(f"The database at {_where()} cannot be changed: {_first_line(error)}.") from None


def _reach() -> None:
    """Connect once beside the pool, which would try again for as long as a request may wait."""
    if connection.vendor == "postgresql":
        import psycopg

        parameters: dict[str, Any] = {
            **connection.get_connection_params(),
            "connect_timeout": REACH_SECONDS,
        }
        with connection.wrap_database_errors:
            psycopg.Connection.connect(**parameters).close()


def _replaced(executor: MigrationExecutor, app: str, name: str) -> bool:
    return any((app, name) in migration.replaces for migration in executor.loader.disk_migrations.values())


def _keep_copy() -> str:
    """Copy a SQLite database aside before it changes; a server's database has backups of its own."""
    if connection.vendor != "sqlite":
        return ""
    path = Path(str(connection.settings_dict["NAME"]))
    copy = path.with_name(f"{path.stem}-before-{time.strftime('%Y%m%d-%H%M%S')}{path.suffix}")
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    copy.chmod(0o600)
    return f", the old one is kept as {copy.name}"


def _where() -> str:
    found = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(found["NAME"])
    return f"{found['HOST'] or 'localhost'}:{found['PORT'] or 5432}/{found['NAME']}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def collect_static() -> None:
    """Copy and compress the static files when a source changed since the last time."""
    root = Path(settings.STATIC_ROOT)
    mark = root / ".sources"
    found = _sources()
    if mark.is_file() and mark.read_text() == found:
        return
    call_command("collectstatic", verbosity=0, interactive=False, clear=root.is_dir())
    root.mkdir(parents=True, exist_ok=True)
    mark.write_text(found)


def _sources() -> str:
    from django.contrib.staticfiles.finders import get_finders

    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def sign_in_link(username: str = OWNER) -> str:
    """A fresh link that signs this user in: once, within ten minutes, in a browser on this machine.

    The owner is made when missing. Raises StartError for anybody else who is not there or may not sign in.
    """
    from sesame.utils import get_query_string

    from experiments.models import Role

    users: Any = get_user_model().objects
    if username == OWNER:
        user, made = users.get_or_create(
            username=OWNER, defaults={"role": Role.ADMIN, "is_superuser": True, "is_active": True}
        )
        if made:
            user.set_unusable_password()
            user.save()
    else:
        user = users.filter(username=username, is_active=True).first()
        if user is None:
            raise StartError(f"There is no user {username} who may sign in.")
    return f"http://127.0.0.1:{settings.PORT}/link/{get_query_string(user)}"
