"""Unicode tables and normal forms for the langid kernels.

``Tables`` holds the committed arrays; ``decompose`` and ``compose`` are NFD and NFC on code points, by those tables
and not by the running Python, so a model does not depend on the Python version.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memset

from samebits.kernels.langid.text.unicode cimport Points, Tables, decode, encode, record_of

cdef enum:
    S_BASE = 0xAC00
    L_BASE = 0x1100
    V_BASE = 0x1161
    T_BASE = 0x11A7
    L_COUNT = 19
    V_COUNT = 21
    T_COUNT = 28
    S_COUNT = 11172
    SHORT_RUN = 32


cdef class Tables:
    """The code point tables, kept alive and ready for nogil use."""

    def __init__(
        self,
        const uint16_t[::1] stage1,
        const uint16_t[::1] stage2,
        const uint16_t[::1] flags,
        const uint8_t[::1] script,
        const uint64_t[::1] keep,
        const uint8_t[::1] ccc,
        const int32_t[::1] lower,
        const int32_t[::1] fold,
        const uint16_t[::1] nfd_start,
        const uint8_t[::1] nfd_length,
        const uint32_t[::1] nfd,
        const uint64_t[::1] pairs,
        const uint32_t[::1] composed,
    ):
        self.arrays = (stage1, stage2, flags, script, keep, ccc, lower, fold, nfd_start, nfd_length, nfd, pairs, composed)
        self.points = Points(
            stage1=&stage1[0], stage2=&stage2[0], flags=&flags[0], script=&script[0], keep=&keep[0], ccc=&ccc[0],
            lower=&lower[0], fold=&fold[0], nfd_start=&nfd_start[0], nfd_length=&nfd_length[0], nfd=&nfd[0],
            pairs=&pairs[0], composed=&composed[0], num_pairs=pairs.shape[0],
        )


cdef void sort_marks(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    # Stable order by combining class of one run of marks. Insertion for the usual few; counting for long runs, which
    # would take quadratic time and are only seen in hostile input.
    cdef int64_t i, j, k
    cdef uint32_t c
    cdef uint8_t cc
    cdef int64_t starts[257]
    cdef uint32_t* copy
    if n <= SHORT_RUN:
        for i in range(1, n):
            c = a[i]
            cc = t.ccc[record_of(t, c)]
            j = i - 1
            while j >= 0 and t.ccc[record_of(t, a[j])] > cc:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = c
        return
    copy = <uint32_t*>malloc(n * sizeof(uint32_t))
    memset(starts, 0, sizeof(starts))
    for i in range(n):
        copy[i] = a[i]
        starts[<int>t.ccc[record_of(t, a[i])] + 1] += 1
    for k in range(256):
        starts[k + 1] += starts[k]
    for i in range(n):
        cc = t.ccc[record_of(t, copy[i])]
        a[starts[cc]] = copy[i]
        starts[cc] += 1
    free(copy)


cdef int64_t decompose(const Points* t, const uint32_t* a, int64_t n, uint32_t* b) noexcept nogil:
    """NFD of a[:n] into b, which has room for 4 n; returns the length."""
    cdef int64_t i, k, m = 0, start
    cdef uint32_t c, r, s
    for i in range(n):
        c = a[i]
        if S_BASE <= c < S_BASE + S_COUNT:
            s = c - S_BASE
            b[m] = L_BASE + s // (V_COUNT * T_COUNT)
            b[m + 1] = V_BASE + (s % (V_COUNT * T_COUNT)) // T_COUNT
            m += 2
            if s % T_COUNT:
                b[m] = T_BASE + s % T_COUNT
                m += 1
            continue
        r = record_of(t, c)
        if t.nfd_length[r] == 0:
            b[m] = c
            m += 1
        for k in range(t.nfd_length[r]):
            b[m] = t.nfd[t.nfd_start[r] + k]
            m += 1
    i = 0
    while i < m:
        if t.ccc[record_of(t, b[i])] == 0:
            i += 1
            continue
        start = i
        while i < m and t.ccc[record_of(t, b[i])] != 0:
            i += 1
        sort_marks(t, b + start, i - start)
    return m


cdef uint32_t pair_of(const Points* t, uint32_t first, uint32_t second) noexcept nogil:
    # The composed code point, or 0.
    cdef uint64_t key = (<uint64_t>first << 21) | second
    cdef int64_t low = 0, high = t.num_pairs, middle
    if L_BASE <= first < L_BASE + L_COUNT and V_BASE <= second < V_BASE + V_COUNT:
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT
    if S_BASE <= first < S_BASE + S_COUNT and (first - S_BASE) % T_COUNT == 0 and T_BASE < second < T_BASE + T_COUNT:
        return first + second - T_BASE
    while low < high:
        middle = (low + high) // 2
        if t.pairs[middle] < key:
            low = middle + 1
        else:
            high = middle
    return t.composed[low] if low < t.num_pairs and t.pairs[low] == key else 0


cdef int64_t compose(const Points* t, uint32_t* a, int64_t n) noexcept nogil:
    """Canonical composition in place of decomposed a[:n]; returns the length."""
    cdef int64_t i, m = 0, starter = -1
    cdef uint32_t c, joined
    cdef int cc, last = 0
    for i in range(n):
        c = a[i]
        cc = t.ccc[record_of(t, c)]
        if starter >= 0 and (last < cc or (last == 0 and starter == m - 1)):
            joined = pair_of(t, a[starter], c)
            if joined:
                a[starter] = joined
                continue
        a[m] = c
        if cc == 0:
            starter = m
        last = cc
        m += 1
    return m


def normalize(Tables tables, const uint8_t[::1] text, bint composed):
    """NFC (``composed``) or NFD of UTF-8 bytes; what the tests compare with ``unicodedata``."""
    cdef int64_t n = 0, m, i = 0, k
    cdef int64_t size = text.shape[0]
    cdef uint32_t* a = <uint32_t*>malloc((size + 1) * sizeof(uint32_t))
    cdef uint32_t* b = <uint32_t*>malloc((4 * size + 4) * sizeof(uint32_t))
    cdef uint8_t buffer[4]
    if a == NULL or b == NULL:
        free(a)
        free(b)
        raise MemoryError
    try:
        while i < size:
            a[n] = decode(&text[0], &i)
            n += 1
        m = decompose(&tables.points, a, n, b)
        if composed:
            m = compose(&tables.points, b, m)
        out = bytearray()
        for k in range(m):
            out += buffer[: encode(b[k], buffer)]
        return bytes(out)
    finally:
        free(a)
        free(b)
