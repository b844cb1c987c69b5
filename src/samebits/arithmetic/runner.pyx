"""Runs a recorded list of operations (see ``tape.py``) over token ids; all of it without the GIL."""

from libc.stdint cimport int64_t, uint64_t

from samebits.arithmetic._native cimport (
    GRADIENT, LOGITS, SUM_OF_LOSSES, FloatMode, Kernels, Op, Shard, enter_ieee, kernels, leave_ieee
)

OP_BYTES = sizeof(Op)


cdef const Op* _ops(const unsigned char[::1] records, int64_t* num) except NULL:
    num[0] = records.shape[0] // <int64_t> sizeof(Op)
    if num[0] * <int64_t> sizeof(Op) != records.shape[0] or num[0] == 0:
        raise ValueError(f"{records.shape[0]} bytes are no whole number of operations of {sizeof(Op)}")
    return <const Op*> &records[0]


def work_size(const unsigned char[::1] records, int64_t tokens):
    """Return the floats of scratch memory for chunks of ``tokens`` tokens."""
    cdef int64_t num
    cdef const Op* ops = _ops(records, &num)
    return kernels().program_work(ops, num, tokens)


def pack(const unsigned char[::1] records):
    """Pack the weights of all products; needed after every change of the parameters, and after ``use``."""
    cdef int64_t num
    cdef const Op* ops = _ops(records, &num)
    cdef const Kernels* table = kernels()
    with nogil:
        table.pack_weights(ops, num)


cdef double _run(
    records, ids, targets, int64_t start, const int64_t[::1] before, int64_t chunk, float[::1] work, uint64_t key, int what
) except? -1.0:
    cdef int64_t num
    cdef const Op* ops = _ops(records, &num)
    cdef const int64_t[:, ::1] inputs = ids
    cdef const int64_t[:, ::1] outputs = targets
    cdef const Kernels* table = kernels()
    cdef FloatMode mode
    cdef Shard shard
    shard.ids, shard.targets = &inputs[0, 0], &outputs[0, 0]
    shard.windows, shard.block = inputs.shape[0], inputs.shape[1]
    shard.chunk, shard.start, shard.key, shard.work = chunk, start, key, &work[0]
    shard.before = NULL
    if before is not None:
        shard.before = &before[0]
    with nogil:
        mode = enter_ieee()
        table.run(ops, num, &shard, what)
        leave_ieee(mode)
    return shard.loss


def gradient(records, ids, targets, *, chunk, work, key):
    """Return the sum of the losses of all tokens and write the gradient of their mean."""
    return _run(records, ids, targets, 0, None, chunk, work, key, GRADIENT)


def sum_of_losses(records, ids, targets, *, chunk, work):
    """Return the sum of the losses of all tokens; nothing is dropped."""
    return _run(records, ids, targets, 0, None, chunk, work, 0, SUM_OF_LOSSES)


def logits(records, ids, *, start, work, before):
    """Compute the logits of one window of up to 32 tokens after ``start`` others; they are in the last operation's buffer."""
    _run(records, ids, ids, start, before, 1, work, 0, LOGITS)
