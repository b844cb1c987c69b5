/* Scores of pairs of positions, softmax losses over some of the rows, and the expected edits of a predicted graph. A lane is a
   sequence: pairs, sums and choices never leave it. */
#ifndef SAMEBITS_SCORES_H
#define SAMEBITS_SCORES_H
#include "sequences.h"

#define TALL (VL >= 16 ? 4 : 2) /* rows of a tile of pairs, by ABREAST columns: as many sums as there are registers for */

/* out[r][c][lane] = sum over k of x[r][k][lane] * y[c][k][lane]: `rows` by `columns` chains side by side, so that none waits for itself.
   Both numbers are constants where this is inlined. */
INLINE void score_tile(const float* x, const float* y, Size num_k, int rows, int columns, float* out, Size m) {
    const Size jump = num_k * PANEL;
    EACH_LANE(l) {
        V sums[4][ABREAST];
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) sums[r][c] = vset(0.0f);
        for (Size k = l; k < jump; k += PANEL)
            for (int r = 0; r < rows; r++) {
                const V v = vload(x + r * jump + k);
                for (int c = 0; c < columns; c++) sums[r][c] = vfma(v, vload(y + c * jump + k), sums[r][c]);
            }
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) vstore(out + (r * m + c) * PANEL + l, sums[r][c]);
    }
}

/* out[i][j][lane] = sum over k of a[i][k][lane] * b[j][k][lane], one ascending chain each. */
static void pair_scores(const float* a, Size n, const float* b, Size m, Size num_k, float* out) {
    const Size jump = num_k * PANEL;
    for (Size i = 0, tall; i < n; i += tall) {
        const float* x = a + i * jump;
        tall = n - i < TALL ? 1 : TALL;
        for (Size j = 0, wide; j < m; j += wide) {
            const float* y = b + j * jump;
            float* to = out + (i * m + j) * PANEL;
            wide = m - j < ABREAST ? 1 : ABREAST;
            if (tall == TALL && wide == ABREAST) score_tile(x, y, num_k, TALL, ABREAST, to, m);
            else if (tall == TALL) score_tile(x, y, num_k, TALL, 1, to, m);
            else if (wide == ABREAST) score_tile(x, y, num_k, 1, ABREAST, to, m);
            else score_tile(x, y, num_k, 1, 1, to, m);
        }
    }
}

/* to[r][c][lane] += sum over j of s(r, j)[lane] * y[j][c][lane]: chains side by side as in score_tile. */
INLINE void gradient_tile(const float* s, Size row_step, Size column_step, const float* y, Size m, Size num_k, int rows, int columns,
                          float* to) {
    EACH_LANE(l) {
        V sums[4][ABREAST];
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) sums[r][c] = vload(to + (r * num_k + c) * PANEL + l);
        for (Size j = 0; j < m; j++)
            for (int r = 0; r < rows; r++) {
                const V g = vload(s + r * row_step + j * column_step + l);
                for (int c = 0; c < columns; c++) sums[r][c] = vfma(g, vload(y + (j * num_k + c) * PANEL + l), sums[r][c]);
            }
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++) vstore(to + (r * num_k + c) * PANEL + l, sums[r][c]);
    }
}

/* into[i][k][lane] += sum over j of scores(i, j) * b[j][k][lane], ascending j, going on from what is there. Scores are
   `row_step` floats apart for i and `column_step` for j, so that both sides use this. */
static void pair_gradient(const float* scores, Size row_step, Size column_step, Size n, const float* b, Size m, Size num_k, float* into) {
    for (Size i = 0, tall; i < n; i += tall) {
        const float* s = scores + i * row_step;
        tall = n - i < TALL ? 1 : TALL;
        for (Size k = 0, wide; k < num_k; k += wide) {
            const float* y = b + k * PANEL;
            float* to = into + (i * num_k + k) * PANEL;
            wide = num_k - k < ABREAST ? 1 : ABREAST;
            if (tall == TALL && wide == ABREAST) gradient_tile(s, row_step, column_step, y, m, num_k, TALL, ABREAST, to);
            else if (tall == TALL) gradient_tile(s, row_step, column_step, y, m, num_k, TALL, 1, to);
            else if (wide == ABREAST) gradient_tile(s, row_step, column_step, y, m, num_k, 1, ABREAST, to);
            else gradient_tile(s, row_step, column_step, y, m, num_k, 1, 1, to);
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
