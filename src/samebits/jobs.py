"""WHICH: the jobs, behind one lazy table. A job's name is also its CLI group, its config table and its guide page."""

from __future__ import annotations

from importlib import import_module

from samebits.core.job import Job
from samebits.errors import ConfigError, did_you_mean

__all__ = ["JOBS", "get_job"]

JOBS = {
    "charset": "samebits.charset.job:JOB",
    "charset_decode": "samebits.charset.conversion.decode:JOB",
    "count": "samebits.count.job:JOB",
    "graph": "samebits.graph.job:JOB",
    "graph_eval": "samebits.graph.evaluation.evaluate:JOB",
    "graph_generate": "samebits.graph.curriculum.generate:JOB",
    "graph_knn": "samebits.graph.distance.knn:JOB",
    "graph_train": "samebits.graph.parser.train:JOB",
    "langid": "samebits.langid.job:JOB",
    "langid_clean": "samebits.langid.clean:JOB",
    "langid_import": "samebits.langid.derived:IMPORT_JOB",
    "langid_merge": "samebits.langid.derived:MERGE_JOB",
    "lm": "samebits.lm.job:JOB",
    "tokens": "samebits.tokens.job:JOB",
    "tokens_convert": "samebits.tokens.layouts.convert:CONVERT_JOB",
    "tokens_train": "samebits.tokens.training.tokenizer_job:TOKENIZER_JOB",
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
