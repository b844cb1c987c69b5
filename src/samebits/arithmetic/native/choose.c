/* Which tables this processor can use. */
#include "api.h"

int usable_kernels(const Kernels** found) {
    int num = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl"))
            found[num++] = &kernels_avx512;
        found[num++] = &kernels_avx2;
    }
#elif defined(__aarch64__)
    found[num++] = &kernels_neon;
#endif
    found[num++] = &kernels_scalar;
    return num;
}
