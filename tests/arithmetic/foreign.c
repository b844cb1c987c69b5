/* Runs a model that a test wrote to a file, once per instruction set that this build and processor have, and prints a digest
   of loss and gradients for each. No Python and no library but the C one: for other compilers and for emulated processors.

   File: 8 words of 8 bytes (operations, bytes of memory, places of the gradients: start, bytes; place of the shard's ids and
   targets, windows, block), then 2 more (chunk, place of the scratch memory), the operations with places instead of pointers
   (place + 1; 0 is none), and the memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#ifdef FLUSH /* as a library with -ffast-math leaves the thread */
#include <xmmintrin.h>
#endif
#include "ieee.h"

static uint64_t digest(const unsigned char* bytes, size_t num, uint64_t hash) {
    for (size_t i = 0; i < num; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

int main(int argc, char** argv) {
    FILE* file = argc > 1 ? fopen(argv[1], "rb") : 0;
    int64_t head[10];
    if (!file || fread(head, 8, 10, file) != 10) return 1;
    const size_t num = (size_t)head[0], size = (size_t)head[1];
    Op* ops = malloc(num * sizeof(Op));
    unsigned char *memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096), *fresh = malloc(size);
    if (fread(ops, sizeof(Op), num, file) != num || fread(fresh, 1, size, file) != size) return 1;
    for (size_t i = 0; i < num; i++) {
        float** const groups[2] = {&ops[i].x, &ops[i].weight};
        const int counts[2] = {9, 11};
        for (int g = 0; g < 2; g++)
            for (int n = 0; n < counts[g]; n++) {
                int64_t place;
                memcpy(&place, groups[g] + n, 8);
                groups[g][n] = place ? (float*)(memory + place - 1) : 0;
            }
    }
    const Kernels* usable[4];
    const int kinds = usable_kernels(usable);
    for (int k = 0; k < kinds; k++) {
        memcpy(memory, fresh, size);
        const int64_t tokens = head[6] * head[7];
        Shard s = {.ids = (int64_t*)(memory + head[4]), .targets = (int64_t*)(memory + head[4]) + tokens, .windows = head[6],
                   .block = head[7], .chunk = head[8], .start = 0, .work = (float*)(memory + head[9]), .key = head[5]};
#ifdef FLUSH
        _mm_setcsr(0x9fc0);
#endif
        const FloatMode mode = enter_ieee();
        usable[k]->pack_weights(ops, (Size)num);
        usable[k]->run(ops, (Size)num, &s, GRADIENT);
        leave_ieee(mode);
        uint64_t hash = digest((unsigned char*)&s.loss, 8, 0xcbf29ce484222325u);
        printf("%s %016llx\n", usable[k]->name, (unsigned long long)digest(memory + head[2], (size_t)head[3], hash));
    }
    return 0;
}
