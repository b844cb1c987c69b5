"""The vocabulary and the merges of a ``tokenizer.json``, from the text of the file to numbers.

A file of 32,000 tokens has 100,000 strings. As Python objects they take 60 ms, a fifth of the time before the first text is encoded;
here they stay bytes in one buffer, found by a hash table. The text has been checked to be JSON by whoever cut it out of the
file; what is not a vocabulary or a list of pairs is refused all the same.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memmove

from array import array

cdef uint64_t PRIME = 0x9E3779B97F4A7C15
cdef uint32_t NO_ID = 0xFFFFFFFF
cdef enum:
    FIRST_SLOTS = 1 << 12
    BAD = -1  # what is returned instead of a place: not what is expected there
    NO_MEMORY = -2
    NO_TOKEN = -3


cdef struct Token:
    uint64_t hash
    int64_t start  # in the buffer
    uint32_t size
    uint32_t id  # NO_ID: a free place


cdef inline int64_t after_white(const uint8_t* p, int64_t i, int64_t stop) noexcept nogil:
    while i < stop and (p[i] == 32 or 9 <= p[i] <= 13):
        i += 1
    return i


cdef inline int64_t after_sign(const uint8_t* p, int64_t i, int64_t stop, uint8_t sign) noexcept nogil:
    """Where the text goes on after white space and a sign; ``BAD`` if something else is there."""
    i = after_white(p, i, stop)
    return i + 1 if i < stop and p[i] == sign else BAD


cdef inline int64_t hex_digits(const uint8_t* p, int64_t i, int64_t stop) noexcept nogil:
    """The number of four hexadecimal digits, or ``BAD``."""
    cdef int64_t value = 0, digit, k
    if i + 4 > stop:
        return BAD
    for k in range(i, i + 4):
        if 48 <= p[k] <= 57:
            digit = p[k] - 48
        elif 97 <= (p[k] | 32) <= 102:
            digit = (p[k] | 32) - 87
        else:
            return BAD
        value = value * 16 + digit
    return value


cdef inline int64_t put_char(int64_t code, uint8_t* out) noexcept nogil:
    """Write a code point as UTF-8; returns how many bytes."""
    if code < 0x80:
        out[0] = <uint8_t>code
        return 1
    if code < 0x800:
        out[0], out[1] = <uint8_t>(0xC0 | code >> 6), <uint8_t>(0x80 | code & 63)
        return 2
    if code < 0x10000:
        out[0], out[1] = <uint8_t>(0xE0 | code >> 12), <uint8_t>(0x80 | code >> 6 & 63)
        out[2] = <uint8_t>(0x80 | code & 63)
        return 3
    out[0], out[1] = <uint8_t>(0xF0 | code >> 18), <uint8_t>(0x80 | code >> 12 & 63)
    out[2], out[3] = <uint8_t>(0x80 | code >> 6 & 63), <uint8_t>(0x80 | code & 63)
    return 4


cdef int64_t read_escape(const uint8_t* p, int64_t i, int64_t stop, uint8_t* out, int64_t* size) noexcept nogil:
    """Read what follows a backslash at ``i - 1``; returns where it ends. A lone surrogate is no text."""
    cdef int64_t code, low
    cdef uint8_t sign
    if i >= stop:
        return BAD
    sign = p[i]
    if sign == 117:  # u
        code = hex_digits(p, i + 1, stop)
        i += 5
        if 0xD800 <= code < 0xDC00:
            if i + 2 > stop or p[i] != 92 or p[i + 1] != 117:
                return BAD
            low = hex_digits(p, i + 2, stop)
            if not 0xDC00 <= low < 0xE000:
                return BAD
            code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
            i += 6
        elif code < 0 or 0xDC00 <= code < 0xE000:
            return BAD
    else:
        if sign == 98:  # b
            code = 8
        elif sign == 102:  # f
            code = 12
        elif sign == 110:  # n
            code = 10
        elif sign == 114:  # r
            code = 13
        elif sign == 116:  # t
            code = 9
        elif sign == 34 or sign == 92 or sign == 47:
            code = sign
        else:
            return BAD
        i += 1
    size[0] += put_char(code, out + size[0])
    return i


cdef int64_t read_string(const uint8_t* p, int64_t i, int64_t stop, uint8_t* out, int64_t* size) noexcept nogil:
    """Write a string, which is never longer than its text, and set its size; returns where the text ends."""
    cdef int64_t begin
    size[0] = 0
    i = after_sign(p, i, stop, 34)
    while i >= 0:
        begin = i
        while i < stop and p[i] != 34 and p[i] != 92:
            i += 1
        if i >= stop:
            return BAD
        memcpy(out + size[0], p + begin, i - begin)
        size[0] += i - begin
        if p[i] == 34:
            return i + 1
        i = read_escape(p, i + 1, stop, out, size)
    return BAD


cdef int64_t read_id(const uint8_t* p, int64_t i, int64_t stop, uint32_t* id) noexcept nogil:
    """Read a number below ``NO_ID``; returns where it ends."""
    cdef uint64_t value = 0
    cdef int64_t begin = after_white(p, i, stop)
    i = begin
    while i < stop and 48 <= p[i] <= 57 and value < NO_ID:
        value = value * 10 + p[i] - 48
        i += 1
    id[0] = <uint32_t>value
    return i if i > begin and value < NO_ID else BAD


cdef int64_t read_pair(
    const uint8_t* p, int64_t i, int64_t stop, uint8_t* out, int64_t* middle, int64_t* size
) noexcept nogil:
    """Write both tokens of a pair, one after the other; returns where its text ends."""
    cdef int64_t inside = after_sign(p, i, stop, 91), k, num_spaces = 0
    if inside >= 0:
        i = read_string(p, inside, stop, out, middle)
        if i >= 0:
            i = after_sign(p, i, stop, 44)
        if i >= 0:
            i = read_string(p, i, stop, out + middle[0], size)
            size[0] += middle[0]
        return after_sign(p, i, stop, 93) if i >= 0 else BAD
    i = read_string(p, i, stop, out, size)
    for k in range(size[0]):
        if out[k] == 32:
            middle[0], num_spaces = k, num_spaces + 1
    if i < 0 or num_spaces != 1:
        return BAD
    size[0] -= 1
    memmove(out + middle[0], out + middle[0] + 1, size[0] - middle[0])
    return i


cdef inline uint64_t hash_of(const uint8_t* p, int64_t size) noexcept nogil:
    cdef uint64_t h = size, piece = 0
    while size >= 8:
        memcpy(&piece, p, 8)
        h = (h ^ piece) * PRIME
        h ^= h >> 32
        p, size = p + 8, size - 8
    piece = 0
    memcpy(&piece, p, size)
    h = (h ^ piece) * PRIME
    return h ^ (h >> 29)


cdef Token* free_slots(int64_t size) noexcept nogil:
    cdef Token* slots = <Token*>malloc(size * sizeof(Token))
    cdef int64_t i
    if slots != NULL:
        for i in range(size):
            slots[i].id = NO_ID
    return slots


cdef class TokenTable:
    """The tokens of a vocabulary, a JSON object, and their ids; of two equal tokens the later one counts.

    Attributes:
        num_ids: One more than the largest id.
    """

    cdef Token* slots
    cdef uint8_t* data
    cdef int64_t num_slots, num_tokens, num_data

    def __cinit__(self, const uint8_t[::1] text):
        cdef int64_t size = text.shape[0], end
        self.num_slots = FIRST_SLOTS
        self.slots = free_slots(FIRST_SLOTS)
        self.data = <uint8_t*>malloc(size + 1)
        if self.slots == NULL or self.data == NULL:
            raise MemoryError
        with nogil:
            end = self.read(&text[0] if size else NULL, size)
        if end == NO_MEMORY:
            raise MemoryError
        if end == BAD:
            raise ValueError("the vocabulary is not an object of tokens and ids")

    def __dealloc__(self):
        free(self.slots)
        free(self.data)

    @property
    def num_ids(self):
        cdef int64_t i, most = 0
        for i in range(self.num_slots):
            if self.slots[i].id != NO_ID:
                most = max(most, <int64_t>self.slots[i].id + 1)
        return most

    cdef int64_t read(self, const uint8_t* p, int64_t stop) noexcept nogil:
        cdef int64_t i = after_sign(p, 0, stop, 123), size = 0, end
        cdef uint32_t id = 0
        if i < 0:
            return BAD
        end = after_sign(p, i, stop, 125)
        if end >= 0:
            return end
        while True:
            i = read_string(p, i, stop, self.data + self.num_data, &size)
            if i >= 0:
                i = after_sign(p, i, stop, 58)
            if i >= 0:
                i = read_id(p, i, stop, &id)
            if i < 0:
                return BAD
            if self.put(size, id) != 0:
                return NO_MEMORY
            end = after_sign(p, i, stop, 125)
            if end >= 0:
                return end
            i = after_sign(p, i, stop, 44)
            if i < 0:
                return BAD

    cdef Token* find(self, const uint8_t* p, int64_t size, uint64_t hash) noexcept nogil:
        """The entry of a token, or the free place where it would be."""
        cdef int64_t at = hash & <uint64_t>(self.num_slots - 1)
        cdef Token* slot = &self.slots[at]
        while slot.id != NO_ID:
            if slot.hash == hash and slot.size == size and memcmp(self.data + slot.start, p, size) == 0:
                break
            at = (at + 1) & (self.num_slots - 1)
            slot = &self.slots[at]
        return slot

    cdef int put(self, int64_t size, uint32_t id) noexcept nogil:
        """Take the token that was written behind the others; -1 when memory is short."""
        cdef const uint8_t* p = self.data + self.num_data
        cdef uint64_t hash = hash_of(p, size)
        cdef Token* slot
        if 2 * self.num_tokens >= self.num_slots and self.grow() != 0:
            return -1
        slot = self.find(p, size, hash)
        if slot.id == NO_ID:
            slot.hash, slot.start, slot.size = hash, self.num_data, <uint32_t>size
            self.num_data += size
            self.num_tokens += 1
        slot.id = id
        return 0

    cdef int grow(self) noexcept nogil:
        cdef Token* old = self.slots
        cdef int64_t i, at, num_old = self.num_slots
        cdef Token* slots = free_slots(4 * num_old)
        if slots == NULL:
            return -1
        for i in range(num_old):
            if old[i].id != NO_ID:
                at = old[i].hash & <uint64_t>(4 * num_old - 1)
                while slots[at].id != NO_ID:
                    at = (at + 1) & (4 * num_old - 1)
                slots[at] = old[i]
        free(old)
        self.slots, self.num_slots = slots, 4 * num_old
        return 0

    cdef inline uint32_t id_of(self, const uint8_t* p, int64_t size) noexcept nogil:
        return self.find(p, size, hash_of(p, size)).id

    def ids(self, tokens):
        """The ids of some tokens, given as bytes.

        Raises:
            KeyError: for a token that is not there.
        """
        found = array("I", bytes(4 * len(tokens)))
        cdef uint32_t[::1] out = found
        cdef const uint8_t[::1] token
        cdef int64_t i
        for i, token in enumerate(tokens):
            out[i] = self.id_of(&token[0] if token.shape[0] else self.data, token.shape[0])
            if out[i] == NO_ID:
                raise KeyError(bytes(token).decode())
        return found

    def pairs(self, const uint8_t[::1] text):
        """The ids of a list of merges: left, right, and what they become; each is written ``["a", "b"]`` or ``"a b"``.

        Raises:
            ValueError: for text that is no such list.
            KeyError: for a token that is not there.
        """
        cdef int64_t size = text.shape[0], room = 1, i, num = 0, end = 0
        for i in range(size):
            room += text[i] == 44
        left, right, merged = (array("I", bytes(4 * room)) for _ in range(3))
        cdef uint32_t[::1] lefts = left, rights = right, alls = merged
        cdef int64_t where[2]
        cdef uint8_t* both = <uint8_t*>malloc(size + 1)
        if both == NULL:
            raise MemoryError
        try:
            with nogil:
                num = self.read_pairs(&text[0] if size else NULL, size, both, &lefts[0], &rights[0], &alls[0], where)
            if num == NO_TOKEN:
                raise KeyError(both[where[0]:where[1]].decode())
        finally:
            free(both)
        if num == BAD:
            raise ValueError("the merges are not a list of pairs")
        return left[:num], right[:num], merged[:num]

    cdef int64_t read_pairs(
        self,
        const uint8_t* p,
        int64_t stop,
        uint8_t* both,
        uint32_t* lefts,
        uint32_t* rights,
        uint32_t* merged,
        int64_t* where,
    ) noexcept nogil:
        """Returns how many there are, ``BAD``, or ``NO_TOKEN`` and where in ``both`` it is."""
        cdef int64_t i = after_sign(p, 0, stop, 91), middle = 0, size = 0, num = 0
        if i < 0:
            return BAD
        if after_sign(p, i, stop, 93) >= 0:
            return 0
        while True:
            i = read_pair(p, i, stop, both, &middle, &size)
            if i < 0:
                return BAD
            lefts[num], rights[num] = self.id_of(both, middle), self.id_of(both + middle, size - middle)
            merged[num] = self.id_of(both, size)
            where[0] = middle if lefts[num] != NO_ID and rights[num] == NO_ID else 0
            where[1] = middle if lefts[num] == NO_ID else size
            if lefts[num] == NO_ID or rights[num] == NO_ID or merged[num] == NO_ID:
                return NO_TOKEN
            num += 1
            if after_sign(p, i, stop, 93) >= 0:
                return num
            i = after_sign(p, i, stop, 44)
            if i < 0:
                return BAD


def end_of_value(const uint8_t[::1] text, int64_t start):
    """Where the object or list that begins at ``start`` ends, by its brackets alone; -1 if it does not."""
    cdef int64_t i, depth = 0, found = -1
    cdef bint quoted = False
    with nogil:
        i = start
        while i < text.shape[0]:
            if text[i] == 92:  # a backslash: the next character is part of a string
                i += 1
            elif text[i] == 34:
                quoted = not quoted
            elif not quoted and (text[i] | 32) == 123:  # [ or {
                depth += 1
            elif not quoted and (text[i] | 32) == 125:
                depth -= 1
                if depth <= 0:
                    found = i + 1
                    break
            i += 1
    return found
