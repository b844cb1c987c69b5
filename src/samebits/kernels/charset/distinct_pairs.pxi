# Distinct byte pairs of some data; part of ``characters``.

cdef struct Pairs:
    int64_t num_ascii      # pairs of two bytes below 0x80 come first
    int64_t num_all
    uint16_t* keys         # first << 8 | second
    uint32_t* counts
    uint32_t bytes_seen[256]
    uint32_t ascii_words


cdef inline bint is_ascii_letter(int byte) noexcept nogil:
    return 65 <= (byte & 0xDF) <= 90


cdef int collect(const uint8_t* data, int64_t n, Pairs* out) noexcept nogil:
    """Fill `out` with the distinct byte pairs of the data; -1 without memory."""
    cdef uint32_t* table = <uint32_t*> malloc(65536 * 4)
    cdef uint16_t* order = <uint16_t*> malloc((n if n < 65536 else 65536) * 2 + 2)
    cdef int64_t i, m = 0, low = 0, high
    cdef uint32_t key, count
    if table == NULL or order == NULL:
        free(table); free(order)
        return -1
    memset(table, 0, 65536 * 4)
    memset(out.bytes_seen, 0, sizeof(out.bytes_seen))
    for i in range(1, n):
        key = (<uint32_t> data[i - 1] << 8) | data[i]
        if table[key] == 0:
            order[m] = <uint16_t> key
            m += 1
        table[key] += 1
    out.keys = <uint16_t*> malloc(m * 2 + 2)
    out.counts = <uint32_t*> malloc(m * 4 + 4)
    if out.keys == NULL or out.counts == NULL:
        free(table); free(order); free(out.keys); free(out.counts)
        return -1
    out.num_all = m
    out.ascii_words = 0
    for i in range(m):
        low += (order[i] & 0x8080) == 0
    out.num_ascii = low
    high = low
    low = 0
    for i in range(m):
        key = order[i]
        count = table[key]
        out.bytes_seen[key & 255] += count
        if (key >> 8) == (key & 255) and count > MAX_REPEATS:
            count = MAX_REPEATS
        if (key & 0x8080) == 0:
            if is_ascii_letter(key & 255) and not is_ascii_letter(key >> 8):
                out.ascii_words += count
            out.keys[low] = <uint16_t> key
            out.counts[low] = count
            low += 1
        else:
            out.keys[high] = <uint16_t> key
            out.counts[high] = count
            high += 1
    out.bytes_seen[data[0]] += 1
    free(table); free(order)
    return 0
