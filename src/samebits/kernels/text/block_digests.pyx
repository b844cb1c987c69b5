"""Digests of the blocks of a file, xxh3-128 each, without the GIL: as the package ``xxhash`` computes them, which holds it.

A file is hashed while Python imports, and cells are checked while another thread needs the GIL: 120 MB are 10 ms in which nobody else could
have it, and every read in between would wait for it again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from posix.unistd cimport pread, read

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
    cdef int64_t room = buffer.shape[0], filled = 0, hashed = 0, got = 1
    cdef int failed = 0
    if block_bytes <= SHORT:
        raise ValueError(f"blocks of {block_bytes} bytes")
    digests = PyBytes_FromStringAndSize(NULL, DIGEST_BYTES * (room // block_bytes + 1))
    cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(digests)
    with nogil:
        while filled < room:
            got = pread(file, &buffer[filled], min(room, hashed + block_bytes) - filled, start + filled)
            if got < 0 and errno == EINTR:
                continue
            if got <= 0:
                failed = errno if got < 0 else 0
                break
            filled += got
            if filled - hashed == block_bytes:
                samebits_xxh3(&buffer[hashed], block_bytes, True, out + hashed // block_bytes * DIGEST_BYTES)
                hashed = filled
    if failed:
        import os

        raise OSError(failed, os.strerror(failed))
    found = digests[: hashed // block_bytes * DIGEST_BYTES]
    return filled, found + block_digests(buffer[hashed:filled], block_bytes) if filled > hashed else found


def file_digests(int file, int64_t block_bytes, uint8_t[::1] buffer):
    """Read a file from where it stands to its end; return its size and the digests of its blocks.

    ``buffer`` has room for whole blocks.

    Raises:
        OSError: if it cannot be read.
    """
    cdef int64_t room = buffer.shape[0], filled = 0, total = 0, num = 0, got = 1
    cdef uint8_t* digests = NULL
    cdef uint8_t* more
    cdef int failed = 0
    if block_bytes <= SHORT or room < block_bytes or room % block_bytes:
        raise ValueError(f"{room} bytes for blocks of {block_bytes}")
    try:
        with nogil:
            while got > 0 and not failed:
                filled = 0
                while filled < room:
                    got = read(file, &buffer[filled], room - filled)
                    if got < 0 and errno == EINTR:
                        continue
                    if got <= 0:
                        failed = errno if got < 0 else 0
                        break
                    filled += got
                if failed:
                    break
                more = <uint8_t*>realloc(digests, DIGEST_BYTES * (num + room // block_bytes))
                if more == NULL:
                    failed = -1
                    break
                digests = more
                _fill(&buffer[0], filled, block_bytes, True, digests + DIGEST_BYTES * num)
                num += _num_long(filled, block_bytes)
                total += filled
        if failed == -1:
            raise MemoryError
        if failed:
            import os

            raise OSError(failed, os.strerror(failed))
        found = PyBytes_FromStringAndSize(<char*>digests, DIGEST_BYTES * num)
    finally:
        free(digests)
    left = total - num * block_bytes
    return total, found + _short(buffer[filled - left : filled]) if left > 0 else found
