/* What one instruction set offers: a table of functions. The same sources fill one table per instruction set, and no entry of
   one table ever gives other bits than that of another. */
#ifndef SAMEBITS_API_H
#define SAMEBITS_API_H
#include <stdint.h>

typedef int64_t Size;

typedef struct {
    const float* at;
    Size step;  /* floats from one row in memory to the next */
    int turned; /* element (i, j) is at j * step + i */
} Matrix;

typedef struct {
    float clip, keep, new1, old2, new2, step_size, correction, eps;
} AdamW;

typedef struct {
    float clip, rate, inertia, shrink;
    int nesterov;
} Sgd;

typedef struct {
    float clip, fresh, inertia, keep, rate; /* fresh: 1 - momentum; rate: of the direction, shape factor included */
    int nesterov, iterations;
} Muon;

typedef struct {
    const char* name;
    double (*sum_float)(const float* x, Size num);
    double (*sum_double)(const double* x, Size num);
    double (*sum_squares_float)(const float* x, Size num);
    double (*sum_squares_double)(const double* x, Size num);
    Size (*product_work)(Size m, Size k); /* floats of scratch memory */
    void (*product)(const Matrix* a, const Matrix* b, float* c, Size c_step, Size m, Size n, Size k, int mirror, float* work);
    void (*adamw)(float* p, const float* g, float* m, float* v, Size num, const AdamW*);
    void (*sgd)(float* p, const float* g, float* m, Size num, const Sgd*);
    Size (*muon_work)(Size rows, Size cols);
    void (*orthogonalise)(const float* x, float* out, Size rows, Size cols, const float* abc, int num, float* work);
    void (*muon)(float* p, const float* g, float* m, Size rows, Size cols, const Muon*, const float* abc, float* work);
} Kernels;

extern const Kernels kernels_avx512, kernels_avx2, kernels_neon, kernels_scalar;

/* The tables this processor can use, best first; how many there are. */
int usable_kernels(const Kernels** found);
#endif
