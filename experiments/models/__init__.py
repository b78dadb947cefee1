"""What evalsite keeps. Versions are immutable rows, gradings are layers, the activity log only grows."""

from experiments.models.access import ALLOWED, Permission, Role, User
from experiments.models.activity import Activity, record_activity
from experiments.models.cases import Case, CaseVersion, Suite, SuiteVersion
from experiments.models.comparisons import ComparedCase, Comparison
from experiments.models.corpora import Corpus, CorpusUnit, CorpusVersion
from experiments.models.experiments import MAX_LANES, Experiment, SettleChoice
from experiments.models.gradings import CaseCriterion, CaseResult, CriterionVerdict, Grading, Result
from experiments.models.policies import Policy, PolicyVersion
from experiments.models.reviews import (
    Application,
    AppliedDecision,
    AppliedGrading,
    CitationOccurrence,
    ItemState,
    JobState,
    ReviewDraft,
    ReviewItem,
    RoleDecision,
    SourceRole,
)
from experiments.models.rubrics import Rubric, RubricKind, RubricVersion
from experiments.models.runs import Attempt, AttemptEvidence, AttemptState, LaneGroup, Run, RunState
from experiments.models.systems import JudgeModel, Target

__all__ = [
    "ALLOWED",
    "MAX_LANES",
    "Activity",
    "Application",
    "AppliedDecision",
    "AppliedGrading",
    "Attempt",
    "AttemptEvidence",
    "AttemptState",
    "Case",
    "CaseCriterion",
    "CaseResult",
    "CaseVersion",
    "CitationOccurrence",
    "ComparedCase",
    "Comparison",
    "Corpus",
    "CorpusUnit",
    "CorpusVersion",
    "CriterionVerdict",
    "Experiment",
    "Grading",
    "ItemState",
    "JobState",
    "JudgeModel",
    "LaneGroup",
    "Permission",
    "Policy",
    "PolicyVersion",
    "Result",
    "ReviewDraft",
    "ReviewItem",
    "Role",
    "RoleDecision",
    "Rubric",
    "RubricKind",
    "RubricVersion",
    "Run",
    "RunState",
    "SettleChoice",
    "SourceRole",
    "Suite",
    "SuiteVersion",
    "Target",
    "User",
    "record_activity",
]
