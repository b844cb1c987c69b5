"""The kernels of ``network`` and ``sequences`` over NumPy arrays: panels are (panels, rows, 32), float32, in one piece.

Nothing here decides anything: shapes are checked by the callers, and orders are those of ``native/sequences.h`` and ``native/scores.h``.
"""

from libc.stdint cimport int64_t, uint64_t

from samebits.arithmetic._native cimport FloatMode, Kernels, Lstm, enter_ieee, kernels, leave_ieee

cdef enum:
    PANEL = 32
    STORE = 0
    GO_ON = 1

ELEMENTWISE = {
    name: number for number, name in enumerate(
        ("sum", "times", "relu", "tanh", "sigmoid", "relu_back", "tanh_back", "sigmoid_back", "copy")
    )
}


def pack(const float[:, ::1] weights, float[::1] out, int64_t first, int64_t width, bint turned):
    """Pack columns ``first`` to ``first + width`` of the weights: for the product with inputs, or ``turned`` for gradients."""
    cdef const Kernels* table = kernels()
    cdef int64_t rows = weights.shape[0], step = weights.shape[1]
    with nogil:
        if turned:
            table.pack(&out[0], &weights[0, first], step, width, rows, 1)
        else:
            table.pack(&out[0], &weights[0, first], step, rows, width, 0)


def affine(const float[::1] packed, const float[::1] bias, const float[:, :, ::1] x, int64_t first, int64_t window, float[:, :, ::1] out):
    """Write weights times ``window`` panels of ``x`` from panel ``first`` on, plus the bias if there is one."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef int64_t rows = out.shape[1], jump = x.shape[1] * PANEL
    cdef const float* begin = &bias[0] if bias is not None else NULL
    if out.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.affine(&packed[0], begin, rows, x.shape[1] * window, &x[first, 0, 0], jump, &out[0, 0, 0], out.shape[0])
        leave_ieee(mode)


def affine_back(const float[::1] turned, const float[:, :, ::1] grad, float[:, :, ::1] into, int64_t first, bint go_on):
    """Write the transposed weights times ``grad`` to the panels of ``into`` from ``first`` on, going on from what is there if asked."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef int64_t rows = into.shape[1], num_k = grad.shape[1]
    if grad.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.weights_times(
            &turned[0], rows, num_k, &grad[0, 0, 0], num_k * PANEL, &into[first, 0, 0], rows * PANEL, grad.shape[0],
            GO_ON if go_on else STORE
        )
        leave_ieee(mode)


def weights_back(
    const float[:, :, ::1] grad, const float[:, :, ::1] x, int64_t first, int64_t window, float[:, ::1] into, bint go_on, float[::1] work
):
    """Write, or go on with, the gradient of weights that multiplied ``window`` panels of ``x`` from ``first`` on."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    if grad.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.weights_gradient(
            &grad[0, 0, 0], grad.shape[1], &x[first, 0, 0], x.shape[1] * PANEL, x.shape[1] * window, grad.shape[0], &into[0, 0],
            go_on, &work[0]
        )
        leave_ieee(mode)


def bias_back(const float[:, :, ::1] grad, float[::1] into, bint go_on):
    """Write, or go on with, the gradient of a bias."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    if grad.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.bias_gradient(&grad[0, 0, 0], grad.shape[1], grad.shape[0], &into[0], go_on)
        leave_ieee(mode)


cdef Lstm _lstm(float[:, :, ::1] gates, float[:, :, :, ::1] cells, float[:, :, ::1] out, int64_t way, const float[::1] weights) noexcept:
    """Describe one of two directions; ``cells`` is (4, panels, hidden, 32): cells and their tanh of both directions."""
    cdef Lstm found
    cdef int64_t hidden = cells.shape[2]
    found.hidden, found.back = hidden, way
    found.out_jump, found.gates_jump = out.shape[1] * PANEL, gates.shape[1] * PANEL
    found.gates = &gates[0, way * 4 * hidden, 0]
    found.cells, found.bent = &cells[2 * way, 0, 0, 0], &cells[2 * way + 1, 0, 0, 0]
    found.out, found.out_grad = &out[0, way * hidden, 0], NULL
    found.packed, found.turned = &weights[0], &weights[0]
    return found


