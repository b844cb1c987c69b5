"""Networks of own operations: gradients as torch has them in double precision, one set of bits, and no neighbour that matters."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from samebits import arithmetic
from samebits.arithmetic import sequences as seq
from samebits.arithmetic.network import First, Loss, Network, first_values, matrix, table, zeros

HIDDEN, WORD, LETTER, FILTERS, PAIR, LABELS = 24, 20, 7, 13, 19, 5
LENGTHS = [9, 3, 7, 1, 12, *[4] * 30, 6, 2]  # two groups, the second nearly empty


class Reader:
    """Every operation once: a convolution over spellings, two layers both ways, pairs with a root, labels at chosen heads."""

    def __init__(self) -> None:
        rng = np.random.Generator(np.random.Philox(key=3))
        firsts = {
            **seq.lstm_parameters("one", WORD + FILTERS, HIDDEN),
            **seq.lstm_parameters("two", 2 * HIDDEN, HIDDEN),
        }
        firsts |= {"words": table(50, WORD, spread=1.0), "letters": table(30, LETTER, spread=1.0)}
        firsts |= {"filters": matrix(FILTERS, 3 * LETTER), "filters.bias": zeros(FILTERS, level=0.1)}
        firsts |= {
            "root": First((2 * HIDDEN,), 0.5),
            "below": matrix(PAIR, 2 * HIDDEN),
            "above": matrix(PAIR, 2 * HIDDEN),
        }
        firsts |= {"below.bias": zeros(PAIR, level=0.2), "out": matrix(LABELS, 3 * PAIR)}
        self.params = first_values(firsts, rng)
        self.words = [rng.integers(0, 50, n) for n in LENGTHS]
        self.forms = [rng.integers(0, 40, n) for n in LENGTHS]
        self.labels = [rng.integers(0, LABELS, n) for n in LENGTHS]
        self.heads = [_no_loops(rng.integers(0, n + 1, n)) for n in LENGTHS]
        self.spelled = [rng.integers(0, 30, int(rng.integers(1, 8))) for _ in range(40)]

    def loss(self, network: Network) -> Loss:
        groups = seq.Groups.of(LENGTHS)
        lie = seq.Groups.of([len(word) for word in self.spelled])
        letters = np.full((lie.panels + 2 * len(lie.lengths), 32), -1, np.int64)
        for i, word in enumerate(self.spelled):
            start = lie.starts[i // 32] + 2 * (i // 32) + 1
            letters[start : start + len(word), i % 32] = word
        heads, mask = groups.spread(self.heads), groups.mask()
        forms = seq.convolve(network, network.embed("letters", letters), lie, "filters", "filters.bias")
        x = network.embed_all([("words", groups.spread(self.words))], [(forms, groups.spread(self.forms))])
        one = seq.lstm(network, x, groups, "one")
        x = one + seq.lstm(network, one, groups, "two")
        below = network.relu(network.linear(x, "below", "below.bias"))
        above = network.tanh(network.linear(seq.with_root(network, x, groups, "root"), "above"))
        scores = seq.pairs(network, below, above, groups)
        loss = seq.choose_loss(
            network, scores, groups, heads, mask * np.float32(2.0), norm=10.0, smoothing=0.1
        )
        starts = np.repeat(groups.starts[:-1] + np.arange(len(groups.lengths)), np.diff(groups.starts))
        places = np.where(mask, (starts[:, None] + heads) * 32 + np.arange(32), -1)
        chosen = network.gather(above, places)
        logits = network.linear(network.concat(below, chosen, below * chosen), "out")
        return loss + network.cross_entropy(logits, groups.spread(self.labels), norm=7.0)

    def in_torch(self) -> tuple[float, dict[str, Any]]:
        """The same in double precision, sequence by sequence, by autograd."""
        torch = pytest.importorskip("torch")
        p = {
            name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
            for name, value in self.params.items()
        }
        nothing = torch.zeros(1, LETTER, dtype=torch.float64)
        forms = []
        for word in self.spelled:
            padded = torch.cat([nothing, p["letters"][torch.tensor(word)], nothing])
            seen = [
                p["filters"] @ padded[i : i + 3].reshape(-1) + p["filters.bias"] for i in range(len(word))
            ]
            forms.append(torch.relu(torch.stack(seen).amax(0)))
        loss = torch.zeros((), dtype=torch.float64)
        for i, n in enumerate(LENGTHS):
            words, own = torch.tensor(self.words[i]), torch.tensor(self.forms[i])
            one = _both_ways(torch, p, "one", torch.cat([p["words"][words], torch.stack(forms)[own]], 1))
            x = one + _both_ways(torch, p, "two", one)
            below = torch.relu(x @ p["below"].T + p["below.bias"])
            above = torch.tanh(torch.cat([p["root"][None], x]) @ p["above"].T)
            itself = torch.zeros(n, n + 1, dtype=torch.bool)
            itself[torch.arange(n), torch.arange(n) + 1] = True
            logs = (below @ above.T).masked_fill(itself, -torch.inf).log_softmax(-1)
            heads = torch.tensor(self.heads[i])
            right, all_ = logs.gather(1, heads[:, None])[:, 0], logs.masked_fill(itself, 0.0).sum(1) / n
            loss = loss - 2 * (0.9 * right + 0.1 * all_).sum() / 10
            chosen = above[heads]
            logits = torch.cat([below, chosen, below * chosen], 1) @ p["out"].T
            labels = torch.tensor(self.labels[i])
            loss = loss + torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / 7
        loss.backward()
        return float(loss.detach()), {name: value.grad.numpy() for name, value in p.items()}


def _no_loops(heads: Any) -> Any:
    return np.where(heads == np.arange(len(heads)) + 1, 0, heads)


def _both_ways(torch: Any, p: Any, name: str, x: Any) -> Any:
    ways = []
    for way, order in enumerate((range(len(x)), reversed(range(len(x))))):
        rows = slice(way * 4 * HIDDEN, (way + 1) * 4 * HIDDEN)
        h = c = torch.zeros(HIDDEN, dtype=torch.float64)
        states = [h] * len(x)
        for t in order:
            gates = p[f"{name}.input"][rows] @ x[t] + p[f"{name}.state"][way] @ h + p[f"{name}.bias"][rows]
            enter, keep, new, show = gates.split(HIDDEN)
            c = torch.sigmoid(keep + 1) * c + torch.sigmoid(enter) * torch.tanh(new)
            states[t] = h = torch.sigmoid(show) * torch.tanh(c)
        ways.append(torch.stack(states))
    return torch.cat(ways, 1)


def gradient(reader: Reader, **options: Any) -> tuple[float, dict[str, Any]]:
    network = Network(reader.params)
    grads = {name: np.full_like(value, 7.0) for name, value in reader.params.items()}
    network.start(grads, **options)
    return network.finish(reader.loss(network)), grads


def test_gradients_are_those_of_torch_in_double_precision() -> None:
    reader = Reader()
    loss, grads = gradient(reader)
    expected_loss, expected = reader.in_torch()
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    for name, grad in grads.items():
        assert np.abs(grad - expected[name]).max() < 3e-6 * np.abs(expected[name]).max(), name


def test_every_instruction_set_gives_the_same_bits() -> None:
    found = set()
    for isa in arithmetic.usable():
        arithmetic.use(isa)
        loss, grads = gradient(Reader())
        found.add(
            hashlib.sha256(
                np.float64(loss).tobytes() + b"".join(g.tobytes() for g in grads.values())
            ).hexdigest()
        )
    assert len(found) == 1


def test_a_second_run_in_the_same_memory_gives_the_same_bits() -> None:
    reader = Reader()
    network = Network(reader.params)
    digests = set()
    for _ in range(3):
        grads = {name: np.full_like(value, 3.0) for name, value in reader.params.items()}
        network.start(grads)
        network.finish(reader.loss(network))
        digests.add(b"".join(grad.tobytes() for grad in grads.values()))
    assert len(digests) == 1


def test_a_sequence_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.Generator(np.random.Philox(key=5))
    params = first_values({**seq.lstm_parameters("one", 6, 5), "table": table(9, 6)}, rng)
    rows = [rng.integers(0, 9, n) for n in (3, 11, 5)]

    def states(chosen: list[int], at: int) -> Any:
        network, groups = Network(params), seq.Groups.of([len(rows[i]) for i in chosen])
        network.start()
        x = network.embed("table", groups.spread([rows[i] for i in chosen]))
        return seq.lstm(network, x, groups, "one").data[: len(rows[chosen[at]]), :, at].copy()

    assert (states([0], 0) == states([1, 0, 2], 1)).all()
    assert (states([2], 0) == states([1, 0, 2], 2)).all()


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    network = Network({})
    network.start({}, key=12345)
    x = network.rows(np.ones((3200, 10), np.float32))
    found = network.output(network.dropout(x, 0.25), 3200)
    assert set(np.unique(found)) == {np.float32(0.0), np.float32(1 / 0.75)}
    assert np.mean(found == 0) == pytest.approx(0.25, abs=0.01)
    alike = network.dropout(x, 0.25, alike=True).data
    assert (alike == alike[:1]).all()
    network.start(None)
    assert network.dropout(x, 0.25) is x


@pytest.mark.parametrize("hidden", [5, 8])
def test_dropped_weights_between_states_are_those_of_a_layer_that_has_none_there(hidden: int) -> None:
    rng = np.random.Generator(np.random.Philox(key=7))
    params = first_values({**seq.lstm_parameters("one", 6, hidden), "table": table(9, 6, spread=1.0)}, rng)
    rows = [rng.integers(0, 9, n) for n in (3, 11, 5)]
    groups = seq.Groups.of([len(row) for row in rows])

    def gradient_of(params: Any, drop: float) -> tuple[float, dict[str, Any]]:
        network, grads = Network(params), {name: np.full_like(value, 7.0) for name, value in params.items()}
        network.start(grads, key=99)
        states = seq.lstm(network, network.embed("table", groups.spread(rows)), groups, "one", drop=drop)
        return network.finish(network.squared_error(states, np.ones((11 * 32, 2 * hidden)))), grads

    loss, grads = gradient_of(params, 0.5)
    kept = grads["one.state"] != 0
    assert np.mean(kept) == pytest.approx(0.5, abs=0.15)
    without = {**params, "one.state": np.where(kept, params["one.state"] * 2, np.float32(0.0))}
    expected_loss, expected = gradient_of(without, 0.0)
    assert loss == expected_loss
    assert (grads["one.state"] == np.where(kept, expected["one.state"] * 2, np.float32(0.0))).all()
    assert all((grads[name] == expected[name]).all() for name in params if name != "one.state")


def test_a_parameter_used_twice_has_the_sum_of_both_gradients() -> None:
    rng = np.random.Generator(np.random.Philox(key=1))
    params = first_values({"w": matrix(4, 4), "b": zeros(4)}, rng)
    x, y = rng.integers(-4, 5, (7, 4)).astype(np.float32), rng.integers(-4, 5, (7, 4)).astype(np.float32)

    def loss_at(w: Any) -> float:
        hidden = np.tanh(x.astype(np.float64) @ w.T)
        return float((((hidden @ w.T) - y) ** 2).sum() / 7)

    network, grads = Network(params), {name: np.empty_like(value) for name, value in params.items()}
    network.start(grads)
    hidden = network.tanh(network.linear(network.rows(x), "w", "b"))
    loss = network.finish(network.squared_error(network.linear(hidden, "w"), y))
    w = params["w"].astype(np.float64)
    assert loss == pytest.approx(loss_at(w), rel=1e-5)
    step = np.zeros_like(w)
    step[1, 2] = 1e-6
    assert grads["w"][1, 2] == pytest.approx((loss_at(w + step) - loss_at(w - step)) / 2e-6, rel=1e-3)


def test_shapes_that_do_not_fit_are_refused() -> None:
    network = Network({"w": np.zeros((3, 4), np.float32), "table": np.zeros((5, 2), np.float32)})
    network.start()
    with pytest.raises(ValueError, match="multiplies 4 features, and it is given 2"):
        network.linear(network.rows(np.zeros((2, 2))), "w")
    with pytest.raises(ValueError, match="outside of the 5 rows"):
        network.embed("table", np.array([5]))
    with pytest.raises(ValueError, match="targets of shape"):
        network.cross_entropy(network.rows(np.zeros((2, 2))), np.array([0, 2]))
