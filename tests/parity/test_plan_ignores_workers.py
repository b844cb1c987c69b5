"""A plan cannot depend on RunOptions: no job's ``plan`` has a way to see them."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from samebits.core.job import Job
from samebits.core.options import RunOptions
from samebits.jobs import JOBS, get_job


@pytest.mark.parametrize("name", sorted(JOBS))
def test_plan_takes_a_config_and_nothing_else(name: str) -> None:
    job = get_job(name)
    assert list(inspect.signature(job.plan).parameters) == ["config"]
    assert list(inspect.signature(Job.plan).parameters) == ["self", "config"]


@pytest.mark.parametrize("name", sorted(JOBS))
def test_no_setting_is_both_config_and_run_option(name: str) -> None:
    """A name in both would be a way to smuggle the number of workers into a result."""
    ours = {field.name for field in fields(get_job(name).Config)}
    assert ours & {field.name for field in fields(RunOptions)} == set()
