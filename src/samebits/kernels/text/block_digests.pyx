"""Digests of the blocks of a file, xxh3-128 each, without the GIL: as the package ``xxhash`` computes them, which holds it.

A file is hashed while Python imports, and cells are checked while another thread needs the GIL: 120 MB are 10 ms in which nobody else could
have it, and every read in between would wait for it again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from posix.unistd cimport pread

cdef extern from "xxh3.h" nogil:
    enum:
        SHORT "SAMEBITS_XXH3_SHORT"
    void samebits_xxh3(const uint8_t* p, int64_t size, int wide, uint8_t* digest)

cdef enum:
    DIGEST_BYTES = 16


cdef int64_t _num_long(int64_t size, int64_t block_bytes) noexcept nogil:
    """How many blocks are long enough for the kernel: all, or all but the last."""
    return size // block_bytes + (size % block_bytes > SHORT)


cdef void _fill(const uint8_t* p, int64_t size, int64_t block_bytes, bint wide, uint8_t* out) noexcept nogil:
    cdef int64_t n, start
    for n in range(_num_long(size, block_bytes)):
        start = n * block_bytes
        samebits_xxh3(p + start, min(block_bytes, size - start), wide, out + DIGEST_BYTES * n)


cdef int64_t _read_full(int file, int64_t start, uint8_t* p, int64_t size) noexcept nogil:
    """Read so many bytes from a place of a file on, or to its end; returns how many there were, or the error below 0."""
    cdef int64_t filled = 0, got
    while filled < size:
        got = pread(file, p + filled, size - filled, start + filled)
        if got < 0 and errno == EINTR:
            continue
        if got < 0:
            return -errno
        if got == 0:
            break
        filled += got
    return filled


cdef int _check(int64_t got) except -1:
    """Raise the error that ``_read_full`` has returned."""
    if got < 0:
        import os

        raise OSError(-got, os.strerror(-got))
    return 0


def _short(const uint8_t[::1] block):
    """The digest of the last bytes, if they are few."""
    import xxhash

    return xxhash.xxh3_128_digest(block)


def block_digests(const uint8_t[::1] data, int64_t block_bytes, bint wide=True):
    """Return the digests of consecutive blocks, one after the other; the last block may be shorter.

    ``wide``: use AVX2 where the processor has it; the digests are the same.
    """
    cdef int64_t size = data.shape[0], num
    if block_bytes <= SHORT:
        raise ValueError(f"blocks of {block_bytes} bytes")
    num = _num_long(size, block_bytes)
    found = PyBytes_FromStringAndSize(NULL, DIGEST_BYTES * num)
    cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(found)
    if num:
        with nogil:
            _fill(&data[0], size, block_bytes, wide, out)
    return found + _short(data[num * block_bytes:]) if size > num * block_bytes else found


def read_blocks(int file, int64_t start, int64_t block_bytes, uint8_t[::1] buffer):
    """Fill a buffer from a place of a file on; return how many bytes there were, and the digests of their blocks.

    A block is hashed while it is in the cache next to the core.

    Raises:
        OSError: if it cannot be read.
    """
    cdef int64_t room = buffer.shape[0], hashed = 0, got = 0
    if block_bytes <= SHORT:
        raise ValueError(f"blocks of {block_bytes} bytes")
    digests = PyBytes_FromStringAndSize(NULL, DIGEST_BYTES * (room // block_bytes))
    cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(digests)
    with nogil:
        while hashed < room:
            got = _read_full(file, start + hashed, &buffer[hashed], min(block_bytes, room - hashed))
            if got < block_bytes:
                break
            samebits_xxh3(&buffer[hashed], block_bytes, True, out + hashed // block_bytes * DIGEST_BYTES)
            hashed, got = hashed + block_bytes, 0
    _check(got)
    found = digests[: hashed // block_bytes * DIGEST_BYTES]
    return hashed + got, found + block_digests(buffer[hashed : hashed + got], block_bytes) if got else found


def file_digests(int file, int64_t block_bytes, uint8_t[::1] buffer):
    """Read a file to its end; return its size and the digests of its blocks.

    ``buffer`` has room for whole blocks.

    Raises:
        OSError: if it cannot be read.
    """
    cdef int64_t room = buffer.shape[0], got = 0, total = 0, num = 0
    cdef uint8_t* digests = NULL
    cdef uint8_t* more = NULL
    if block_bytes <= SHORT or room < block_bytes or room % block_bytes:
        raise ValueError(f"{room} bytes for blocks of {block_bytes}")
    try:
        with nogil:
            while total % room == 0:
                got = _read_full(file, total, &buffer[0], room)
                if got <= 0:
                    break
                more = <uint8_t*>realloc(digests, DIGEST_BYTES * (num + room // block_bytes))
                if more == NULL:
                    break
                digests = more
                _fill(&buffer[0], got, block_bytes, True, digests + DIGEST_BYTES * num)
                num += _num_long(got, block_bytes)
                total += got
        _check(got)
        if got and more == NULL:
            raise MemoryError
        found = PyBytes_FromStringAndSize(<char*>digests, DIGEST_BYTES * num)
    finally:
        free(digests)
    left = total - num * block_bytes
    return total, found + _short(buffer[got - left : got]) if left > 0 else found
