/* The table of a memory of pre-tokens, read by many threads while one of them writes; the rules are in pair_memory.pyx. */
#ifndef SAMEBITS_PAIR_TABLE_H
#define SAMEBITS_PAIR_TABLE_H

#include <stdint.h>
#include <string.h>

#define SAMEBITS_IN_PLACE 16    /* bytes of a key that needs no chunk */
#define SAMEBITS_IDS_IN_PLACE 3
#define SAMEBITS_ELSEWHERE 0x8000 /* in a tag: ids or key have no room in the entry */

/* Half a cache line. The tag is the size of the pre-token, 0 for a free place, and is written last. Ids that have no room lie where
 * the address in the last two says, and a copy of the pre-token after them. */
typedef struct {
    uint64_t first, second;
    uint16_t tag, num_ids;
    uint32_t ids[SAMEBITS_IDS_IN_PLACE];
} samebits_slot;

typedef struct {
    int64_t mask;
    int shift; /* of a hash, so that what is left is a place in the table */
    samebits_slot *slots;
} samebits_pair_table;

/* A pre-token of up to 16 bytes is its own key; of a longer one there are hashes in its place. */
typedef struct {
    uint64_t first, second;
    const samebits_slot *home; /* where the search for it begins */
    int64_t size;
} samebits_key;

#define samebits_seen(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define samebits_show(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)

#define SAMEBITS_PRIME UINT64_C(0x9E3779B97F4A7C15)
#define SAMEBITS_OTHER_PRIME UINT64_C(0xC2B2AE3D27D4EB4F)

static inline samebits_slot *samebits_home(const samebits_pair_table *table, uint64_t first, uint64_t second) {
    const uint64_t hash = (first ^ (second * SAMEBITS_OTHER_PRIME)) * SAMEBITS_PRIME;
    return &table->slots[((hash ^ (hash >> 32)) * SAMEBITS_PRIME) >> table->shift];
}

static inline samebits_slot *samebits_next(const samebits_pair_table *table, const samebits_slot *slot) {
    return &table->slots[(slot - table->slots + 1) & table->mask];
}

static inline const uint32_t *samebits_ids_of(const samebits_slot *slot) {
    const uint32_t *ids;
    if (!(slot->tag & SAMEBITS_ELSEWHERE)) return slot->ids;
    memcpy(&ids, &slot->ids[1], sizeof ids);
    return ids;
}

/* Ones for the first bytes of sixteen, as many as are wanted, from the address of the first one on. */
static const uint8_t samebits_ones[2 * SAMEBITS_IN_PLACE] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                             255, 255, 255, 255, 255, 255, 255, 255};

/* Make the key of a pre-token of up to 16 bytes; `readable`: that many can be read at `text`. */
static inline void samebits_set_key(samebits_key *key, const samebits_pair_table *table, const uint8_t *text, int64_t size,
                                    int readable) {
    uint64_t both[2] = {0, 0}, kept[2];
    if (readable) {
        memcpy(both, text, sizeof both);
        memcpy(kept, samebits_ones + SAMEBITS_IN_PLACE - size, sizeof kept);
        both[0] &= kept[0];
        both[1] &= kept[1];
    } else {
        memcpy(both, text, (size_t)size);
    }
    key->first = both[0];
    key->second = both[1];
    key->size = size;
    key->home = samebits_home(table, both[0], both[1]);
}

/* The same for a longer one. */
static inline void samebits_set_long_key(samebits_key *key, const samebits_pair_table *table, const uint8_t *text, int64_t size) {
    uint64_t first = (uint64_t)size, second, piece;
    for (int64_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&piece, text + i, sizeof piece);
        first = (first ^ piece) * SAMEBITS_PRIME;
        first ^= first >> 29;
    }
    memcpy(&second, text + size - 8, sizeof second);
    key->first = first;
    key->second = second;
    key->size = size;
    key->home = samebits_home(table, first, second);
}

#endif
