/* The peak of one core, for benchmarks/arithmetic_peak.py: chains of fused multiply-adds that never leave the registers.
   Compiled once per instruction set; prints GFLOP/s of CPU time. */
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

#ifdef __AVX512F__
typedef __m512 V;
#define FMA _mm512_fmadd_ps
#define SET _mm512_set1_ps
enum { LANES = 16 };
#else
typedef __m256 V;
#define FMA _mm256_fmadd_ps
#define SET _mm256_set1_ps
enum { LANES = 8 };
#endif
enum { CHAINS = 12, ROUNDS = 20000000 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
    V sums[CHAINS], a = SET(0.999f), b = SET(0.001f);
    for (int i = 0; i < CHAINS; i++) sums[i] = SET((float)i);
    const double started = seconds();
    for (long n = 0; n < ROUNDS; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sums[i] = FMA(sums[i], a, b);
    }
    const double took = seconds() - started;
    float kept[LANES], used = 0;
    for (int i = 0; i < CHAINS; i++) __builtin_memcpy(kept, &sums[i], sizeof kept), used += kept[0];
    printf("%.3f\n", used < 0 ? 0 : 2.0 * CHAINS * LANES * ROUNDS / took / 1e9);
    return 0;
}
