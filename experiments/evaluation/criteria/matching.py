"""How a cited source id matches a source of a case. Ids are paths, compared segment by segment."""

from collections.abc import Iterable, Sequence
from typing import Literal

Match = Literal["hierarchical", "exact"]


def matches(source: str, cited: str, match: Match) -> bool:
    """Whether the cited id matches the source.

    Hierarchical: at or below it (``gdpr/art:17/par:1`` matches ``gdpr/art:17``, never the other way);
    ``art:1`` is not ``art:17``, since whole segments are compared. Exact: the same id.
    """
    if match == "exact":
        return cited == source
    above, below = source.split("/"), cited.split("/")
    return below[: len(above)] == above


def matches_any(sources: Iterable[str], cited: str, match: Match) -> bool:
    """Whether the cited id matches at least one of the sources."""
    return any(matches(source, cited, match) for source in sources)


def uncovered_groups(
    groups: Sequence[Sequence[str]], cited: Sequence[str], match: Match
) -> list[Sequence[str]]:
    """The groups of which no source is cited, in the order of the case."""
    return [group for group in groups if not any(matches_any(group, one, match) for one in cited)]


def distinct(ids: Iterable[str]) -> list[str]:
    """The ids without repeats, in the order first cited."""
    return list(dict.fromkeys(ids))
