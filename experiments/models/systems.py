"""Systems outside: what is tested, and the model that judges."""

from __future__ import annotations

from django.db import models

from experiments.models.fields import JsonTextField


class System(models.Model):
    """A named connection. `config` is a wire document; secrets in it are references such as `env:TOKEN`."""

    name = models.SlugField(max_length=100, unique=True)
    config = JsonTextField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Target(System):
    """A system under test (`wire.target.TargetConfig`). A run pins a copy: editing changes no past run."""


class JudgeModel(System):
    """A model that grades (`wire.judge.JudgeConfig`)."""
