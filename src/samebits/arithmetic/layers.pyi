import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
ELEMENTWISE: dict[str, int]

def pack(weights: Floats, out: Floats, first: int, width: int, turned: bool) -> None: ...
def affine(packed: Floats, bias: Floats | None, x: Floats, first: int, window: int, out: Floats) -> None: ...
def affine_back(turned: Floats, grad: Floats, into: Floats, first: int, go_on: bool) -> None: ...
def weights_back(
    grad: Floats, x: Floats, first: int, window: int, into: Floats, go_on: bool, work: Floats
) -> None: ...
def bias_back(grad: Floats, into: Floats, go_on: bool) -> None: ...
def lstm(
    gates: Floats, cells: Floats, out: Floats, way: int, packed: Floats, starts: Ids, lengths: Floats
) -> None: ...
def lstm_back(
    gates: Floats,
    cells: Floats,
    out: Floats,
    grad: Floats,
    way: int,
    turned: Floats,
    starts: Ids,
    lengths: Floats,
    into: Floats,
    go_on: bool,
    work: Floats,
) -> None: ...
def look_up(table_of: Floats, ids: Ids, out: Floats, at: int) -> None: ...
def look_up_back(into: Floats, ids: Ids, grad: Floats, at: int) -> None: ...
def gather(x: Floats, places: Ids, out: Floats, at: int) -> None: ...
def gather_back(into: Floats, places: Ids, grad: Floats, at: int) -> None: ...
def largest(x: Floats, first: int, panels: int, lengths: Floats, out: Floats, chosen: Floats) -> None: ...
def largest_back(grad: Floats, chosen: Floats, first: int, panels: int, into: Floats) -> None: ...
def drop(
    x: Floats, out: Floats, alike: bool, key: int, place: int, threshold: int, kept: float, add: bool
) -> None: ...
def elementwise(what: int, a: Floats, b: Floats | None, out: Floats, add: bool) -> None: ...
def pair_scores(
    a: Floats, a_first: int, n: int, b: Floats, b_first: int, m: int, out: Floats, first: int
) -> None: ...
def pair_scores_back(
    grad: Floats,
    first: int,
    a: Floats,
    a_first: int,
    n: int,
    b: Floats,
    b_first: int,
    m: int,
    a_into: Floats,
    b_into: Floats,
) -> None: ...
def choice_loss(
    logits: Floats,
    first: int,
    blocks: int,
    rows: int,
    limits: Floats,
    skips: bool,
    targets: Ids,
    weights: Floats,
    at: int,
    share: float,
    smoothing: float,
) -> float: ...
def choice_shares(
    logits: Floats, first: int, blocks: int, rows: int, limits: Floats, skips: bool
) -> None: ...
def choice_shares_back(
    shares: Floats, grad: Floats, first: int, blocks: int, rows: int, into: Floats
) -> None: ...
