import uuid

import django.contrib.auth.models
import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import experiments.models.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Suite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Case",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("position", models.PositiveIntegerField(default=0, help_text="its place in the suite")),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "suite",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cases",
                        to="experiments.suite",
                    ),
                ),
            ],
            options={
                "ordering": ["suite", "position", "key"],
                "constraints": [
                    models.UniqueConstraint(fields=("suite", "key"), name="case_key_once_a_suite"),
                    models.CheckConstraint(
                        condition=models.Q(("key", ""), _negated=True), name="case_key_not_empty"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
                ),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "no role"),
                            ("viewer", "viewer"),
                            ("reviewer", "reviewer"),
                            ("author", "author"),
                            ("operator", "operator"),
                            ("admin", "admin"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("role__in", ["", "viewer", "reviewer", "author", "operator", "admin"])
                        ),
                        name="user_role_known",
                    )
                ],
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Policy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "policies",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("text", models.TextField()),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="experiments.policy",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("policy", "number"), name="policy_version_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="policy_version_has_text"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Corpus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "corpora",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="JudgeModel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("config", experiments.models.fields.JsonTextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Rubric",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Target",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("config", experiments.models.fields.JsonTextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ["name"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Experiment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("tags", experiments.models.fields.JsonTextField(blank=True, default=list)),
                (
                    "settle_mode",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "by criteria if there are any, else by expectation"),
                            ("expectation", "by expectation"),
                            ("criteria", "by criteria"),
                            ("both", "by both"),
                        ],
                        default="",
                        max_length=12,
                    ),
                ),
                (
                    "lanes",
                    models.PositiveSmallIntegerField(
                        default=8,
                        help_text="how many attempts execute at once, 1 to 512",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(512),
                        ],
                    ),
                ),
                (
                    "repeats",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="attempts of each case",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "attempt_seconds",
                    models.PositiveIntegerField(
                        default=120,
                        help_text="deadline of one attempt, judge included",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "accept_errors",
                    models.BooleanField(
                        default=False,
                        help_text="start although a service is missing; its criteria are then errors",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "corpus",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.corpus",
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.judgemodel",
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.policy",
                    ),
                ),
                (
                    "rubric",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.rubric",
                    ),
                ),
                (
                    "suite",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="experiments",
                        to="experiments.suite",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.target",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("lanes__gte", 1), ("lanes__lte", 512)),
                        name="experiment_lanes_1_to_512",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("repeats__gte", 1)), name="experiment_repeats_from_1"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("attempt_seconds__gte", 1)), name="experiment_deadline_from_1"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("settle_mode__in", ["", "expectation", "criteria", "both"])),
                        name="experiment_settle_mode_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("token", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("stopping", "stopping"),
                            ("stopped", "stopped"),
                            ("finished", "finished"),
                        ],
                        default="running",
                        max_length=10,
                    ),
                ),
                ("target_name", models.CharField(max_length=100)),
                ("target_config", experiments.models.fields.JsonTextField()),
                ("target_version", models.CharField(blank=True, max_length=200)),
                ("lanes", models.PositiveSmallIntegerField()),
                ("repeats", models.PositiveSmallIntegerField()),
                ("attempt_seconds", models.PositiveIntegerField()),
                ("requested", models.PositiveIntegerField()),
                ("finished", models.PositiveIntegerField(default=0)),
                ("busy_seconds", models.FloatField(default=0.0)),
                ("last_error", models.TextField(blank=True)),
                ("stop_reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="experiments.experiment",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="experiments.run",
                    ),
                ),
                (
                    "policy_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.policyversion",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["running", "stopping"])),
                        fields=["id"],
                        name="run_unfinished",
                    ),
                    models.Index(fields=["experiment", "-id"], name="run_of_experiment"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["running", "stopping", "stopped", "finished"])),
                        name="run_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("lanes__gte", 1), ("lanes__lte", 512)), name="run_lanes_1_to_512"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("repeats__gte", 1)), name="run_repeats_from_1"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("finished__lte", models.F("requested"))),
                        name="run_finished_at_most_requested",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "finished"), _negated=True),
                            ("finished_at__isnull", False),
                            _connector="OR",
                        ),
                        name="run_finished_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LaneGroup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "sent to the broker, not yet begun"),
                            ("active", "claims attempts"),
                            ("yielding", "finishes what it holds"),
                            ("ended", "ended"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("epoch", models.PositiveIntegerField(default=1)),
                ("lanes", models.PositiveSmallIntegerField()),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("heartbeat_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="groups",
                        to="experiments.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "ended"), _negated=True),
                        fields=["run"],
                        name="lane_group_live",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "active", "yielding", "ended"])),
                        name="lane_group_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("lanes__lte", 512)), name="lane_group_lanes_at_most_512"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("content", experiments.models.fields.JsonTextField()),
                ("graded_fingerprint", models.CharField(max_length=64)),
                ("turn", models.TextField()),
                ("tags", experiments.models.fields.JsonTextField(blank=True, default=list)),
                ("walks", models.BooleanField(default=False)),
                ("seeded", models.BooleanField(default=False)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="experiments.case",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("case", "number"), name="case_version_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("graded_fingerprint", ""), _negated=True),
                            models.Q(("fingerprint", ""), _negated=True),
                        ),
                        name="case_version_has_fingerprints",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("take", models.PositiveSmallIntegerField(default=1)),
                ("counts", models.BooleanField(default=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "planned"),
                            ("claimed", "taken by a lane group, not yet asked"),
                            ("running", "asked"),
                            ("done", "done"),
                            ("cancelled", "cancelled"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("tries", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("seconds", models.FloatField(blank=True, null=True)),
                ("prompt_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("completion_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("failure_cause", models.CharField(blank=True, max_length=16)),
                ("failure_detail", models.TextField(blank=True)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="experiments.case"
                    ),
                ),
                (
                    "case_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.caseversion",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="experiments.lanegroup",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="experiments.run",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "case", "number", "take"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")), fields=["run", "id"], name="attempt_pending"
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["claimed", "running"])),
                        fields=["lease_until"],
                        name="attempt_leased",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["claimed", "running"])),
                        fields=["group"],
                        name="attempt_held",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "case_version", "number", "take"), name="attempt_planned_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("counts", True)),
                        fields=("run", "case", "number"),
                        name="attempt_one_counts",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("number__gte", 1)), name="attempt_number_from_1"
                    ),
                    models.CheckConstraint(condition=models.Q(("take__gte", 1)), name="attempt_take_from_1"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["pending", "claimed", "running", "done", "cancelled"])
                        ),
                        name="attempt_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("failure_cause__in", ["", "SETUP_FAILED", "NO_REPLY"])),
                        name="attempt_cause_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", False), ("state", "done")),
                            models.Q(
                                models.Q(("state", "done"), _negated=True), ("finished_at__isnull", True)
                            ),
                            _connector="OR",
                        ),
                        name="attempt_done_has_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("group__isnull", False),
                                ("lease_until__isnull", False),
                                ("state__in", ["claimed", "running"]),
                            ),
                            models.Q(("state__in", ["claimed", "running"]), _negated=True),
                            _connector="OR",
                        ),
                        name="attempt_in_flight_has_lease",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Activity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("verb", models.CharField(max_length=40)),
                ("object_type", models.CharField(max_length=40)),
                ("object_id", models.BigIntegerField()),
                ("object_label", models.CharField(max_length=200)),
                ("before", experiments.models.fields.JsonTextField(blank=True, null=True)),
                ("after", experiments.models.fields.JsonTextField(blank=True, null=True)),
                (
                    "actor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="activities",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "activity",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["object_type", "object_id", "-id"], name="activity_of_object")
                ],
            },
        ),
        migrations.CreateModel(
            name="Application",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting"), ("done", "done"), ("failed", "failed")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "done", "failed"])),
                        name="application_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AttemptEvidence",
            fields=[
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="evidence",
                        serialize=False,
                        to="experiments.attempt",
                    ),
                ),
                ("document", experiments.models.fields.JsonTextField(null=True)),
                ("purged_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("document__isnull", False), ("purged_at__isnull", True)),
                            models.Q(("document__isnull", True), ("purged_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="evidence_kept_or_purged",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CorpusVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("unit_count", models.PositiveIntegerField()),
                (
                    "corpus",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="experiments.corpus",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("corpus", "number"), name="corpus_version_number_once"),
                    models.UniqueConstraint(
                        fields=("corpus", "fingerprint"), name="corpus_version_content_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RubricVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("grade", "grade from 1 to 10"), ("label", "labels")],
                        default="grade",
                        max_length=8,
                    ),
                ),
                ("template", models.TextField()),
                ("labels", experiments.models.fields.JsonTextField(blank=True, default=list)),
                ("pass_labels", experiments.models.fields.JsonTextField(blank=True, default=list)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "rubric",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="experiments.rubric",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("rubric", "number"), name="rubric_version_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["grade", "label"])), name="rubric_version_kind_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("template", ""), _negated=True),
                        name="rubric_version_has_template",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SuiteVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("criteria", experiments.models.fields.JsonTextField(blank=True, default=list)),
                (
                    "pass_score",
                    models.FloatField(
                        default=1.0,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(1.0),
                        ],
                    ),
                ),
                ("messages", experiments.models.fields.JsonTextField(blank=True, default=dict)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "suite",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="experiments.suite",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("suite", "number"), name="suite_version_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(("pass_score__gte", 0), ("pass_score__lte", 1)),
                        name="suite_version_pass_score_share",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grading",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "open"), ("closed", "closed")], default="open", max_length=8
                    ),
                ),
                ("is_current", models.BooleanField(default=True)),
                ("judge_config", experiments.models.fields.JsonTextField(blank=True, null=True)),
                ("judge_model", models.CharField(blank=True, max_length=200)),
                ("settle_mode", models.CharField(max_length=12)),
                ("metric_versions", experiments.models.fields.JsonTextField(blank=True, default=dict)),
                ("passed_cases", models.PositiveIntegerField(default=0)),
                ("failed_cases", models.PositiveIntegerField(default=0)),
                ("varied_cases", models.PositiveIntegerField(default=0)),
                ("undecided_cases", models.PositiveIntegerField(default=0)),
                ("no_result_cases", models.PositiveIntegerField(default=0)),
                (
                    "counted",
                    models.PositiveIntegerField(
                        default=0, help_text="attempts judged: passed, failed or undecided"
                    ),
                ),
                ("totals", experiments.models.fields.JsonTextField(blank=True, default=dict)),
                (
                    "collected",
                    models.BooleanField(
                        default=False, help_text="its citations without a role are in the queue"
                    ),
                ),
                ("rate_low", models.FloatField(blank=True, null=True)),
                ("rate_high", models.FloatField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "corpus_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.corpusversion",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="experiments.grading",
                    ),
                ),
                (
                    "rubric_version",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.rubricversion",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gradings",
                        to="experiments.run",
                    ),
                ),
                (
                    "suite_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.suiteversion",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("collected", False), ("state", "closed")),
                        fields=["id"],
                        name="grading_to_collect",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "number"), name="grading_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_current", True)), fields=("run",), name="grading_one_current"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "closed"])), name="grading_state_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("settle_mode__in", ["expectation", "criteria", "both"])),
                        name="grading_settle_mode_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("rate_high__isnull", True), ("rate_low__isnull", True)),
                            ("rate_low__lte", models.F("rate_high")),
                            _connector="OR",
                        ),
                        name="grading_interval_ordered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("verdict", models.CharField(blank=True, max_length=10)),
                ("requested", models.PositiveIntegerField()),
                ("passed", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("undecided", models.PositiveIntegerField(default=0)),
                ("inconclusive", models.PositiveIntegerField(default=0)),
                ("evaluator_failed", models.PositiveIntegerField(default=0)),
                ("setup_failed", models.PositiveIntegerField(default=0)),
                ("no_reply", models.PositiveIntegerField(default=0)),
                ("strip", models.TextField(blank=True)),
                ("settled_by", models.CharField(blank=True, max_length=16)),
                ("decided_by", models.CharField(blank=True, max_length=100)),
                ("reason", models.TextField(blank=True)),
                ("mean_seconds", models.FloatField(blank=True, null=True)),
                ("tokens", models.PositiveBigIntegerField(blank=True, null=True)),
                ("tags", models.TextField(blank=True)),
                ("search", models.TextField(blank=True)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="experiments.case"
                    ),
                ),
                (
                    "case_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.caseversion",
                    ),
                ),
                (
                    "graded_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.caseversion",
                    ),
                ),
                (
                    "grading",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="case_results",
                        to="experiments.grading",
                    ),
                ),
            ],
            options={
                "ordering": ["grading", "position", "id"],
                "indexes": [
                    models.Index(
                        fields=["grading", "verdict", "position", "id"], name="case_result_by_verdict"
                    ),
                    models.Index(fields=["grading", "position", "id"], name="case_result_in_order"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("grading", "case"), name="case_result_once_a_grading"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["", "PASSED", "FAILED", "VARIED", "UNDECIDED", "NO_RESULT"])
                        ),
                        name="case_result_verdict_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "requested__gte",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            django.db.models.expressions.CombinedExpression(
                                                django.db.models.expressions.CombinedExpression(
                                                    django.db.models.expressions.CombinedExpression(
                                                        models.F("passed"), "+", models.F("failed")
                                                    ),
                                                    "+",
                                                    models.F("undecided"),
                                                ),
                                                "+",
                                                models.F("inconclusive"),
                                            ),
                                            "+",
                                            models.F("evaluator_failed"),
                                        ),
                                        "+",
                                        models.F("setup_failed"),
                                    ),
                                    "+",
                                    models.F("no_reply"),
                                ),
                            )
                        ),
                        name="case_result_counts_within_requested",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseCriterion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("kind", models.CharField(max_length=100)),
                ("passes", models.PositiveIntegerField(default=0)),
                ("fails", models.PositiveIntegerField(default=0)),
                ("errors", models.PositiveIntegerField(default=0)),
                ("not_applicable", models.PositiveIntegerField(default=0)),
                (
                    "case_result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="criteria",
                        to="experiments.caseresult",
                    ),
                ),
            ],
            options={
                "ordering": ["case_result", "position"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("fails__gt", 0)),
                        fields=["kind", "case_result"],
                        name="case_criterion_fails",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("case_result", "position"), name="case_criterion_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting"), ("done", "done"), ("failed", "failed")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("error", models.TextField(blank=True)),
                ("document", experiments.models.fields.JsonTextField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "a",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.grading",
                    ),
                ),
                (
                    "b",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.grading",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("a", "b"), name="comparison_once"),
                    models.CheckConstraint(
                        condition=models.Q(("a", models.F("b")), _negated=True), name="comparison_of_two"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "done", "failed"])),
                        name="comparison_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            ("document__isnull", False),
                            _connector="OR",
                        ),
                        name="comparison_done_has_document",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ComparedCase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("key", models.CharField(max_length=200)),
                ("change", models.CharField(max_length=12)),
                ("a_verdict", models.CharField(blank=True, max_length=10)),
                ("b_verdict", models.CharField(blank=True, max_length=10)),
                ("flipped", models.CharField(blank=True, max_length=100)),
                (
                    "a",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.caseresult",
                    ),
                ),
                (
                    "b",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.caseresult",
                    ),
                ),
                (
                    "comparison",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cases",
                        to="experiments.comparison",
                    ),
                ),
            ],
            options={
                "ordering": ["comparison", "position"],
                "indexes": [
                    models.Index(fields=["comparison", "change", "position"], name="compared_case_by_change"),
                    models.Index(
                        fields=["comparison", "a_verdict", "b_verdict", "position"],
                        name="compared_case_by_cell",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("comparison", "key"), name="compared_case_once"),
                    models.UniqueConstraint(
                        fields=("comparison", "position"), name="compared_case_position_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("a__isnull", False), ("b__isnull", False), _connector="OR"),
                        name="compared_case_has_a_side",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CorpusUnit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("unit_id", models.CharField(max_length=300)),
                ("parent_unit", models.CharField(blank=True, max_length=300)),
                ("title", models.TextField(blank=True)),
                ("text", models.TextField(blank=True)),
                ("aliases", experiments.models.fields.JsonTextField(blank=True, default=list)),
                ("position", models.PositiveIntegerField()),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="units",
                        to="experiments.corpusversion",
                    ),
                ),
            ],
            options={
                "ordering": ["version", "position"],
                "indexes": [
                    models.Index(fields=["version", "parent_unit", "position"], name="corpus_unit_children")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("version", "unit_id"), name="corpus_unit_id_once"),
                    models.CheckConstraint(
                        condition=models.Q(("unit_id", ""), _negated=True), name="corpus_unit_id_not_empty"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("unit_id", models.F("parent_unit")), _negated=True),
                        name="corpus_unit_not_its_own_parent",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Result",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("outcome", models.CharField(max_length=16)),
                ("passed", models.BooleanField()),
                ("score", models.FloatField(blank=True, null=True)),
                ("grade", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("threshold", models.FloatField(blank=True, null=True)),
                ("reason", models.TextField(blank=True)),
                ("evaluator", models.CharField(max_length=100)),
                ("evaluator_version", models.CharField(default="1", max_length=40)),
                ("settled_by", models.CharField(max_length=16)),
                ("criteria_score", models.FloatField(blank=True, null=True)),
                ("pass_score", models.FloatField(blank=True, null=True)),
                ("judge_use", experiments.models.fields.JsonTextField(blank=True, null=True)),
                ("expectation", experiments.models.fields.JsonTextField(blank=True, null=True)),
                (
                    "attempt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="results",
                        to="experiments.attempt",
                    ),
                ),
                (
                    "copied_from",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.result",
                    ),
                ),
                (
                    "grading",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="results",
                        to="experiments.grading",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("grading", "attempt"), name="result_one_an_attempt"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("outcome__in", ["VERDICT", "UNDECIDED", "INCONCLUSIVE", "FAILED"])
                        ),
                        name="result_outcome_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("passed", False), ("outcome", "VERDICT"), _connector="OR"),
                        name="result_only_verdicts_pass",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("score__isnull", True),
                            models.Q(("score__gte", 0), ("score__lte", 1)),
                            _connector="OR",
                        ),
                        name="result_score_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("grade__isnull", True),
                            models.Q(("grade__gte", 1), ("grade__lte", 10)),
                            _connector="OR",
                        ),
                        name="result_grade_1_to_10",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "settled_by__in",
                                ["spec_node", "contains_all", "end_state", "metric", "judge", "criteria"],
                            )
                        ),
                        name="result_settled_by_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CriterionVerdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("kind", models.CharField(max_length=100)),
                ("status", models.CharField(max_length=16)),
                ("detail", models.TextField(blank=True)),
                ("weight", models.FloatField(default=1.0)),
                ("gate", models.BooleanField(default=False)),
                ("data", experiments.models.fields.JsonTextField(blank=True, default=dict)),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verdicts",
                        to="experiments.result",
                    ),
                ),
            ],
            options={
                "ordering": ["result", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("result", "position"), name="criterion_verdict_once"),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pass", "fail", "error", "not_applicable"])),
                        name="criterion_verdict_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("weight__gte", 0)), name="criterion_verdict_weight_from_0"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("unit_id", models.CharField(max_length=300)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("needs_second", "needs a second reviewer"),
                            ("disagreed", "reviewers disagree"),
                            ("settled", "settled"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                (
                    "wanted",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="how many distinct reviewers settle it"
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("weight", models.PositiveIntegerField(default=0)),
                ("flagged", models.BooleanField(default=False)),
                ("stale", models.BooleanField(default=False)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("lease", models.UUIDField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review_items",
                        to="experiments.case",
                    ),
                ),
                (
                    "holder",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "settled"), _negated=True),
                        fields=["-weight", "id"],
                        name="review_item_open",
                    ),
                    models.Index(fields=["unit_id"], name="review_item_of_unit"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("case", "unit_id"), name="review_item_once_a_case"),
                    models.CheckConstraint(
                        condition=models.Q(("unit_id", ""), _negated=True), name="review_item_has_unit"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["waiting", "needs_second", "disagreed", "settled"])
                        ),
                        name="review_item_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("wanted__gte", 1)), name="review_item_wants_a_reviewer"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("holder__isnull", True),
                                ("lease__isnull", True),
                                ("lease_until__isnull", True),
                            ),
                            models.Q(
                                ("holder__isnull", False),
                                ("lease__isnull", False),
                                ("lease_until__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="review_item_held_by_a_lease",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewDraft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("document", experiments.models.fields.JsonTextField(default=dict)),
                ("saved_at", models.DateTimeField(auto_now=True)),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="drafts",
                        to="experiments.reviewitem",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("item", "reviewer"), name="draft_one_a_reviewer")
                ],
            },
        ),
        migrations.CreateModel(
            name="RoleDecision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("required", "required"),
                            ("acceptable", "acceptable"),
                            ("forbidden", "forbidden"),
                            ("not_a_source", "not a source"),
                            ("cannot_tell", "cannot tell"),
                        ],
                        max_length=16,
                    ),
                ),
                ("group", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("reason", models.TextField(blank=True)),
                ("item_version", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="experiments.reviewitem",
                    ),
                ),
                (
                    "reverses",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reversed_by",
                        to="experiments.roledecision",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "scope_origin",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="spread",
                        to="experiments.roledecision",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["reviewer", "-id"], name="role_decision_of_reviewer")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "role__in",
                                ["required", "acceptable", "forbidden", "not_a_source", "cannot_tell"],
                            )
                        ),
                        name="role_decision_role_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("group__isnull", True), ("role", "required"), _connector="OR"),
                        name="role_decision_group_only_if_required",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("role__in", ["forbidden", "cannot_tell"]), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="role_decision_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AppliedDecision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "application",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="experiments.application",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="applications",
                        to="experiments.reviewitem",
                    ),
                ),
                (
                    "after",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.roledecision",
                    ),
                ),
                (
                    "before",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.roledecision",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("application", "item"), name="applied_once_an_application"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CitationOccurrence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "attempt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.attempt",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="occurrences",
                        to="experiments.reviewitem",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="experiments.run"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["item", "-attempt"], name="occurrence_of_item")],
                "constraints": [
                    models.UniqueConstraint(fields=("item", "attempt"), name="occurrence_once_an_attempt")
                ],
            },
        ),
        migrations.CreateModel(
            name="AppliedGrading",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("changed", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "application",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gradings",
                        to="experiments.application",
                    ),
                ),
                (
                    "after",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.grading",
                    ),
                ),
                (
                    "before",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="experiments.grading",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="experiments.run"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("application", "run"), name="applied_grading_once_a_run")
                ],
            },
        ),
        migrations.AddField(
            model_name="case",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.caseversion",
            ),
        ),
        migrations.AddField(
            model_name="corpus",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.corpusversion",
            ),
        ),
        migrations.AddField(
            model_name="policy",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.policyversion",
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="applied",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.roledecision",
            ),
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.roledecision",
            ),
        ),
        migrations.AddField(
            model_name="rubric",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.rubricversion",
            ),
        ),
        migrations.AddField(
            model_name="experiment",
            name="baseline",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.run",
            ),
        ),
        migrations.AddField(
            model_name="suite",
            name="current",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="experiments.suiteversion",
            ),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(
                condition=models.Q(
                    models.Q(("applied__isnull", True), ("current__isnull", False)),
                    models.Q(("applied__isnull", False), ("current__isnull", True)),
                    models.Q(
                        ("applied__isnull", False),
                        ("current__isnull", False),
                        models.Q(("current", models.F("applied")), _negated=True),
                    ),
                    _connector="OR",
                ),
                fields=["case"],
                name="review_item_to_apply",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "settled"), _negated=True), ("current__isnull", False), _connector="OR"
                ),
                name="review_item_settled_by_a_decision",
            ),
        ),
    ]
