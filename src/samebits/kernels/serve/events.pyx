"""Events of a run, read from JSON lines into columns: what a page that watches a run of a million steps lives on.

Lines as ``data.event_log`` writes them (flat objects, no spaces) are taken apart here; any line that is not one of the
three frequent kinds, or that looks in any way unusual, is handed back as a range for the slow path. Numbers are read to
about fifteen digits: these are pictures and progress bars, never results.
"""

from libc.math cimport NAN, INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcmp

import numpy as np

cdef enum:
    MOST_TEXTS = 256  # distinct stages, names and workers that are told apart; lines with further ones take the slow path
    MOST_KEY = 9

cdef enum:  # the keys that matter, as places in the tables below
    EVENT, NAME, VALUE, STAGE, INDEX, UNITS, STARTED, SECONDS, WORKER, RESUMED, AT, BYTES, NUM_KEYS

cdef const char** KEYS = [
    "event", "name", "value", "stage", "index", "num_units", "started", "seconds", "worker", "resumed", "at", "bytes",
]
cdef int* KEY_LENGTHS = [5, 4, 5, 5, 5, 9, 7, 7, 6, 7, 2, 5]

cdef struct Texts:
    int64_t[MOST_TEXTS] start
    int64_t[MOST_TEXTS] size
    int count

cdef struct Fields:
    double[NUM_KEYS] number
    int64_t[NUM_KEYS] start
    int64_t[NUM_KEYS] size  # of a text; -1 for a number, -2 for a key that is not there


cdef inline int _intern(const uint8_t* p, Texts* known, int64_t start, int64_t size) noexcept nogil:
    """Number of a text among those seen, or -1 when there are too many; runs of equal ones are found at once."""
    cdef int k
    for k in range(known.count - 1, -1, -1):
        if known.size[k] == size and memcmp(p + known.start[k], p + start, size) == 0:
            return k
    if known.count == MOST_TEXTS:
        return -1
    known.start[known.count], known.size[known.count] = start, size
    known.count += 1
    return known.count - 1


cdef inline double _power(int exponent) noexcept nogil:
    cdef double base = 10.0, found = 1.0
    cdef int left = exponent if exponent >= 0 else -exponent
    if left > 400:
        left = 400
    while left:
        if left & 1:
            found *= base
        base *= base
        left >>= 1
    return found if exponent >= 0 else 1.0 / found


cdef int64_t _number(const uint8_t* p, int64_t i, int64_t n, double* value) noexcept nogil:
    """Read a number at i; return the place after it, or -1."""
    cdef bint negative = p[i] == 45, some = False, below
    cdef double found = 0.0
    cdef int exponent = 0, given = 0
    if negative:
        i += 1
    if i + 3 <= n and memcmp(p + i, b"NaN", 3) == 0:
        value[0] = NAN
        return i + 3
    if i + 8 <= n and memcmp(p + i, b"Infinity", 8) == 0:
        value[0] = -INFINITY if negative else INFINITY
        return i + 8
    while i < n and 48 <= p[i] <= 57:
        found, some = found * 10.0 + (p[i] - 48), True
        i += 1
    if i < n and p[i] == 46:
        i += 1
        while i < n and 48 <= p[i] <= 57:
            if exponent > -17:  # further digits are below what a double holds
                found, exponent = found * 10.0 + (p[i] - 48), exponent - 1
            i += 1
    if not some:
        return -1
    if i < n and (p[i] | 32) == 101:
        i += 1
        below = i < n and p[i] == 45
        if i < n and (p[i] == 45 or p[i] == 43):
            i += 1
        if i >= n or not 48 <= p[i] <= 57:
            return -1
        while i < n and 48 <= p[i] <= 57:
            given = min(9999, given * 10 + (p[i] - 48))
            i += 1
        exponent += -given if below else given
    if exponent:
        found = found / _power(-exponent) if exponent < 0 else found * _power(exponent)
    value[0] = -found if negative else found
    return i


cdef int64_t _text_end(const uint8_t* p, int64_t i, int64_t n) noexcept nogil:
    """Place of the quote that ends a text without escapes, or -1."""
    while i < n and p[i] != 34:
        if p[i] == 92 or p[i] < 32:
            return -1
        i += 1
    return i if i < n else -1


