"""samebits charset learn: the models that detection uses, from text of many languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from samebits.charset.command_flags import corpus_flags
from samebits.cli.sections import OTHER, SectionedCommand, SectionedOption
from samebits.core.observing.units import show_size
from samebits.errors import InputError

__all__ = ["learn_command"]


def _learn(**values: Any) -> None:
    from samebits.charset.characters.learn import learn_models
    from samebits.charset.pairs import detector_pairs
    from samebits.charset.training.slices import cut_slices, texts_by_language
    from samebits.data.files import write_atomic
    from samebits.data.inputs.corpus import open_corpus

    target = Path(values["output"])
    if target.exists() and not values["overwrite"]:
        raise InputError("already exists", path=str(target), hint="add --overwrite to replace it")
    corpus = open_corpus(values["inputs"])
    slices = cut_slices(corpus, unit=values["unit"], columns=(values["text_column"], values["lang_column"]))
    texts = texts_by_language(slices)
    count = sum(map(len, texts.values()))
    data = learn_models(texts, detector_pairs(), trained_on=f"{count:,} texts in {len(texts)} languages")
    write_atomic(target, data)
    click.echo(f"{target}: {show_size(len(data))}, from {count:,} texts in {len(texts)} languages", err=True)


learn_command = SectionedCommand(
    "learn",
    callback=_learn,
    params=[
        click.Argument(["inputs"], nargs=-1, required=True, metavar="CORPUS..."),
        *corpus_flags(unit="line"),
        SectionedOption(
            ["-o", "--output"], required=True, metavar="FILE", section=OTHER, help="file to write"
        ),
        SectionedOption(["--overwrite"], is_flag=True, section=OTHER, help="replace the file"),
    ],
    help="Train the models that detect uses without -m, on text of all its languages: one model of characters per language, "
    "which serves every encoding. The same text gives the same file on every machine.",
    example="samebits charset learn world.jsonl.zst -o models.bin",
)
