/* Memory for large tables. */
#pragma once
#include <stddef.h>
#include <sys/mman.h>

/* Zeros that are looked up all over, in large pages where there are any. */
static inline void* spread_zeros(size_t size) {
    void* p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

static inline void free_zeros(void* p, size_t size) {
    if (p) munmap(p, size);
}
