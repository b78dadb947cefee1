"""What evalsite keeps. Versions are immutable rows, gradings are layers, the activity log only grows."""

from experiments.models.access import ALLOWED, Permission, Role, User
from experiments.models.activity import Activity, record_activity
from experiments.models.cases import Case, CaseVersion, Suite, SuiteVersion
from experiments.models.corpora import Corpus, CorpusUnit, CorpusVersion
from experiments.models.experiments import MAX_LANES, Experiment, SettleChoice
from experiments.models.gradings import CaseCriterion, CaseResult, CriterionVerdict, Grading, Result
from experiments.models.policies import Policy, PolicyVersion
from experiments.models.rubrics import Rubric, RubricKind, RubricVersion
from experiments.models.runs import Attempt, AttemptEvidence, AttemptState, LaneGroup, Run, RunState
from experiments.models.systems import JudgeModel, Target

__all__ = [
    "ALLOWED",
    "MAX_LANES",
    "Activity",
    "Attempt",
    "AttemptEvidence",
    "AttemptState",
    "Case",
    "CaseCriterion",
    "CaseResult",
    "CaseVersion",
    "Corpus",
    "CorpusUnit",
    "CorpusVersion",
    "CriterionVerdict",
    "Experiment",
    "Grading",
    "JudgeModel",
    "LaneGroup",
    "Permission",
    "Policy",
    "PolicyVersion",
    "Result",
    "Role",
    "Rubric",
    "RubricKind",
    "RubricVersion",
    "Run",
    "RunState",
    "SettleChoice",
    "Suite",
    "SuiteVersion",
    "Target",
    "User",
    "record_activity",
]
