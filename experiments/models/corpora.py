"""Corpora: the units a citation may point at."""

from __future__ import annotations

from django.db import models

from experiments.models.base import Version
from experiments.models.fields import JsonTextField


class Corpus(models.Model):
    """A named body of sources; its units are in its versions."""

    name = models.SlugField(max_length=100, unique=True)
    current = models.ForeignKey(
        "CorpusVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class CorpusVersion(Version):
    """The units of a corpus as imported; the fingerprint is the hash of their content."""

    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="versions")
    unit_count = models.PositiveIntegerField()

    class Meta(Version.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["corpus", "number"], name="corpus_version_number_once"),
            models.UniqueConstraint(fields=["corpus", "fingerprint"], name="corpus_version_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.corpus} v{self.number}"


class CorpusUnit(models.Model):
    """One citable unit. `unit_id` is a path (`gdpr/art:17/par:1`), `parent_unit` the path above, if any."""

    version = models.ForeignKey(CorpusVersion, on_delete=models.PROTECT, related_name="units")
    unit_id = models.CharField(max_length=300)
    parent_unit = models.CharField(max_length=300, blank=True)
    title = models.TextField(blank=True)
    text = models.TextField(blank=True)
    aliases = JsonTextField(default=list, blank=True)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["version", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "unit_id"], name="corpus_unit_id_once"),
            models.CheckConstraint(condition=~models.Q(unit_id=""), name="corpus_unit_id_not_empty"),
            models.CheckConstraint(
                condition=~models.Q(unit_id=models.F("parent_unit")), name="corpus_unit_not_its_own_parent"
            ),
        ]
        indexes = [
            # The children of a unit, in order, for the source screen.
            models.Index(fields=["version", "parent_unit", "position"], name="corpus_unit_children"),
        ]

    def __str__(self) -> str:
        return self.unit_id
