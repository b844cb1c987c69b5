/* Updates of parameters: AdamW and SGD element by element, Muon a whole matrix at a time; and sums over an array.

   Loops are plain C: every operation is rounded on its own (no contraction), so a compiler may do any number of elements at
   once without changing a bit. */
#ifndef SAMEBITS_UPDATES_H
#define SAMEBITS_UPDATES_H
#include "matrix.h"

/* Element i goes to running sum i % 8, in double; the eight are added from first to last. */
#define RUNNING 8
#define SUM_BY(name, type, value)                                  \
    static double name(const type* x, Size num) {                  \
        double sums[RUNNING] = {0}, total = 0.0;                   \
        Size i = 0;                                                \
        for (; i + RUNNING <= num; i += RUNNING)                   \
            for (int j = 0; j < RUNNING; j++) {                    \
                const double v = (double)x[i + j];                 \
                sums[j] += value;                                  \
            }                                                      \
        for (int j = 0; i + j < num; j++) {                        \
            const double v = (double)x[i + j];                     \
            sums[j] += value;                                      \
        }                                                          \
        for (int j = 0; j < RUNNING; j++) total += sums[j];        \
        return total;                                              \
    }
SUM_BY(sum_float, float, v)
SUM_BY(sum_double, double, v)
SUM_BY(sum_squares_float, float, v* v)
SUM_BY(sum_squares_double, double, v* v)

static void adamw(float* restrict p, const float* restrict g, float* restrict m, float* restrict v, Size num, const AdamW* s) {
    const AdamW c = *s;
    for (Size i = 0; i < num; i++) {
        const float grad = g[i] * c.clip, first = m[i] + c.new1 * (grad - m[i]), second = c.old2 * v[i] + c.new2 * grad * grad;
        m[i] = first;
        v[i] = second;
        p[i] = p[i] * c.keep - c.step_size * first / (__builtin_sqrtf(second) / c.correction + c.eps);
    }
}

static void sgd(float* restrict p, const float* restrict g, float* restrict m, Size num, const Sgd* s) {
    const Sgd c = *s;
    for (Size i = 0; i < num; i++) {
        const float grad = g[i] * c.clip + c.shrink * p[i], first = c.inertia * m[i] + grad;
        m[i] = first;
        p[i] = p[i] - c.rate * (c.nesterov ? grad + c.inertia * first : first);
    }
}

#define MUON_MARGIN 1.01 /* the polynomials are steep at the end of their interval: rounding must not pass it */
#define MUON_TINY 1e-15  /* a gradient of zero stays zero: its square must not leave the range of float */

/* Floats of scratch memory for a matrix: the direction, its copy, three Gram matrices, the product's own. */
static Size muon_work(Size rows, Size cols) {
    const Size r = rows < cols ? rows : cols, c = rows < cols ? cols : rows;
    return 4 * (r * c + 16) + 5 * (r * r + 16) + product_work(c, r) + product_work(r, c);
}

static float* take(float** at, Size num) {
    float* found = *at;
    *at += (num + 15) / 16 * 16;
    return found;
}

/* x = x * scale times the polynomials in x x^T, row after row of (a, b, c): a + b G + c G G. */
static void muon_on_matrix(float* x, float* gram, Size r, Size c, const float* abc, int num, float* work) {
    float *inner = take(&work, r * r), *moved = take(&work, r * c);
    const Matrix wide = {x, c, 0}, turned = {x, c, 1}, g = {gram, r, 0}, in = {inner, r, 0};
    for (int n = 0; n < num; n++, abc += 3) {
        if (n) product(&wide, &turned, gram, r, r, r, c, 1, work);
        product(&g, &g, inner, r, r, r, r, 1, work);
        for (Size i = 0; i < r * r; i++) inner[i] = inner[i] * abc[2] + gram[i] * abc[1];
        product(&in, &wide, moved, c, r, c, r, 0, work);
        for (Size i = 0; i < r * c; i++) x[i] = x[i] * abc[0] + moved[i];
    }
}

