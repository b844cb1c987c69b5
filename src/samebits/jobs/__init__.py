"""WHICH: the jobs, behind one lazy table. A job's name is also its CLI group, its config table and its guide page."""

from __future__ import annotations

from importlib import import_module

from samebits.core.job import Job
from samebits.errors import ConfigError, did_you_mean

__all__ = ["JOBS", "get_job"]

JOBS = {
    "charset": "samebits.jobs.charset.job:JOB",
    "charset_decode": "samebits.jobs.charset.decode:JOB",
    "count": "samebits.jobs.count:JOB",
    "graph": "samebits.jobs.graph.matrix:JOB",
    "graph_eval": "samebits.jobs.graph.evaluate:JOB",
    "graph_generate": "samebits.jobs.graph.generate:JOB",
    "graph_knn": "samebits.jobs.graph.knn:JOB",
    "graph_train": "samebits.jobs.graph.train:JOB",
    "langid": "samebits.jobs.langid:JOB",
    "langid_clean": "samebits.jobs.langid.clean:JOB",
    "langid_import": "samebits.jobs.langid.derived:IMPORT_JOB",
    "langid_merge": "samebits.jobs.langid.derived:MERGE_JOB",
    "lm": "samebits.jobs.lm.job:JOB",
    "tokens": "samebits.jobs.tokens:JOB",
    "tokens_convert": "samebits.jobs.tokens:CONVERT_JOB",
    "tokens_train": "samebits.jobs.tokens:TOKENIZER_JOB",
}


def get_job(name: str) -> Job:
    """Return a job by name.

    Raises:
        ConfigError: for an unknown name.
    """
    if name not in JOBS:
        raise ConfigError(f"unknown job {name!r}", hint=did_you_mean(name, JOBS))
    module, _, attribute = JOBS[name].partition(":")
    job: Job = getattr(import_module(module), attribute)
    return job
