# cython: language_level=3
"""Deflate data that can be entered between two of its blocks: zlib's ``inflate``, stopped where a block ends.

Python's own ``zlib`` module neither stops at the end of a block nor goes on from one. Nothing here is decided: which places
are worth remembering, and whether they are to be believed, is the business of ``samebits.data.compressed``.
"""

from libc.string cimport memset

cdef extern from "zlib.h" nogil:
    ctypedef struct z_stream:
        unsigned char *next_in  # a pointer to const with newer headers
        unsigned int avail_in
        unsigned char *next_out
        unsigned int avail_out
        const char *msg
        int data_type
        unsigned long adler
    const int Z_OK, Z_STREAM_END, Z_BUF_ERROR, Z_BLOCK
    int inflateInit2(z_stream *, int)
    int inflateReset2(z_stream *, int)
    int inflatePrime(z_stream *, int, int)
    int inflateSetDictionary(z_stream *, const unsigned char *, unsigned int)
    int inflateGetDictionary(z_stream *, unsigned char *, unsigned int *)
    int inflateEnd(z_stream *)
    int inflate(z_stream *, int)
    unsigned long crc32(unsigned long, const unsigned char *, unsigned int)

MORE, BOUNDARY, END, FAILED = range(4)
WINDOW_BYTES = 32768
cdef enum:
    GZIP = 31
    RAW = -15
    AT_BOUNDARY = 128
    IN_LAST_BLOCK = 64
    MOST_STEP = 1 << 30


cdef class Inflater:
    """One gzip member after the other, the first perhaps entered in its middle.

    Attributes:
        used: Bytes that the last step took.
        made: Bytes that it gave.
        spare_bits: After ``BOUNDARY``, bits of the last byte taken that belong to the next block.
        checksum: CRC-32 of the member's content so far.
        reason: After ``FAILED``, what zlib says.
    """

    cdef z_stream stream
    cdef bint is_open, is_raw
    cdef readonly Py_ssize_t used, made
    cdef readonly int spare_bits, status
    cdef readonly unsigned long checksum
    cdef readonly str reason

    def __cinit__(self):
        memset(&self.stream, 0, sizeof(z_stream))
        if inflateInit2(&self.stream, GZIP) != Z_OK:
            raise MemoryError("zlib cannot begin")
        self.is_open = True
        self.reason = ""

    def __dealloc__(self):
        if self.is_open:
            inflateEnd(&self.stream)

    def begin_member(self):
        """Expect the header of a member."""
        inflateReset2(&self.stream, GZIP)
        self.is_raw = False
        self.checksum = 0

    def begin_inside(self, int spare_bits, int last_byte, const unsigned char[::1] window, unsigned long checksum):
        """Expect a block: the last ``spare_bits`` of the byte before are its first, ``window`` is the content before it."""
        inflateReset2(&self.stream, RAW)
        if spare_bits:
            inflatePrime(&self.stream, spare_bits, last_byte >> (8 - spare_bits))
        if len(window):
            inflateSetDictionary(&self.stream, &window[0], <unsigned int>len(window))
        self.is_raw = True
        self.checksum = checksum

    def step(self, const unsigned char[::1] data, Py_ssize_t start, unsigned char[::1] out, Py_ssize_t wanted):
        """Inflate ``data[start:]`` into ``out``; from ``wanted`` bytes on, stop where a block ends.

        Returns ``MORE`` when the data are used up or the room is full, ``BOUNDARY`` between two blocks, ``END`` after the
        member's end (of a raw one: before its trailer), or ``FAILED``.
        """
        cdef z_stream *stream = &self.stream
        cdef unsigned int given = <unsigned int>min(len(data) - start, MOST_STEP)
        cdef unsigned int room = <unsigned int>min(len(out), MOST_STEP)
        cdef int status, event = -1
        cdef unsigned char nothing = 0
        stream.next_in = <unsigned char *>&data[start] if given else &nothing
        stream.avail_in = given
        stream.next_out = &out[0]
        stream.avail_out = room
        with nogil:
            while event < 0:
                status = inflate(stream, Z_BLOCK)
                if status == Z_STREAM_END:
                    event = 2
                elif status != Z_OK and status != Z_BUF_ERROR:
                    event = 3
                elif (
                    stream.data_type & AT_BOUNDARY
                    and not stream.data_type & IN_LAST_BLOCK
                    and room - stream.avail_out >= wanted
                ):
                    event = 1
                elif stream.avail_in == 0 or stream.avail_out == 0 or status == Z_BUF_ERROR:
                    event = 0
            if self.is_raw:
                self.checksum = crc32(self.checksum, &out[0], room - stream.avail_out)
        if not self.is_raw:
            self.checksum = stream.adler
        self.used = given - stream.avail_in
        self.made = room - stream.avail_out
        self.spare_bits = stream.data_type & 7
        if event == 3:
            self.status = status
            self.reason = stream.msg.decode() if stream.msg != NULL else "unknown"
        return event

    def window(self):
        """Return the content before the current place that later blocks may refer to."""
        cdef unsigned int length = 0
        room = bytearray(WINDOW_BYTES)
        cdef unsigned char[::1] view = room
        inflateGetDictionary(&self.stream, &view[0], &length)
        return bytes(view[:length])