cdef bint _fields(const uint8_t* p, int64_t i, int64_t n, Fields* found) noexcept nogil:
    """Take one flat object apart; False for anything else."""
    cdef int64_t stop, start, size
    cdef int k, key
    cdef double value
    for k in range(NUM_KEYS):
        found.size[k] = -2
    if i >= n or p[i] != 123:
        return False
    while True:
        i += 1
        if i >= n or p[i] != 34:
            return False
        start = i + 1
        stop = _text_end(p, start, n)
        if stop < 0 or stop + 2 >= n or p[stop + 1] != 58:
            return False
        size, key = stop - start, -1
        if size <= MOST_KEY:
            for k in range(NUM_KEYS):
                if KEY_LENGTHS[k] == size and memcmp(KEYS[k], p + start, size) == 0:
                    key = k
                    break
        i = stop + 2
        size, value, start = -1, 0.0, i
        if p[i] == 34:
            start = i + 1
            stop = _text_end(p, start, n)
            if stop < 0:
                return False
            size, i = stop - start, stop + 1
        elif i + 4 <= n and memcmp(p + i, b"true", 4) == 0:
            value, i = 1.0, i + 4
        elif i + 5 <= n and memcmp(p + i, b"false", 5) == 0:
            i += 5
        else:
            i = _number(p, i, n, &value)
            if i < 0:
                return False
        if key >= 0:
            if found.size[key] != -2:
                return False  # a key twice: parsers differ
            found.number[key], found.start[key], found.size[key] = value, start, size
        if i >= n:
            return False
        if p[i] == 125:
            return i + 1 == n
        if p[i] != 44:
            return False


cdef inline bint _is(const uint8_t* p, Fields* f, const char* name, int64_t size) noexcept nogil:
    return f.size[EVENT] == size and memcmp(p + f.start[EVENT], name, size) == 0


cdef list _texts(const uint8_t[::1] data, Texts* known):
    return [bytes(data[known.start[k] : known.start[k] + known.size[k]]).decode("utf-8", "replace") for k in range(known.count)]


def scan_events(const uint8_t[::1] data):
    """Return columns of the lines of ``data``, which ends with a newline; see the stub for their names."""
    cdef int64_t n = data.shape[0], at = 0, stop, line = 0, most = 0
    cdef int64_t num_metrics = 0, num_shards = 0, num_sizes = 0, num_others = 0
    cdef const uint8_t* p = NULL
    cdef const uint8_t* end
    cdef Texts names, stages, workers
    cdef Fields f
    cdef int a, b
    names.count = stages.count = workers.count = 0
    if n:
        p = &data[0]
        while at < n:
            end = <const uint8_t*>memchr(p + at, 10, n - at)
            most += 1
            at = (end - p) + 1 if end != NULL else n
    metric_at = np.empty((most, 2), np.int64)
    metric_value = np.empty(most, np.float64)
    shard_at = np.empty((most, 5), np.int64)
    shard_time = np.empty((most, 3), np.float64)
    sizes = np.empty((most, 2), np.float64)
    others = np.empty((most, 3), np.int64)
    cdef int64_t[:, ::1] m = metric_at, s = shard_at, o = others
    cdef double[::1] mv = metric_value
    cdef double[:, ::1] st = shard_time, z = sizes
    at = 0
    with nogil:
        while at < n:
            end = <const uint8_t*>memchr(p + at, 10, n - at)
            stop = end - p if end != NULL else n
            a = b = -1
            if _fields(p, at, stop, &f) and f.size[EVENT] > 0:
                if _is(p, &f, b"Metric", 6) and f.size[NAME] > 0 and f.size[VALUE] == -1:
                    a = _intern(p, &names, f.start[NAME], f.size[NAME])
                    if a >= 0:
                        m[num_metrics, 0], m[num_metrics, 1] = line, a
                        mv[num_metrics] = f.number[VALUE]
                        num_metrics += 1
                elif _is(p, &f, b"ShardDone", 9) and f.size[STAGE] >= 0 and f.size[WORKER] >= 0:
                    a = _intern(p, &stages, f.start[STAGE], f.size[STAGE])
                    b = _intern(p, &workers, f.start[WORKER], f.size[WORKER])
                    if a >= 0 and b >= 0 and f.size[INDEX] == f.size[UNITS] == f.size[STARTED] == f.size[SECONDS] == -1:
                        s[num_shards, 0], s[num_shards, 1], s[num_shards, 2] = line, a, b
                        s[num_shards, 3] = <int64_t>f.number[INDEX]
                        s[num_shards, 4] = f.size[RESUMED] == -1 and f.number[RESUMED] != 0
                        st[num_shards, 0], st[num_shards, 1] = f.number[STARTED], f.number[SECONDS]
                        st[num_shards, 2] = f.number[UNITS]
                        num_shards += 1
                    else:
                        a = -1
                elif _is(p, &f, b"Memory", 6) and f.size[AT] == -1 and f.size[BYTES] == -1:
                    z[num_sizes, 0], z[num_sizes, 1] = f.number[AT], f.number[BYTES]
                    num_sizes += 1
                    a = 0
            if a < 0 and stop > at:
                o[num_others, 0], o[num_others, 1], o[num_others, 2] = line, at, stop
                num_others += 1
            at, line = stop + 1, line + 1
    return {
        "metric_at": metric_at[:num_metrics],
        "metric_value": metric_value[:num_metrics],
        "shard_at": shard_at[:num_shards],
        "shard_time": shard_time[:num_shards],
        "memory": sizes[:num_sizes],
        "others": others[:num_others],
        "names": _texts(data, &names),
        "stages": _texts(data, &stages),
        "workers": _texts(data, &workers),
    }
