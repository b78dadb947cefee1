"""The authoring pages, on Django's admin. Every save calls a service; nothing is deleted here."""

from experiments.admin import (
    cases,
    corpora,
    experiments,
    policies,
    records,
    rubrics,
    suites,
    systems,
    users,
)
from experiments.admin.site import site

__all__ = [
    "cases",
    "corpora",
    "experiments",
    "policies",
    "records",
    "rubrics",
    "site",
    "suites",
    "systems",
    "users",
]
