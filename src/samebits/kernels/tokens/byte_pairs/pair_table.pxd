"""What ``pair_table.h`` has, under the names of the kernels."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "pair_table.h" nogil:
    ctypedef struct Slot "samebits_slot":
        uint64_t first
        uint64_t second
        uint16_t tag
        uint16_t num_ids
        uint32_t* ids
    ctypedef struct Table "samebits_pair_table":
        int64_t mask
        int shift
        Slot* slots
    ctypedef struct Key "samebits_key":
        uint64_t first
        uint64_t second
        const Slot* home
        int64_t size

    enum:
        IN_PLACE "SAMEBITS_IN_PLACE"
        IDS_IN_PLACE "SAMEBITS_IDS_IN_PLACE"
        ELSEWHERE "SAMEBITS_ELSEWHERE"
    uint16_t seen_tag "samebits_seen"(const uint16_t* place)
    Table* seen_table "samebits_seen"(Table** place)
    void show_tag "samebits_show"(uint16_t* place, uint16_t value)
    void show_table "samebits_show"(Table** place, Table* value)
    Slot* home_of "samebits_home"(const Table* table, uint64_t first, uint64_t second)
    Slot* next_slot "samebits_next"(const Table* table, const Slot* slot)
    const uint32_t* ids_of "samebits_ids_of"(const Slot* slot)
    void set_key "samebits_set_key"(Key* key, const Table* table, const uint8_t* text, int64_t size, int readable)
    void set_long_key "samebits_set_long_key"(Key* key, const Table* table, const uint8_t* text, int64_t size)