/* For long matrices: the product of the polynomials alone (they all commute with G), which the caller multiplies by. */
static float* muon_on_gram(float* gram, Size r, const float* abc, int num, float* work) {
    float *factor = take(&work, r * r), *all = take(&work, r * r), *spare = take(&work, r * r);
    const Matrix g = {gram, r, 0}, f = {factor, r, 0}, s = {spare, r, 0};
    for (int n = 0; n < num; n++, abc += 3) {
        product(&g, &g, factor, r, r, r, r, 1, work);
        for (Size i = 0; i < r * r; i++) factor[i] = factor[i] * abc[2] + gram[i] * abc[1];
        for (Size i = 0; i < r; i++) factor[i * r + i] += abc[0];
        if (n == 0)
            memcpy(all, factor, (size_t)(r * r) * sizeof(float));
        else {
            const Matrix before = {all, r, 0};
            product(&f, &before, spare, r, r, r, r, 0, work);
            memcpy(all, spare, (size_t)(r * r) * sizeof(float));
        }
        if (n + 1 < num) {
            product(&f, &g, spare, r, r, r, r, 0, work);
            product(&s, &f, gram, r, r, r, r, 1, work); /* symmetric but for rounding: the lower half counts */
        }
    }
    return all;
}

/* out = x with all singular values brought near 1. Both rows x cols, row after row; `abc` three numbers an iteration. */
static void orthogonalise(const float* x, float* out, Size rows, Size cols, const float* abc, int num, float* work) {
    const int tall = rows > cols;
    const Size r = tall ? cols : rows, c = tall ? rows : cols;
    float *gram = take(&work, r * r), *copy = take(&work, r * c);
    const Matrix wide = {x, cols, tall}, turned = {x, cols, !tall};
    product(&wide, &turned, gram, r, r, r, c, 1, work);
    const double norm = __builtin_sqrt(sum_squares_float(gram, r * r));
    const double bound = MUON_MARGIN * __builtin_sqrt(norm) + MUON_TINY;
    const float square = (float)(1.0 / (bound * bound)), scale = (float)(1.0 / bound);
    for (Size i = 0; i < r * r; i++) gram[i] *= square;
    if (c >= 2 * r) {
        float* all = muon_on_gram(gram, r, abc, num, work);
        for (Size i = 0; i < r * r; i++) all[i] *= scale;
        const Matrix by = {all, r, tall}, plain = {x, cols, 0};
        float* rest = work + 4 * (r * r + 16);
        if (tall)
            product(&plain, &by, out, cols, rows, cols, r, 0, rest);
        else
            product(&by, &plain, out, cols, rows, cols, r, 0, rest);
        return;
    }
    for (Size i = 0; i < r; i++)
        for (Size j = 0; j < c; j++) copy[i * c + j] = (tall ? x[j * cols + i] : x[i * cols + j]) * scale;
    muon_on_matrix(copy, gram, r, c, abc, num, work);
    for (Size i = 0; i < rows; i++)
        for (Size j = 0; j < cols; j++) out[i * cols + j] = tall ? copy[j * c + i] : copy[i * c + j];
}

static void muon(float* p, const float* g, float* m, Size rows, Size cols, const Muon* s, const float* abc, float* work) {
    const Muon c = *s;
    const Size num = rows * cols;
    float *start = take(&work, num), *direction = take(&work, num);
    for (Size i = 0; i < num; i++) {
        const float grad = g[i] * c.clip, first = m[i] + c.fresh * (grad - m[i]);
        m[i] = first;
        start[i] = c.nesterov ? grad + c.inertia * (first - grad) : first;
    }
    orthogonalise(start, direction, rows, cols, abc, c.iterations, work);
    for (Size i = 0; i < num; i++) p[i] = p[i] * c.keep - c.rate * direction[i];
}
#endif
