/* Runs a model that a test wrote to a file, once per instruction set that this build and processor have, and prints a digest
   of loss and gradients for each, and one of products, updates and functions of numbers that the test makes too. No Python and no library but the C one: for other compilers and for emulated processors.

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
#include "scalar_math.h"

static uint64_t digest(const unsigned char* bytes, size_t num, uint64_t hash) {
    for (size_t i = 0; i < num; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

#define NUM 900
static float number(int64_t i, int64_t salt) { /* as selftest.numbers */
    const uint64_t mixed = ((uint64_t)i + 977u * (uint64_t)salt) * 0x9e3779b97f4a7c15u;
    return ((float)(mixed >> 40) - 8388608.0f) * 0x1p-23f;
}

static uint64_t other_kernels(const Kernels* k) {
    static float a[NUM], b[NUM], c[NUM], v[NUM], out[NUM], work[200000];
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < NUM; i++) a[i] = number(i, 0), b[i] = number(i, 1), c[i] = number(i, 2), v[i] = a[i] < 0 ? -a[i] : a[i];
    const Matrix left = {a, 30, 0}, right = {b, 30, 1};
    k->product(&left, &right, out, 30, 30, 30, 30, 0, work);
    hash = digest((unsigned char*)out, sizeof out, hash);
    const AdamW adamw = {0.5f, 0.75f, 0.25f, 0.875f, 0.125f, 0.0625f, (float)__builtin_sqrt(0.125), 0x1p-20f};
    k->adamw(a, b, c, v, NUM, &adamw);
    const Sgd sgd = {0.5f, 0.25f, 0.875f, 0.125f, 1};
    k->sgd(b, c, v, NUM, &sgd);
    const float abc[9] = {3.5f, -4.75f, 2.0f, 3.5f, -4.75f, 2.0f, 3.5f, -4.75f, 2.0f};
    const int64_t shapes[3][2] = {{30, 30}, {60, 15}, {25, 36}};
    for (int i = 0; i < 3; i++) {
        k->orthogonalise(a, out, shapes[i][0], shapes[i][1], abc, 3, work);
        hash = digest((unsigned char*)out, sizeof out, hash);
    }
    hash = digest((unsigned char*)a, sizeof a, hash);
    hash = digest((unsigned char*)b, sizeof b, hash);
    for (int i = 0; i < 200; i++) {
        const double x = number(i, 0), positive = x < 0 ? -x : x;
        const double found[7] = {exp_of(40 * x), log_of(positive + 0x1p-30), sin_of(50 * x), cos_of(50 * x), tanh_of(3 * x), erf_of(4 * x),
                                 pow_of(positive + 0.5, x)};
        hash = digest((unsigned char*)found, sizeof found, hash);
    }
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
        const uint64_t others = other_kernels(usable[k]);
        leave_ieee(mode);
        uint64_t hash = digest((unsigned char*)&s.loss, 8, 0xcbf29ce484222325u);
        hash = digest(memory + head[2], (size_t)head[3], hash);
        printf("%s %016llx-%016llx\n", usable[k]->name, (unsigned long long)hash, (unsigned long long)others);
    }
    return 0;
}
