"""The pages of the site, under the namespace "web"."""

from django.urls import path, register_converter
from django.urls.converters import IntConverter

from experiments.web import cases, compare, experiments, home, queue, runs, signin, site


class RowConverter(IntConverter):
    """The number of a row: as many digits as a database knows, so that a longer one is simply not found."""

    regex = "[0-9]{1,18}"


register_converter(RowConverter, "row")

app_name = "web"
urlpatterns = [
    *signin.urlpatterns,
    path("", home.home, name="home"),
    path("experiments/", experiments.experiments, name="experiments"),
    path("experiments/<row:experiment_id>/", experiments.experiment, name="experiment"),
    path("experiments/<row:experiment_id>/start/", experiments.start, name="start_run"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<row:run_id>/", runs.run, name="run"),
    path("runs/<row:run_id>/stop/", runs.stop, name="stop_run"),
    path("runs/<row:run_id>/resume/", runs.resume, name="resume_run"),
    path("runs/<row:run_id>/record.json", runs.record, name="run_record"),
    path("runs/<row:run_id>/cases/<row:case_result_id>/", cases.case_in_run, name="case_in_run"),
    path("runs/<row:run_id>/attempts/<row:attempt_id>/reply.txt", cases.attempt_reply, name="attempt_reply"),
    path("compare/", compare.compare, name="compare"),
    path("compare/grade-like/", compare.grade_alike, name="grade_alike"),
    path("queue/", queue.queue, name="queue"),
    path("queue/take-next/", queue.take_next, name="queue_take_next"),
    path("queue/apply/", queue.apply, name="queue_apply"),
    path("queue/applied/<row:application_id>/", queue.application, name="application"),
    path("queue/decisions/<row:decision_id>/undo/", queue.undo, name="queue_undo"),
    path("queue/<row:item_id>/", queue.item, name="queue_item"),
    path("queue/<row:item_id>/take/", queue.take, name="queue_take"),
    path("queue/<row:item_id>/renew/", queue.renew, name="queue_renew"),
    path("queue/<row:item_id>/draft/", queue.draft, name="queue_draft"),
    path("queue/<row:item_id>/decide/", queue.decide, name="queue_decide"),
    path("queue/<row:item_id>/skip/", queue.skip, name="queue_skip"),
    path("queue/<row:item_id>/flag/", queue.flag, name="queue_flag"),
    path("theme/", site.theme, name="theme"),
    path("healthz", site.healthz, name="healthz"),
    path("readyz", site.readyz, name="readyz"),
]
