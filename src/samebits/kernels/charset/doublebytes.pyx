"""Walk bytes as a double-byte encoding stores them, and add up what the characters cost."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:
    BROKEN = 240          # 30 bits for a byte that is no part of a character
    LONG = 176            # 22 bits for a character of three or four bytes
    PLAIN_LETTER = 40     # an ASCII letter after a wide character
    PLAIN_OTHER = 24
    NO_CHARACTER = 255


def walk(const uint8_t[::1] data not None, const uint8_t[:, ::1] costs not None, int form, int64_t limit):
    """Cost of everything that is not plain ASCII: (cost, characters, broken bytes, runs of characters).

    Args:
        data: The bytes.
        costs: (129, 256): single bytes, then pairs by lead byte from 0x80.
        form: 1 when four bytes of GB 18030 may be a character, 2 when three of EUC-JP may.
        limit: Stop when the cost is above this.
    """
    cdef int64_t n = data.shape[0], i = 0, total = 0, chars = 0, broken = 0, runs = 0
    cdef uint8_t a, b
    cdef bint after = False, letter
    assert costs.shape[0] == 129 and costs.shape[1] == 256
    with nogil:
        while i < n and total <= limit:
            a = data[i]
            if a < 0x80:
                if after:
                    total += PLAIN_LETTER if 65 <= (a & 0xDF) <= 90 else PLAIN_OTHER
                after = False
                i += 1
                continue
            runs += not after
            after = True
            if costs[0, a] != NO_CHARACTER:
                total += costs[0, a]
                chars += 1
                i += 1
                continue
            if i + 1 >= n:
                break  # cut in the middle of a character
            b = data[i + 1]
            if costs[a - 0x7F, b] != NO_CHARACTER:
                total += costs[a - 0x7F, b]
                chars += 1
                i += 2
            elif form == 1 and 0x30 <= b <= 0x39 and i + 3 < n and data[i + 2] >= 0x81 and 0x30 <= data[i + 3] <= 0x39:
                total += LONG
                chars += 1
                i += 4
            elif form == 2 and a == 0x8F and i + 2 < n and b >= 0xA1 and data[i + 2] >= 0xA1:
                total += LONG
                chars += 1
                i += 3
            else:
                total += BROKEN
                broken += 1
                i += 1
    return total, chars, broken, runs
