/* Norms of the stream and of heads, and the rotation of queries and keys. A lane is a token, so every sum runs down the rows.

   Sums over features are four chains, element f in chain f % 4, added as (0 + 1) + (2 + 3): one chain would wait for the adder.
   Sums over a head are one chain. */
#ifndef SAMEBITS_NORMS_H
#define SAMEBITS_NORMS_H
#include "panels.h"

#define LAYER 1   /* flag of a norm: subtract the mean, multiply by weights */
#define HEAD_NORM 1 /* flags of the heads */
#define ROTATED 2
#define FOUR(s) vadd(vadd(s[0], s[1]), vadd(s[2], s[3]))
#define EACH_FEATURE(f) for (Size f = 0; f < rows; f++)

/* saved: scale of each token, and for LAYER its mean behind it. */
static void norm_forward(const Op* o, Size p) {
    const Size rows = o->rows;
    const float *x = o->x + p * rows * PANEL, *weight = o->weight;
    float *out = o->out + p * rows * PANEL, *scale = o->saved + p * 2 * PANEL, *means = scale + PANEL;
    const int layer = o->flags & LAYER;
    const V part = vset(1.0f / (float)rows), eps = vset((float)o->number), zero = vset(0.0f);
    EACH_LANE(l) {
        V mean = zero, sums[4] = {zero, zero, zero, zero};
        Size f = 0;
        if (layer) {
            for (; f + 4 <= rows; f += 4)
                for (int i = 0; i < 4; i++) sums[i] = vadd(sums[i], vload(x + (f + i) * PANEL + l));
            for (int i = 0; f < rows; f++, i++) sums[i] = vadd(sums[i], vload(x + f * PANEL + l));
            mean = vmul(FOUR(sums), part);
            for (int i = 0; i < 4; i++) sums[i] = zero;
        }
        for (f = 0; f + 4 <= rows; f += 4)
            for (int i = 0; i < 4; i++) {
                const V v = vsub(vload(x + (f + i) * PANEL + l), mean);
                sums[i] = vfma(v, v, sums[i]);
            }
        for (int i = 0; f < rows; f++, i++) {
            const V v = vsub(vload(x + f * PANEL + l), mean);
            sums[i] = vfma(v, v, sums[i]);
        }
        const V factor = vdiv(vset(1.0f), vsqrt(vfma(FOUR(sums), part, eps)));
        vstore(scale + l, factor), vstore(means + l, mean);
        if (layer) {
            EACH_FEATURE(j) {
                const V v = vmul(vsub(vload(x + j * PANEL + l), mean), factor);
                vstore(out + j * PANEL + l, vmul(v, vset(weight[j])));
            }
        } else
            EACH_FEATURE(j) vstore(out + j * PANEL + l, vmul(vload(x + j * PANEL + l), factor));
    }
}

/* x_grad = around + the gradient through the norm; `flipped` gathers the gradient of the weights, token by token. */
static void norm_backward(const Op* o, Size p, const float* grad, const float* around, float* into) {
    const Size rows = o->rows;
    const float *x = o->x + p * rows * PANEL, *out = o->out + p * rows * PANEL, *weight = o->weight;
    const float *scale = o->saved + p * 2 * PANEL, *means = scale + PANEL;
    float* lanes = o->flipped;
    const int layer = o->flags & LAYER;
    const V part = vset(1.0f / (float)rows), zero = vset(0.0f);
    EACH_LANE(l) {
        V sums[4] = {zero, zero, zero, zero}, levels[4] = {zero, zero, zero, zero};
        const V factor = vload(scale + l), mean = vload(means + l);
#define NORMED(f) (layer ? vmul(vsub(vload(x + (f) * PANEL + l), mean), factor) : vload(out + (f) * PANEL + l))
#define ONE(f, i)                                                                   \
    {                                                                               \
        const V y = NORMED(f);                                                      \
        V g = vload(grad + (f) * PANEL + l);                                        \
        if (layer) {                                                                \
            vstore(lanes + (f) * PANEL + l, vfma(g, y, vload(lanes + (f) * PANEL + l))); \
            g = vmul(g, vset(weight[f]));                                           \
            levels[i] = vadd(levels[i], g);                                         \
        }                                                                           \
        sums[i] = vfma(g, y, sums[i]);                                              \
    }
        Size f = 0;
        for (; f + 4 <= rows; f += 4) {
            ONE(f, 0) ONE(f + 1, 1) ONE(f + 2, 2) ONE(f + 3, 3)
        }
        for (int i = 0; f < rows; f++, i++) ONE(f, i)
        const V along = vmul(FOUR(sums), part), level = vmul(FOUR(levels), part);
        EACH_FEATURE(j) {
            V g = vload(grad + j * PANEL + l);
            if (layer) g = vsub(vmul(g, vset(weight[j])), level);
            const V v = vsub(g, vmul(NORMED(j), along));
            vstore(into + j * PANEL + l, around ? vfma(v, factor, vload(around + j * PANEL + l)) : vmul(v, factor));
        }
#undef ONE
#undef NORMED
    }
}

