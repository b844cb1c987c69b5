"""Drawing tokens and generating text: the cache against the whole forward pass, candidates against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.errors import ConfigError
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lm.model.definition import record
from samebits.lm.model.generate import Cache, generate
from samebits.lm.text.sampling import Draw


def model(block: str) -> tuple[Architecture, dict[str, NDArray[np.float32]]]:
    rows: dict[str, Any] = {"ngrams": 3, "ngram_rows": 169} if block == "modern" else {}
    arch = Architecture(vocab=13, layers=2, heads=2, dim=16, block=12, **BLOCKS[block], **rows)
    rng = np.random.Generator(np.random.Philox(key=1))
    return arch, {t.name: (rng.standard_normal(t.shape) * 0.5).astype(np.float32) for t in arch.tensors()}


@pytest.mark.parametrize("block", ["classic", "modern"])
def test_the_cache_gives_the_bits_of_the_whole_forward_pass(block: str) -> None:
    arch, params = model(block)
    ids = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    whole = record(arch, params).logits(np.array(ids, np.int64))
    for cut in ([12], [1] * 12, [5, 1, 1, 3, 2]):
        cache, at = Cache(arch, params), 0
        for size in cut:
            found = cache.read(ids[at : at + size])
            at += size
            assert found.tobytes() == whole[at - 1].tobytes()
    with pytest.raises(ValueError, match="1 tokens after 12 in a context of 12"):
        cache.read([0])


@pytest.mark.parametrize("block", ["classic", "modern"])
def test_text_goes_on_beyond_the_context_and_is_the_same_for_the_same_seed(block: str) -> None:
    arch, params = model(block)
    made = [list(generate(arch, params, [1, 2], tokens=40, draw=Draw(seed=seed))) for seed in (7, 7, 8)]
    assert made[0] == made[1] != made[2]
    assert len(made[0]) == 40
    assert all(0 <= token < arch.vocab for token in made[0])


def test_a_shorter_text_is_the_start_of_a_longer_one() -> None:
    arch, params = model("modern")
    long = list(generate(arch, params, [1], tokens=30, draw=Draw(seed=3)))
    assert list(generate(arch, params, [1], tokens=11, draw=Draw(seed=3))) == long[:11]


def test_a_prompt_longer_than_the_context_is_read_from_its_end() -> None:
    arch, params = model("classic")
    prompt = [i % arch.vocab for i in range(30)]
    last = list(generate(arch, params, prompt, tokens=1, draw=Draw(temperature=0)))
    assert last == list(generate(arch, params, prompt[-arch.block :], tokens=1, draw=Draw(temperature=0)))


def test_temperature_zero_takes_the_likeliest_and_of_equals_the_lowest_id() -> None:
    draw = Draw(temperature=0)
    assert draw.next(np.array([0.0, 2.0, 2.0, 1.0]), 5) == 1


def brute_force(
    scores: NDArray[np.float64], temperature: float, top_k: int, top_p: float
) -> dict[int, float]:
    weights = np.exp((scores - scores.max()) / temperature)
    ranked = sorted(enumerate(weights.tolist()), key=lambda item: (-item[1], item[0]))[: top_k or None]
    total = sum(weight for _, weight in ranked)
    kept: dict[int, float] = {}
    for token, weight in ranked:
        kept[token] = weight / total
        if sum(kept.values()) >= top_p:
            break
    return {token: weight / sum(kept.values()) for token, weight in kept.items()}


@pytest.mark.parametrize("seed", range(20))
def test_candidates_are_those_of_a_brute_force_search(seed: int) -> None:
    rng = np.random.Generator(np.random.Philox(key=seed))
    scores = np.round(rng.standard_normal(12), 1)  # ties on purpose
    temperature, top_k, top_p = (
        float(rng.uniform(0.3, 2)),
        int(rng.integers(0, 13)),
        float(rng.uniform(0.1, 0.99)),
    )
    ids, weights = Draw(temperature=temperature, top_k=top_k, top_p=top_p).candidates(scores)
    expected = brute_force(scores, temperature, top_k, top_p)
    assert ids.tolist() == list(expected)
    assert np.abs(weights - np.array(list(expected.values()))).max() < 1e-12


def test_draws_follow_the_probabilities() -> None:
    draw, scores = Draw(temperature=1.0, seed=1), np.log([0.5, 0.3, 0.2])
    counts = np.bincount([draw.next(scores, position) for position in range(4000)], minlength=3)
    assert np.abs(counts / 4000 - [0.5, 0.3, 0.2]).max() < 0.03


@pytest.mark.parametrize("wrong", [{"temperature": -1.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_settings_of_a_draw_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("_", "-")):
        Draw(**wrong)  # type: ignore[arg-type]
