"""What the evaluation core asks of the outside: judge, language detector, corpus, refusal detector.

The core only knows these shapes. Adapters stand in other packages; tests hand in plain objects.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from experiments.evaluation.base import FrozenModel
from experiments.evaluation.case import CriterionSpec, EvalCase
from experiments.evaluation.evidence import Evidence
from experiments.evaluation.outcome import Verdict


class JudgeError(Exception):
    """The judge could not be asked or its answer is no answer. `permanent`: asking again gives the same."""

    def __init__(self, detail: str, *, permanent: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.permanent = permanent


class GradeRequest(FrozenModel):
    """A rendered grade rubric, and the sha256 of that text, by which a re-grade finds the same request."""

    prompt: str
    prompt_hash: str


class JudgeReply(FrozenModel):
    """What the judge wrote. `declined`: it refused to judge, whatever it wrote. Tokens may be unknown."""

    text: str
    declined: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class JudgeRequest(FrozenModel):
    """A question answered by one label: the instruction, the transcript as data, and the labels allowed."""

    instruction: str
    transcript: str
    allowed_labels: tuple[str, ...]


class JudgeResult(FrozenModel):
    """The label a judge chose and why."""

    label: str
    reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Judge(Protocol):
    """A model that judges. It keeps no memory between calls. Both calls raise `JudgeError`."""

    @property
    def model(self) -> str:
        """The model's name, as pinned by a run."""

    async def grade(self, request: GradeRequest) -> JudgeReply:
        """The judge's answer to a grade rubric, unread."""

    async def label(self, request: JudgeRequest) -> JudgeResult:
        """The judge's label; one outside `allowed_labels` is the caller's to refuse."""


class LanguageDetector(Protocol):
    """Tells a sentence's language.

    A detector may also have `asked_for(language: str) -> LanguageDetector | None`: the detector to use where
    a criterion asks for this language (ISO 639-1), None when it does not know the language.
    """

    def detect(self, sentence: str) -> str | None:
        """ISO 639-1 code of the sentence's language, or None when it cannot be told."""


class CorpusUnit(FrozenModel):
    """One unit of a corpus: its path id, its parent's, and its text. `aliases` stand on root units."""

    id: str
    parent: str | None = None
    title: str = ""
    text: str = ""
    aliases: tuple[str, ...] = ()


class Corpus(Protocol):
    """Sources by id. Its units never change: what criteria work out about a corpus they keep with it."""

    def unit(self, unit_id: str, /) -> CorpusUnit | None:
        """The unit with this id, or None."""

    def units(self) -> Iterable[CorpusUnit]:
        """Every unit, in any order."""

    def __contains__(self, unit_id: object, /) -> bool:
        """Whether the corpus holds a unit with this id."""


class RefusalDetector(Protocol):
    def detect(self, reply: str) -> str | None:
        """The code of the project message the reply gives, or None."""


@dataclass(frozen=True, kw_only=True)
class CriterionContext:
    """The services a criterion may use; each may be None.

    `today` is the day the attempt started. `variants` maps the id of each variant of the case to the
    evidence of its attempt with the same number, or None when there is none.
    """

    judge: Judge | None = None
    detector: LanguageDetector | None = None
    corpus: Corpus | None = None
    refusal_detector: RefusalDetector | None = None
    today: date | None = None
    variants: Mapping[str, Evidence | None] = field(default_factory=dict)


class CriterionGrader(Protocol):
    """What settling and pre-flight need of a criterion registry (`criteria/registry.py`)."""

    async def evaluate(
        self, spec: CriterionSpec, case: EvalCase, evidence: Evidence, ctx: CriterionContext
    ) -> Verdict:
        """The verdict with kind, weight and gate filled in; a criterion that breaks is status `error`."""

    def validate(self, spec: CriterionSpec) -> object:
        """Nothing of interest; `ValueError` when the kind is unknown or its parameters do not fit."""

    def weight(self, spec: CriterionSpec) -> float:
        """The spec's weight, or its kind's default when it names none."""

    def needs(self, name: str) -> frozenset[str]:
        """Names of `CriterionContext` services the kind cannot do without."""

    def reads_sources(self, name: str) -> bool:
        """Whether a decision on a source's role can change verdicts of this kind."""

    def __contains__(self, name: object, /) -> bool:
        """Whether a kind with this name is registered."""