def lstm(
    float[:, :, ::1] gates, float[:, :, :, ::1] cells, float[:, :, ::1] out, int64_t way, const float[::1] packed,
    const int64_t[::1] starts, const float[:, ::1] lengths
):
    """Read all groups in one direction (``way`` 1 from the end); ``gates`` holds what the inputs give."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef Lstm o = _lstm(gates, cells, out, way, packed)
    cdef int64_t group
    with nogil:
        mode = enter_ieee()
        for group in range(starts.shape[0] - 1):
            table.lstm_forward(&o, starts[group], starts[group + 1] - starts[group], &lengths[group, 0])
        leave_ieee(mode)


def lstm_back(
    float[:, :, ::1] gates, float[:, :, :, ::1] cells, float[:, :, ::1] out, const float[:, :, ::1] grad, int64_t way,
    const float[::1] turned, const int64_t[::1] starts, const float[:, ::1] lengths, float[:, ::1] into, bint go_on, float[::1] work
):
    """Turn the gates into their gradient, and write, or go on with, that of the recurrent weights."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef Lstm o = _lstm(gates, cells, out, way, turned)
    cdef int64_t group, start, steps
    o.out_grad = <float*> &grad[0, way * o.hidden, 0]
    with nogil:
        mode = enter_ieee()
        for group in range(starts.shape[0] - 1):
            start, steps = starts[group], starts[group + 1] - starts[group]
            table.lstm_backward(&o, start, steps, &lengths[group, 0], &work[0])
            table.lstm_weights(&o, start, steps, &into[0, 0], go_on or group > 0, &work[0])
        leave_ieee(mode)


def look_up(const float[:, ::1] table_of, const int64_t[:, ::1] ids, float[:, :, ::1] out, int64_t at):
    """Write rows of a table by id into rows ``at``.. of the output; -1 gives zeros."""
    cdef const Kernels* table = kernels()
    if ids.shape[0]:
        table.look_up(&table_of[0, 0], table_of.shape[1], &ids[0, 0], &out[0, at, 0], out.shape[1] * PANEL, ids.shape[0])


def look_up_back(float[:, ::1] into, const int64_t[:, ::1] ids, const float[:, :, ::1] grad, int64_t at):
    """Add the gradients of tokens to the rows of their ids, one after the other."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    if ids.shape[0]:
        mode = enter_ieee()
        table.look_up_gradient(&into[0, 0], into.shape[1], &ids[0, 0], &grad[0, at, 0], grad.shape[1] * PANEL, ids.shape[0])
        leave_ieee(mode)


def gather(const float[:, :, ::1] x, const int64_t[:, ::1] places, float[:, :, ::1] out, int64_t at):
    """Write columns of ``x`` (panel * 32 + lane; -1 gives zeros) into rows ``at``.. of the output."""
    cdef const Kernels* table = kernels()
    if places.shape[0] and x.shape[0]:
        table.gather(&x[0, 0, 0], x.shape[1], &places[0, 0], &out[0, at, 0], out.shape[1] * PANEL, places.shape[0])


def gather_back(float[:, :, ::1] into, const int64_t[:, ::1] places, const float[:, :, ::1] grad, int64_t at):
    """Add what was gathered to where it came from, one token after the other."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    if places.shape[0] and into.shape[0]:
        mode = enter_ieee()
        table.gather_gradient(&into[0, 0, 0], into.shape[1], &places[0, 0], &grad[0, at, 0], grad.shape[1] * PANEL, places.shape[0])
        leave_ieee(mode)


def largest(const float[:, :, ::1] x, int64_t first, int64_t panels, const float[::1] lengths, float[:, ::1] out, float[:, ::1] chosen):
    """Write the largest number of every row over some panels, or 0, and the panel it is in, or -1."""
    cdef const Kernels* table = kernels()
    table.largest(&x[first, 0, 0], x.shape[1], panels, &lengths[0], &out[0, 0], &chosen[0, 0])


def largest_back(const float[:, ::1] grad, const float[:, ::1] chosen, int64_t first, int64_t panels, float[:, :, ::1] into):
    """Write the gradient of what ``largest`` chose."""
    cdef const Kernels* table = kernels()
    table.largest_gradient(&grad[0, 0], &chosen[0, 0], into.shape[1], panels, &into[first, 0, 0])


