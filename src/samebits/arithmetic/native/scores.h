/* Scores of pairs of positions, softmax losses over some of the rows, and the expected edits of a predicted graph. A lane is a
   sequence: pairs, sums and choices never leave it. */
#ifndef SAMEBITS_SCORES_H
#define SAMEBITS_SCORES_H
#include "sequences.h"

#define ABREAST 4

/* out[i][j][lane] = sum over k of a[i][k][lane] * b[j][k][lane], one ascending chain each. */
static void pair_scores(const float* a, Size n, const float* b, Size m, Size num_k, float* out) {
    for (Size i = 0; i < n; i++)
        for (Size j0 = 0; j0 < m; j0 += ABREAST) {
            const Size wide = m - j0 < ABREAST ? m - j0 : ABREAST;
            EACH_LANE(l) {
                V sums[ABREAST] = {vset(0.0f), vset(0.0f), vset(0.0f), vset(0.0f)};
                const float *x = a + i * num_k * PANEL + l, *y = b + j0 * num_k * PANEL + l;
                if (wide == ABREAST)
                    for (Size k = 0; k < num_k * PANEL; k += PANEL)
                        for (int s = 0; s < ABREAST; s++) sums[s] = vfma(vload(x + k), vload(y + s * num_k * PANEL + k), sums[s]);
                else
                    for (Size k = 0; k < num_k * PANEL; k += PANEL)
                        for (Size s = 0; s < wide; s++) sums[s] = vfma(vload(x + k), vload(y + s * num_k * PANEL + k), sums[s]);
                for (Size s = 0; s < wide; s++) vstore(out + (i * m + j0 + s) * PANEL + l, sums[s]);
            }
        }
}

/* into[i][k][lane] += sum over j of scores(i, j) * b[j][k][lane], ascending j, going on from what is there. Scores are
   `row_step` floats apart for i and `column_step` for j, so that both sides use this. */
static void pair_gradient(const float* scores, Size row_step, Size column_step, Size n, const float* b, Size m, Size num_k, float* into) {
    for (Size i = 0; i < n; i++)
        for (Size k0 = 0; k0 < num_k; k0 += ABREAST) {
            const Size wide = num_k - k0 < ABREAST ? num_k - k0 : ABREAST;
            EACH_LANE(l) {
                V sums[ABREAST];
                float* to = into + (i * num_k + k0) * PANEL + l;
                const float *s = scores + i * row_step + l, *y = b + k0 * PANEL + l;
                for (Size c = 0; c < wide; c++) sums[c] = vload(to + c * PANEL);
                if (wide == ABREAST)
                    for (Size j = 0; j < m; j++) {
                        const V g = vload(s + j * column_step);
                        for (int c = 0; c < ABREAST; c++) sums[c] = vfma(g, vload(y + j * num_k * PANEL + c * PANEL), sums[c]);
                    }
                else
                    for (Size j = 0; j < m; j++) {
                        const V g = vload(s + j * column_step);
                        for (Size c = 0; c < wide; c++) sums[c] = vfma(g, vload(y + j * num_k * PANEL + c * PANEL), sums[c]);
                    }
                for (Size c = 0; c < wide; c++) vstore(to + c * PANEL, sums[c]);
            }
        }
}

/* e^(z - top) of the rows that count (below the lane's limit, not row `skip`) in place of the logits, 0 elsewhere. */
INLINE void soften(float* logits, Size rows, const float* limits, Size skip, float* most, float* sums) {
    EACH_LANE(l) {
        const V ends = vload(limits + l), low = vset(-3.0e38f), zero = vset(0.0f);
        V top = low, sum = zero;
        for (Size j = 0; j < rows; j++)
            if (j != skip) top = vmax(vless(vset((float)j), ends, vload(logits + j * PANEL + l), low), top);
        for (Size j = 0; j < rows; j++) {
            V e = zero;
            if (j != skip) e = vless(vset((float)j), ends, vexp(vsub(vload(logits + j * PANEL + l), top)), zero);
            vstore(logits + j * PANEL + l, e);
            sum = vadd(sum, e);
        }
        vstore(most + l, top), vstore(sums + l, sum);
    }
}