/* Lanes are summed from first to last. */
static void sum_lanes(const float* lanes, Size rows, float* into) {
    for (Size f = 0; f < rows; f++) {
        float sum = 0;
        for (int l = 0; l < PANEL; l++) sum += lanes[f * PANEL + l];
        into[f] = sum;
    }
}

/* Norm and rotation of queries and keys, in place; queries also take attention's factor, 1 / sqrt(size).
   x: [3 dim rows], first queries, then keys, then values. `position` is that of the first lane. */
static void heads_forward(const Op* o, Size p, Size position) {
    const Size dim = o->rows / 3, size = dim / o->heads, half = size / 2;
    float *qkv = o->x + p * o->rows * PANEL, *scale = o->saved + p * 2 * o->heads * PANEL;
    const float root = 1.0f / __builtin_sqrtf((float)size);
    if (!o->flags) { /* only the factor */
        for (Size i = 0; i < dim * PANEL; i += VL) vstore(qkv + i, vmul(vload(qkv + i), vset(root)));
        return;
    }
    for (Size h = 0; h < 2 * o->heads; h++, qkv += size * PANEL, scale += PANEL)
        EACH_LANE(l) {
            V factor = vset(1.0f);
            if (o->flags & HEAD_NORM) {
                V sum = vset(0.0f);
                for (Size j = 0; j < size; j++) {
                    const V v = vload(qkv + j * PANEL + l);
                    sum = vfma(v, v, sum);
                }
                factor = vdiv(vset(1.0f), vsqrt(vfma(sum, vset(1.0f / (float)size), vset((float)o->number))));
            }
            vstore(scale + l, factor);
            if (h < o->heads) factor = vmul(factor, vset(root));
            if (!(o->flags & ROTATED)) {
                for (Size j = 0; j < size; j++) vstore(qkv + j * PANEL + l, vmul(vload(qkv + j * PANEL + l), factor));
                continue;
            }
            for (Size j = 0; j < half; j++) {
                float *a_at = qkv + j * PANEL + l, *b_at = a_at + half * PANEL;
                const V a = vmul(vload(a_at), factor), b = vmul(vload(b_at), factor);
                const V c = vload(o->cosines + j * o->table + position + l), s = vload(o->sines + j * o->table + position + l);
                vstore(a_at, vsub(vmul(a, c), vmul(b, s)));
                vstore(b_at, vfma(b, c, vmul(a, s)));
            }
        }
}

/* The gradient of what heads_forward took, in place of that of what it made. The sum along a head is the same before and
   after the rotation, so it is taken after it. */
static void heads_backward(const Op* o, Size p, float* grad, Size position) {
    const Size dim = o->rows / 3, size = dim / o->heads, half = size / 2;
    const float *qkv = o->x + p * o->rows * PANEL, *scale = o->saved + p * 2 * o->heads * PANEL;
    const float root = 1.0f / __builtin_sqrtf((float)size);
    if (!o->flags) {
        for (Size i = 0; i < dim * PANEL; i += VL) vstore(grad + i, vmul(vload(grad + i), vset(root)));
        return;
    }
    for (Size h = 0; h < 2 * o->heads; h++, grad += size * PANEL, qkv += size * PANEL, scale += PANEL)
        EACH_LANE(l) {
            const float r = h < o->heads ? root : 1.0f;
            const V one = vload(scale + l), own = vmul(one, vset(r));
            V along = vset(0.0f);
            if (o->flags & HEAD_NORM) {
                V sum = vset(0.0f);
                for (Size j = 0; j < size; j++) sum = vfma(vload(grad + j * PANEL + l), vload(qkv + j * PANEL + l), sum);
                along = vmul(vmul(sum, vset(1.0f / (float)size / r)), one);
            }
            if (!(o->flags & ROTATED)) {
                for (Size j = 0; j < size; j++) {
                    const Size at = j * PANEL + l;
                    vstore(grad + at, vsub(vmul(vload(grad + at), own), vmul(vload(qkv + at), along)));
                }
                continue;
            }
            for (Size j = 0; j < half; j++) {
                float *a_at = grad + j * PANEL + l, *b_at = a_at + half * PANEL;
                const float *y = qkv + j * PANEL + l, *z = y + half * PANEL;
                const V a = vsub(vmul(vload(a_at), own), vmul(vload(y), along));
                const V b = vsub(vmul(vload(b_at), own), vmul(vload(z), along));
                const V c = vload(o->cosines + j * o->table + position + l), s = vload(o->sines + j * o->table + position + l);
                vstore(a_at, vfma(a, c, vmul(b, s)));
                vstore(b_at, vsub(vmul(b, c), vmul(a, s)));
            }
        }
}
#endif