def drop(
    const float[:, :, ::1] x, float[:, :, ::1] out, bint alike, uint64_t key, uint64_t place, uint64_t threshold, double kept, bint add
):
    """Write, or add, ``x`` with elements dropped by their address; ``alike``: the same ones in all panels."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    if x.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.drop(&x[0, 0, 0], &out[0, 0, 0], x.shape[1], x.shape[0], alike, key, place, threshold, kept, add)
        leave_ieee(mode)


def elementwise(int what, const float[::1] a, const float[::1] b, float[::1] out, bint add):
    """Write, or add, an operation of two arrays; see ``ELEMENTWISE``."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef const float* other = &b[0] if b is not None else NULL
    if a.shape[0] == 0:
        return
    with nogil:
        mode = enter_ieee()
        table.elementwise(what, &a[0], other, &out[0], a.shape[0], add)
        leave_ieee(mode)


def pair_scores(const float[:, :, ::1] a, int64_t a_first, int64_t n, const float[:, :, ::1] b, int64_t b_first, int64_t m, float[:, :, ::1] out, int64_t first):
    """Write the scores of ``n`` panels of ``a`` with ``m`` of ``b`` as ``n`` blocks of ``m`` rows, from row block ``first`` on."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    with nogil:
        mode = enter_ieee()
        table.pair_scores(&a[a_first, 0, 0], n, &b[b_first, 0, 0], m, a.shape[1], &out[0, first, 0])
        leave_ieee(mode)


def pair_scores_back(
    const float[:, :, ::1] grad, int64_t first, const float[:, :, ::1] a, int64_t a_first, int64_t n, const float[:, :, ::1] b,
    int64_t b_first, int64_t m, float[:, :, ::1] a_into, float[:, :, ::1] b_into
):
    """Go on with the gradients of both sides."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef int64_t num_k = a.shape[1]
    with nogil:
        mode = enter_ieee()
        table.pair_gradient(&grad[0, first, 0], m * PANEL, PANEL, n, &b[b_first, 0, 0], m, num_k, &a_into[a_first, 0, 0])
        table.pair_gradient(&grad[0, first, 0], PANEL, m * PANEL, m, &a[a_first, 0, 0], n, num_k, &b_into[b_first, 0, 0])
        leave_ieee(mode)


def choice_loss(
    float[:, :, ::1] logits, int64_t first, int64_t blocks, int64_t rows, const float[::1] limits, bint skips,
    const int64_t[:, ::1] targets, const float[:, ::1] weights, int64_t at, double share, double smoothing
):
    """Turn blocks of logits into gradients; return the sum of the losses.

    Args:
        logits: (1, all rows, 32) or (panels, rows, 32); read as rows in one piece.
        first: Row of the first block.
        blocks: Number of blocks, each of ``rows`` rows.
        limits: For every lane, how many rows count.
        skips: Leave row i + 1 of block i out: no position is its own head.
        targets, weights: From their row ``at`` on.
        share: Factor of the gradient.
        smoothing: Share of the expectation that is spread over all rows.
    """
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef double total = 0.0
    cdef int64_t block
    cdef float* begin = &logits[0, 0, 0] + first * PANEL
    with nogil:
        mode = enter_ieee()
        for block in range(blocks):
            total += table.choice_loss(
                begin + block * rows * PANEL, rows, &limits[0], block + 1 if skips else -1, &targets[at + block, 0],
                &weights[at + block, 0], <float> share, <float> smoothing
            )
        leave_ieee(mode)
    return total


def choice_shares(float[:, :, ::1] logits, int64_t first, int64_t blocks, int64_t rows, const float[::1] limits, bint skips):
    """Turn blocks of logits into probabilities."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef int64_t block
    cdef float* begin = &logits[0, 0, 0] + first * PANEL
    with nogil:
        mode = enter_ieee()
        for block in range(blocks):
            table.choice_shares(begin + block * rows * PANEL, rows, &limits[0], block + 1 if skips else -1)
        leave_ieee(mode)


def choice_shares_back(const float[:, :, ::1] shares, const float[:, :, ::1] grad, int64_t first, int64_t blocks, int64_t rows, float[:, :, ::1] into):
    """Add the gradient of logits, given that of their probabilities."""
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef int64_t block, at
    with nogil:
        mode = enter_ieee()
        for block in range(blocks):
            at = (first + block * rows) * PANEL
            table.choice_shares_gradient(&shares[0, 0, 0] + at, &grad[0, 0, 0] + at, rows, &into[0, 0, 0] + at)
        leave_ieee(mode)