/* Logits of a panel become the gradient of its loss: weight * share * (softmax - expected); lanes of weight 0 have none.
   Returns the sum of weight * loss over the lanes, in double, from first to last. With smoothing s, what is expected is 1 - s
   at the target and s over the number of rows that count at each of them. */
static double choice_loss(float* logits, Size rows, const float* limits, Size skip, const int64_t* targets, const float* weights,
                          float share, float smoothing) {
    float most[PANEL], sums[PANEL], picked[PANEL], levels[PANEL] = {0}, factors[PANEL], parts[PANEL];
    double loss = 0;
    for (int l = 0; l < PANEL; l++) picked[l] = weights[l] != 0.0f ? logits[targets[l] * PANEL + l] : 0.0f;
    if (smoothing != 0.0f) EACH_LANE(l) {
            V sum = vset(0.0f);
            for (Size j = 0; j < rows; j++)
                if (j != skip) sum = vadd(sum, vless(vset((float)j), vload(limits + l), vload(logits + j * PANEL + l), vset(0.0f)));
            vstore(levels + l, sum);
        }
    soften(logits, rows, limits, skip, most, sums);
    for (int l = 0; l < PANEL; l++) {
        const int counts = weights[l] != 0.0f;
        const double there = counts ? (double)limits[l] - (skip >= 0 && (float)skip < limits[l] ? 1.0 : 0.0) : 1.0, s = (double)smoothing;
        if (counts) {
            const double expected = (1.0 - s) * (double)picked[l] + s * ((double)levels[l] / there);
            loss += (double)weights[l] * (log_of((double)sums[l]) + ((double)most[l] - expected));
        }
        factors[l] = counts ? weights[l] * share / sums[l] : 0.0f;
        parts[l] = counts ? weights[l] * share * (float)(s / there) : 0.0f;
    }
    for (Size j = 0; j < rows; j++)
        EACH_LANE(l) {
            V v = vmul(vload(logits + j * PANEL + l), vload(factors + l));
            if (smoothing != 0.0f && j != skip) v = vsub(v, vless(vset((float)j), vload(limits + l), vload(parts + l), vset(0.0f)));
            vstore(logits + j * PANEL + l, v);
        }
    for (int l = 0; l < PANEL; l++)
        if (weights[l] != 0.0f) logits[targets[l] * PANEL + l] -= weights[l] * share * (1.0f - smoothing);
    return loss;
}

/* Logits of a panel become probabilities. */
static void choice_shares(float* logits, Size rows, const float* limits, Size skip) {
    float most[PANEL], sums[PANEL];
    soften(logits, rows, limits, skip, most, sums);
    for (Size j = 0; j < rows; j++)
        EACH_LANE(l) {
            const V sum = vload(sums + l);
            vstore(logits + j * PANEL + l, vless(vset(0.0f), sum, vdiv(vload(logits + j * PANEL + l), sum), vset(0.0f)));
        }
}

/* Given probabilities p and the gradient g of what they lead to, the gradient of their logits: p * (g - sum of p * g). */
static void choice_shares_gradient(const float* p, const float* grad, Size rows, float* into) {
    EACH_LANE(l) {
        V sum = vset(0.0f);
        for (Size j = 0; j < rows; j++) sum = vfma(vload(p + j * PANEL + l), vload(grad + j * PANEL + l), sum);
        for (Size j = 0; j < rows; j++) {
            const V v = vmul(vload(p + j * PANEL + l), vsub(vload(grad + j * PANEL + l), sum));
            vstore(into + j * PANEL + l, vadd(vload(into + j * PANEL + l), v));
        }
    }
}
#endif
