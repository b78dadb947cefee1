"""Publishing whole documents: suites, rubrics, policies and corpora, all or nothing.

Each function is one verb in one transaction with its activity lines. Content that has not changed makes no
new version and no line, so the same file can be imported again at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.utils import timezone

from experiments.evaluation import CorpusUnit, EvalCase, Rubric
from experiments.mapping import corpus_of
from experiments.models import (
    Activity,
    Case,
    CaseVersion,
    Corpus,
    CorpusVersion,
    Permission,
    Policy,
    Suite,
    User,
    record_activity,
)
from experiments.models import CorpusUnit as CorpusUnitRow
from experiments.models import Rubric as RubricRow
from experiments.models.activity import activity_line
from experiments.services import versions
from experiments.services.edits import require, require_storable
from experiments.wire.corpus import corpus_fingerprint
from experiments.wire.suite import SuiteDocument, suite_criteria, to_cases

_BATCH = 500


@dataclass(frozen=True)
class Imported:
    """What a document changed, by key in its order. `version` is the number that is current afterwards.

    `archived`: cases the document no longer holds; they leave new runs, and nothing of them is deleted.
    `restored`: archived cases it holds again.
    """

    name: str
    version: int
    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    new_version: bool = False

    @property
    def changed_anything(self) -> bool:
        """Whether anything is different from before."""
        return self.new_version or bool(self.created or self.changed or self.archived or self.restored)


# -- suites -------------------------------------------------------------------------------------------------


@transaction.atomic
def publish_suite(user: User | None, document: SuiteDocument) -> Imported:
    """The suite as the document says: its rules, and its cases with a new version where one differs.

    A case the document does not hold is archived. PermissionDenied unless the user may author.
    """
    require(user, Permission.AUTHOR)
    suite, made = Suite.objects.get_or_create(name=document.suite)
    suite = versions.locked(suite)
    rules = versions.add_suite_version(
        user,
        suite,
        criteria=suite_criteria(document),
        pass_score=document.pass_score,
        messages=document.messages,
    )
    current = rules or suite.current
    assert current is not None
    publishing = _CasePublishing(user, suite)
    publishing.publish(to_cases(document))
    found = Imported(
        name=suite.name,
        version=current.number,
        created=tuple(publishing.created),
        changed=tuple(publishing.changed),
        unchanged=tuple(publishing.unchanged),
        archived=tuple(publishing.archived),
        restored=tuple(publishing.restored),
        new_version=rules is not None,
    )
    if found.changed_anything:
        after = {
            "version": found.version,
            "cases created": len(found.created),
            "cases changed": len(found.changed),
            "cases archived": list(found.archived),
            "cases restored": list(found.restored),
        }
        record_activity(user, "created" if made else "imported", suite, after=after)
    return found


@dataclass
class _CasePublishing:
    """The cases of one suite brought to a document's state, in a fixed number of queries a batch."""

    user: User | None
    suite: Suite
    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    lines: list[Activity] = field(default_factory=list)

    def publish(self, values: Sequence[EvalCase]) -> None:
        rows = {case.key: case for case in Case.objects.filter(suite=self.suite).select_related("current")}
        wanted = {value.id for value in values}
        new = [
            Case(suite=self.suite, key=value.id, position=position)
            for position, value in enumerate(values)
            if value.id not in rows
        ]
        for case in Case.objects.bulk_create(new, batch_size=_BATCH):
            rows[case.key] = case
        added: list[CaseVersion] = []
        for position, value in enumerate(values):
            case = rows[value.id]
            case.position = position
            if changed := self._version(case, value):
                added.append(changed)
            if case.archived_at is not None:
                case.archived_at = None
                self._tell(self.restored, "restored", case)
        for version in CaseVersion.objects.bulk_create(added, batch_size=_BATCH):
            rows[version.case.key].current = version
        for case in rows.values():
            if case.key not in wanted and case.archived_at is None:
                case.archived_at = timezone.now()
                self._tell(self.archived, "archived", case)
        Case.objects.bulk_update(rows.values(), ["current", "position", "archived_at"], batch_size=_BATCH)
        Activity.objects.bulk_create(self.lines, batch_size=_BATCH)

    def _version(self, case: Case, value: EvalCase) -> CaseVersion | None:
        version = versions.next_case_version(self.user, case, value)
        if version is None:
            self.unchanged.append(case.key)
            return None
        made = case.current is None
        self._tell(
            self.created if made else self.changed,
            "created" if made else "edited",
            case,
            None if made else {"version": version.number - 1},
            {"version": version.number},
        )
        return version

    def _tell(
        self,
        keys: list[str],
        verb: str,
        case: Case,
        before: dict[str, int] | None = None,
        after: dict[str, int] | None = None,
    ) -> None:
        keys.append(case.key)
        self.lines.append(activity_line(self.user, verb, case, before=before, after=after))


