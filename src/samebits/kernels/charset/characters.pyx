"""Score bytes and text against the character models of the detector.

Bytes are reduced to their distinct pairs first: the work after one pass over the data no longer depends on its length.
Encodings that give the same text are one *reading*; readings are tried in the order of the least they can cost, and the
search ends when no other can come near the best. All costs are integers, eighths of a bit.
"""

from libc.math cimport lgamma, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

cdef enum:
    MAX_SCRIPTS = 32
    MAX_ENCODINGS = 128
    MAX_LANGUAGES = 64   # of one script
    NO_POINT = 0xFFFF
    MAX_REPEATS = 3      # lines and boxes drawn with one sign are one piece of evidence
    NOT_A_SCRIPT = 255
    NOT_WANTED = 0x7FFFFFFF


include "distinct_pairs.pxi"


cdef struct Reading:
    int encoding           # the first of those that read the data alike
    int script
    int64_t at_least
    uint64_t signature


cdef double beta_bits(double strange, double plain) noexcept nogil:
    """Bits to say which words are of the other script, when `strange` of them are; few among many are dear."""
    return -(lgamma(strange + 10) - lgamma(10.0) + lgamma(plain + 1) - lgamma(strange + plain + 11) + lgamma(11.0)) / log(2.0)


cdef class CharacterTables:
    """The models, as they lie in a memory-mapped file; checked by `samebits.charset` before they come here."""

    cdef const uint8_t[::1] buffer
    cdef int num_encodings, num_units, num_scripts, num_languages
    cdef const uint16_t* unit
    cdef const uint8_t* unit_script
    cdef const uint8_t* unit_letter
    cdef const uint16_t* points
    cdef const uint16_t* units
    cdef const uint8_t* penalty
    cdef const uint8_t* codes
    cdef const uint8_t* local[MAX_SCRIPTS]
    cdef const uint8_t* costs[MAX_SCRIPTS]
    cdef const uint8_t* floor[MAX_SCRIPTS]
    cdef int size[MAX_SCRIPTS]
    cdef int languages[MAX_SCRIPTS]
    cdef int first_language[MAX_SCRIPTS]
    cdef uint8_t ascii_based[MAX_ENCODINGS]

    def __init__(self, const uint8_t[::1] buffer not None, dict places, list sizes, list languages, list ascii_based, list names):
        """Check what will be an index; `places` are inside the buffer and of the right sizes already.

        Raises:
            ValueError: A table points outside another.
        """
        cdef int s, e
        self.buffer = buffer
        self.num_scripts = len(sizes)
        self.num_encodings = len(ascii_based)
        if not 0 < self.num_scripts <= MAX_SCRIPTS or not 0 < self.num_encodings <= MAX_ENCODINGS or max(languages) > MAX_LANGUAGES:
            raise ValueError("holds more scripts, encodings or languages than this program is made for")
        self.num_units = places["unit_script"][1]
        self.unit = <const uint16_t*> self.at(places["unit"])
        self.unit_script = self.at(places["unit_script"])
        self.unit_letter = self.at(places["unit_letter"])
        self.points = <const uint16_t*> self.at(places["points"])
        self.units = <const uint16_t*> self.at(places["units"])
        self.penalty = self.at(places["penalty"])
        self.codes = self.at(places["codes"])
        self.num_languages = 0
        for s in range(self.num_scripts):
            self.size[s] = sizes[s]
            self.languages[s] = languages[s]
            self.first_language[s] = self.num_languages
            self.num_languages += self.languages[s]
            if self.size[s]:
                self.local[s] = self.at(places["local/" + names[s]])
                self.costs[s] = self.at(places["costs/" + names[s]])
                self.floor[s] = self.at(places["floor/" + names[s]])
        for e in range(self.num_encodings):
            self.ascii_based[e] = ascii_based[e]
        self.check()

    cdef const uint8_t* at(self, tuple place) except NULL:
        cdef Py_ssize_t start = place[0]
        return &self.buffer[start]

    cdef int check(self) except -1:
        """Every unit and every number of an alphabet is one that exists."""
        cdef int64_t i
        cdef int s
        for i in range(65536):
            if self.unit[i] >= self.num_units:
                raise ValueError("the table of code points leads outside the units")
        for i in range(self.num_encodings * 256):
            if self.units[i] >= self.num_units:
                raise ValueError("the table of an encoding leads outside the units")
        for i in range(self.num_units):
            if self.unit_script[i] != NOT_A_SCRIPT and self.unit_script[i] >= self.num_scripts:
                raise ValueError("a unit is of a script that is not there")
            for s in range(self.num_scripts):
                if self.size[s] and self.local[s][i] >= self.size[s]:
                    raise ValueError("an alphabet leads outside its costs")
        if not self.size[0]:
            raise ValueError("the first script has no costs")
        return 0

    cdef void add_pairs(self, int script, const uint16_t* units, const Pairs* pairs, int64_t start, int64_t stop, int64_t* sums) noexcept nogil:
        """Add the costs of pairs [start, stop) for every language of a script; a repeat of white space is nothing."""
        cdef int n = self.size[script], m = self.languages[script], j, first, second
        cdef const uint8_t* local = self.local[script]
        cdef int space = local[self.unit[0x20]]
        cdef const uint8_t* row
        cdef uint32_t count
        cdef int64_t i
        for i in range(start, stop):
            first = local[units[pairs.keys[i] >> 8]]
            second = local[units[pairs.keys[i] & 255]]
            if first == space and second == space:
                continue
            row = self.costs[script] + (<int64_t> first * n + second) * m
            count = pairs.counts[i]
            for j in range(m):
                sums[j] += row[j] * count

    cdef int64_t floor_of(self, int script, const uint16_t* units, const Pairs* pairs, int64_t start) noexcept nogil:
        cdef int n = self.size[script], first, second
        cdef const uint8_t* local = self.local[script]
        cdef const uint8_t* floor = self.floor[script]
        cdef int space = local[self.unit[0x20]]
        cdef int64_t total = 0, i
        for i in range(start, pairs.num_all):
            first = local[units[pairs.keys[i] >> 8]]
            second = local[units[pairs.keys[i] & 255]]
            if not (first == space and second == space):
                total += <int64_t> floor[first * n + second] * pairs.counts[i]
        return total

    cdef int script_of(self, const uint16_t* units, const Pairs* pairs, int low) noexcept nogil:
        """The script most letters among the bytes from `low` up are of; Latin when there is none."""
        cdef int64_t seen[MAX_SCRIPTS]
        cdef int b, s, best = 0
        memset(seen, 0, sizeof(seen))
        for b in range(low, 256):
            s = self.unit_script[units[b]]
            if s != NOT_A_SCRIPT and self.size[s]:
                seen[s] += pairs.bytes_seen[b]
        for s in range(self.num_scripts):
            if seen[s] > seen[best]:
                best = s
        return best

    cdef int64_t words_cost(self, const uint16_t* units, const Pairs* pairs) noexcept nogil:
        """What it costs that some words of an ASCII text are of another script."""
        cdef int64_t words = 0, i
        cdef int first, second
        for i in range(pairs.num_ascii, pairs.num_all):
            first, second = pairs.keys[i] >> 8, pairs.keys[i] & 255
            if second >= 0x80 and self.unit_letter[units[second]] and not self.unit_letter[units[first]]:
                words += pairs.counts[i]
        return <int64_t> (8 * beta_bits(<double> words, <double> pairs.ascii_words))

    cdef int readings(self, const Pairs* pairs, const int32_t* priors, int64_t base, Reading* out, int* of_encoding) noexcept nogil:
        """Group the encodings by the text they give; return how many readings there are."""
        cdef int e, b, low, r, count = 0
        cdef uint64_t signature
        cdef const uint16_t* units
        for e in range(self.num_encodings):
            of_encoding[e] = -1
            if priors[e] == NOT_WANTED:
                continue
            low = 0x80 if self.ascii_based[e] else 0
            signature = 14695981039346656037ULL + low
            for b in range(low, 256):
                if pairs.bytes_seen[b]:
                    signature = (signature ^ self.points[e * 256 + b]) * 1099511628211ULL
            for r in range(count):
                if out[r].signature == signature:
                    of_encoding[e] = r
                    break
            if of_encoding[e] >= 0:
                continue
            units = self.units + e * 256
            out[count].signature = signature
            out[count].encoding = e
            out[count].script = self.script_of(units, pairs, low)
            out[count].at_least = self.floor_of(out[count].script, units, pairs, pairs.num_ascii if low else 0)
            if low:
                out[count].at_least += base
                if out[count].script != 0:
                    out[count].at_least += self.words_cost(units, pairs)
            of_encoding[e] = count
            count += 1
        return count

    def rank(self, const uint8_t[::1] data not None, const int32_t[::1] priors not None, const int32_t[::1] hints not None, int margin, int ascii_weight):
        """Cost of every encoding that may have been used, for single-byte encodings.

        Args:
            data: At least one byte.
            priors: Per encoding, cost to add; encodings with NOT_WANTED are not tried.
            hints: Per language, cost to add.
            margin: Readings that cost more than the best by this many eighths of a bit are left out.
            ascii_weight: Sixteenths of the cost of plain ASCII that count when languages are compared.

        Returns:
            Cost of the ASCII part, the words in it, and rows of (cost, encoding, language, reading).
        """
        cdef Pairs pairs
        cdef Reading found[MAX_ENCODINGS]
        cdef int of_encoding[MAX_ENCODINGS]
        cdef int64_t plain[MAX_LANGUAGES]
        cdef int64_t sums[MAX_LANGUAGES]
        cdef int64_t base = 0, best = 1LL << 60, cost, least
        cdef int count, r, e, j, k, low, script, language, latin = self.languages[0]
        cdef int order[MAX_ENCODINGS]
        cdef const uint8_t* penalty
        cdef const int32_t* hint
        if data.shape[0] == 0 or priors.shape[0] != self.num_encodings or hints.shape[0] != self.num_languages:
            raise ValueError("no data, or priors of another model")
        if collect(&data[0], data.shape[0], &pairs) < 0:
            raise MemoryError()
        rows = []
        try:
            memset(plain, 0, sizeof(plain))
            self.add_pairs(0, self.unit, &pairs, 0, pairs.num_ascii, plain)
            base = plain[0]
            for j in range(1, latin):
                base = min(base, plain[j])
            count = self.readings(&pairs, &priors[0], base, found, of_encoding)
            for r in range(count):
                k = r
                while k > 0 and found[order[k - 1]].at_least > found[r].at_least:
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = r
            for k in range(count):
                r = order[k]
                if found[r].at_least > best + margin:
                    break
                script = found[r].script
                low = self.ascii_based[found[r].encoding]
                memset(sums, 0, sizeof(sums))
                self.add_pairs(script, self.units + found[r].encoding * 256, &pairs, pairs.num_ascii if low else 0, pairs.num_all, sums)
                least = 0
                if low:
                    least = base
                    if script != 0:
                        least += self.words_cost(self.units + found[r].encoding * 256, &pairs)
                    else:
                        for j in range(latin):
                            sums[j] += (plain[j] - base) * ascii_weight // 16
                hint = &hints[0] + self.first_language[script]
                for e in range(self.num_encodings):
                    if of_encoding[e] != r:
                        continue
                    penalty = self.penalty + e * self.num_languages + self.first_language[script]
                    language = 0
                    for j in range(1, self.languages[script]):
                        if sums[j] + penalty[j] + hint[j] < sums[language] + penalty[language] + hint[language]:
                            language = j
                    cost = sums[language] + penalty[language] + hint[language] + least + priors[e]
                    best = min(best, cost)
                    rows.append((cost, e, self.first_language[script] + language, r))
        finally:
            free(pairs.keys)
            free(pairs.counts)
        return base, pairs.ascii_words, rows

    def read(self, str text not None, const int32_t[::1] hints not None, int max_chars):
        """Cost and language of text: (cost, chars, script, language, strange).

        Script is -1 and language a number among the East Asian ones when most letters are Han, kana or hangul. `strange` counts
        characters that text does not hold.
        """
        cdef Py_ssize_t n = min(<Py_ssize_t> max_chars, len(text)), i
        cdef int64_t seen[MAX_SCRIPTS]
        cdef int64_t east = 0, strange = 0, total
        cdef int s, best = 0
        cdef uint32_t point
        cdef uint16_t* units = <uint16_t*> malloc(n * 2 + 2)
        if units == NULL:
            raise MemoryError()
        if hints.shape[0] != self.num_languages:
            free(units)
            raise ValueError("hints of another model")
        memset(seen, 0, sizeof(seen))
        for i in range(n):
            point = <uint32_t> text[i]
            units[i] = self.unit[point] if point < 0x10000 else (6 if 0x1F000 <= point < 0x20000 else 9 if 0x20000 <= point < 0x40000 else 8)
            s = self.unit_script[units[i]]
            if s != NOT_A_SCRIPT:
                seen[s] += 1
            elif 9 <= units[i] <= 11:
                east += 2
            elif units[i] <= 3 and point != 0xFEFF:
                strange += 1
        for s in range(self.num_scripts):
            if seen[s] > seen[best]:
                best = s
        try:
            if east > seen[best]:
                return self.read_east_asian(text, n, strange)
            return self.read_script(units, n, best, strange, &hints[0] + self.first_language[best])
        finally:
            free(units)

    cdef tuple read_east_asian(self, str text, Py_ssize_t n, int64_t strange):
        cdef int64_t sums[3]
        cdef Py_ssize_t i
        cdef uint32_t point
        cdef int j, best = 0
        memset(sums, 0, sizeof(sums))
        for i in range(n):
            point = <uint32_t> text[i]
            for j in range(3):
                sums[j] += 40 if point < 0x80 else 160 if point >= 0x10000 else self.codes[j * 65536 + point]
        for j in range(3):
            if sums[j] < sums[best]:
                best = j
        return sums[best], n, -1, best, strange

    cdef tuple read_script(self, const uint16_t* units, Py_ssize_t n, int script, int64_t strange, const int32_t* hint):
        cdef int64_t sums[MAX_LANGUAGES]
        cdef int size = self.size[script], m = self.languages[script], j, best = 0, first, second, space, k
        cdef const uint8_t* local = self.local[script]
        cdef const uint8_t* row
        cdef const uint8_t* penalty = self.penalty + self.num_encodings * self.num_languages + self.first_language[script]
        cdef uint16_t* table
        cdef uint16_t* order
        cdef int64_t i, distinct = 0
        if size == 0:
            return n * 48, n, script, self.first_language[script], strange
        table = <uint16_t*> malloc(size * size * 2)
        order = <uint16_t*> malloc(size * size * 2)
        if table == NULL or order == NULL:
            free(table); free(order)
            raise MemoryError()
        memset(table, 0, size * size * 2)
        memset(sums, 0, sizeof(sums))
        space = local[self.unit[0x20]]
        for i in range(1, n):
            first, second = local[units[i - 1]], local[units[i]]
            if first == space and second == space:
                continue
            k = first * size + second
            if table[k] == 0:
                order[distinct] = <uint16_t> k
                distinct += 1
            if table[k] < (MAX_REPEATS if units[i] == units[i - 1] else 65535):
                table[k] += 1
        for i in range(distinct):
            row = self.costs[script] + <int64_t> order[i] * m
            for j in range(m):
                sums[j] += row[j] * <int64_t> table[order[i]]
        for j in range(1, m):
            if sums[j] + penalty[j] + hint[j] < sums[best] + penalty[best] + hint[best]:
                best = j
        free(table); free(order)
        return sums[best], n, script, self.first_language[script] + best, strange