# -- rubrics and policies -----------------------------------------------------------------------------------


@transaction.atomic
def publish_rubric(user: User | None, value: Rubric) -> Imported:
    """The rubric of this name with this wording; its version number is counted here."""
    require(user, Permission.AUTHOR)
    require_storable(name=value.name, template=value.template)
    rubric, made = RubricRow.objects.get_or_create(name=value.name)
    version = versions.add_rubric_version(user, rubric, value)
    return _one(user, rubric, made, version.number if version else None)


@transaction.atomic
def publish_policy(user: User | None, name: str, text: str) -> Imported:
    """The policy of this name with this text."""
    require(user, Permission.AUTHOR)
    require_storable(name=name, text=text)
    policy, made = Policy.objects.get_or_create(name=name)
    version = versions.add_policy_version(user, policy, text)
    return _one(user, policy, made, version.number if version else None)


def _one(user: User | None, thing: RubricRow | Policy, made: bool, number: int | None) -> Imported:
    if number is None:
        assert thing.current is not None
        return Imported(name=thing.name, version=thing.current.number, unchanged=(thing.name,))
    before = None if made else {"version": number - 1}
    record_activity(user, "created" if made else "imported", thing, before=before, after={"version": number})
    keys = (thing.name,)
    if made:
        return Imported(name=thing.name, version=number, created=keys, new_version=True)
    return Imported(name=thing.name, version=number, changed=keys, new_version=True)


# -- corpora ------------------------------------------------------------------------------------------------


@transaction.atomic
def publish_corpus(user: User | None, name: str, units: Sequence[CorpusUnit]) -> Imported:
    """The corpus of this name with exactly these units.

    Content that was a version before becomes current again under its old number. PermissionDenied unless the
    user may author.
    """
    require(user, Permission.AUTHOR)
    corpus, made = Corpus.objects.get_or_create(name=name)
    Corpus.objects.select_for_update().get(pk=corpus.pk)
    corpus = Corpus.objects.select_related("current").get(pk=corpus.pk)
    before, fingerprint = corpus.current, corpus_fingerprint(units)
    if before is not None and before.fingerprint == fingerprint:
        return Imported(name=name, version=before.number, unchanged=tuple(unit.id for unit in units))
    found = _difference(name, before, units)
    version = CorpusVersion.objects.filter(corpus=corpus, fingerprint=fingerprint).first()
    if version is None:
        version = _corpus_version(user, corpus, fingerprint, units)
    Corpus.objects.filter(pk=corpus.pk).update(current=version)
    record_activity(
        user,
        "created" if made else "imported",
        corpus,
        before={"version": before.number} if before else None,
        after={"version": version.number, "units": version.unit_count},
    )
    return Imported(
        name=name,
        version=version.number,
        created=found.created,
        changed=found.changed,
        unchanged=found.unchanged,
        new_version=True,
    )


def _corpus_version(
    user: User | None, corpus: Corpus, fingerprint: str, units: Sequence[CorpusUnit]
) -> CorpusVersion:
    last = CorpusVersion.objects.filter(corpus=corpus).order_by("-number").first()
    version = CorpusVersion.objects.create(
        corpus=corpus,
        number=last.number + 1 if last else 1,
        fingerprint=fingerprint,
        unit_count=len(units),
        created_by=user,
    )
    CorpusUnitRow.objects.bulk_create(
        (
            CorpusUnitRow(
                version=version,
                unit_id=unit.id,
                parent_unit=unit.parent or "",
                title=unit.title,
                text=unit.text,
                aliases=list(unit.aliases),
                position=position,
            )
            for position, unit in enumerate(units)
        ),
        batch_size=_BATCH,
    )
    return version


def _difference(name: str, before: CorpusVersion | None, units: Sequence[CorpusUnit]) -> Imported:
    """Which units are new, differ, or stand as they did."""
    known = corpus_of(before)
    created, changed, unchanged = list[str](), list[str](), list[str]()
    for unit in units:
        was = known.unit(unit.id) if known else None
        (created if was is None else unchanged if was == unit else changed).append(unit.id)
    return Imported(
        name=name,
        version=before.number if before else 0,
        created=tuple(created),
        changed=tuple(changed),
        unchanged=tuple(unchanged),
    )
