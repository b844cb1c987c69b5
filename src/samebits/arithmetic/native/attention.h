/* Causal attention of one head of one window, for any length: keys in blocks of 64 by their position, queries in columns of 16.

   A vector is a query, so softmax needs no sum across lanes. Going forward a column keeps the largest score so far, the sum of
   e^(score - largest) and the sum of values; when a block has a larger score, both sums are multiplied by
   e^(old - new) before it is added. Going back, probabilities are computed again from the scores. The largest buffer is
   64 x 64, and no query depends on its neighbours, so reading token by token with a cache gives the same bits. */
#ifndef SAMEBITS_ATTENTION_H
#define SAMEBITS_ATTENTION_H
#include "panels.h"

#define KEYS 64
#define SQUARE (KEYS * KEYS)
#define ATTENTION_WORK (5 * SQUARE)

typedef struct {
    const float *q, *k, *v; /* rows of this head; panels `jump` apart for queries, `key_jump` for keys and values */
    Size jump, key_jump, size;
} Head;

/* of 16 tokens from 16 c: their place in a buffer of panels `jump` apart */
INLINE Size column_at(Size c, Size jump) { return c / 2 * jump + c % 2 * 16; }

static const float lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
/* lanes below `from` become `other` */
INLINE V from_lane(int l, Size from, V v, V other) { return vless(vload(lane_numbers + l), vset((float)from), other, v); }

/* scores[key][16] of `num` keys (a multiple of 16) from `first` on */
INLINE void score_keys(const Head* h, const float* k, const float* q, Size first, Size num, float* scores) {
    for (Size j = 0; j < num; j += 16)
        head_product(ACROSS, 16, k + column_at((first + j) / 16, h->key_jump), PANEL, 0, h->size, q, PANEL, scores + j * 16, 16, STORE);
}

/* One column forward: 16 queries at `q`, the first of them at `position`. saved: 16 largest scores, 16 inverse sums. */
static void attend(const Head* h, const float* q, Size position, float* out, float* most_at, float* inverse_at, float* scores) {
    const V never = vset(-1e30f), zero = vset(0.0f);
    const Size end = ROUND_UP(position + 16, 16);
    float sums[16] = {0}, factors[16] = {0};
    for (Size first = 0; first < end; first += KEYS) {
        const Size num = end - first < KEYS ? end - first : KEYS;
        score_keys(h, h->k, q, first, num, scores);
        for (int l = 0; l < 16; l += VL) {
            V most = first ? vload(most_at + l) : never, sum = first ? vload(sums + l) : zero;
            const V before = most;
            const Size plain = position - first + 1 < num ? (position - first + 1 > 0 ? position - first + 1 : 0) : num;
            for (Size j = 0; j < plain; j++) most = vmax(vload(scores + j * 16 + l), most);
            for (Size j = plain; j < num; j++) { /* keys that only later queries of this column see */
                const V v = from_lane(l, first + j - position, vload(scores + j * 16 + l), never);
                vstore(scores + j * 16 + l, v);
                most = vmax(v, most);
            }
            if (first) {
                const V factor = vexp(vsub(before, most));
                vstore(factors + l, factor);
                sum = vmul(sum, factor);
            }
            for (Size j = 0; j < num; j++) {
                const V e = vexp(vsub(vload(scores + j * 16 + l), most));
                vstore(scores + j * 16 + l, e);
                sum = vadd(sum, e);
            }
            vstore(most_at + l, most), vstore(sums + l, sum);
            for (Size f = 0; first && f < h->size; f++)
                vstore(out + f * PANEL + l, vmul(vload(out + f * PANEL + l), vload(factors + l)));
        }
        head_product(ALONG, h->size, h->v, h->key_jump, first, num, scores, 16, out, PANEL, first ? GO_ON : STORE);
    }
    for (int l = 0; l < 16; l += VL) {
        const V inverse = vdiv(vset(1.0f), vload(sums + l));
        vstore(inverse_at + l, inverse);
        for (Size f = 0; f < h->size; f++) vstore(out + f * PANEL + l, vmul(vload(out + f * PANEL + l), inverse));
    }
}

/* saved of a panel: [head][largest, inverse sum, product of output and gradient][PANEL] */
#define SAVED(o, p, h, what) ((o)->saved + (((p) * (o)->heads + (h)) * 3 + (what)) * PANEL)

/* All heads of one window whose panels begin at `first`. */
static void attention_forward(const Op* o, Size first, Size panels, float* work) {
    const Size dim = o->rows, size = dim / o->heads, jump = 3 * dim * PANEL;
    for (Size n = 0; n < o->heads; n++) {
        const float* q = o->x + first * jump + n * size * PANEL;
        const Head h = {q, q + dim * PANEL, q + 2 * dim * PANEL, jump, jump, size};
        for (Size c = 0; c < 2 * panels; c++) {
            const Size lane = c % 2 * 16;
            attend(&h, q + column_at(c, jump), 16 * c, o->out + first * dim * PANEL + n * size * PANEL + column_at(c, dim * PANEL),
                   SAVED(o, first + c / 2, n, 0) + lane, SAVED(o, first + c / 2, n, 1) + lane, work);
        }
    }
}

/* The same for one panel of new tokens after `start` older ones, whose keys and values are in `cache`, [panel][2 dim][PANEL]. */
static void attention_cached(const Op* o, Size start, Size num, float* work) {
    const Size dim = o->rows, size = dim / o->heads, key_jump = 2 * dim * PANEL;
    for (Size i = 0; i < num; i++) {
        const Size at = start + i;
        for (Size f = 0; f < 2 * dim; f++)
            o->cache[at / PANEL * key_jump + f * PANEL + at % PANEL] = o->x[(dim + f) * PANEL + i];
    }
    for (Size n = 0; n < o->heads; n++) {
        const float *q = o->x + n * size * PANEL, *k = o->cache + n * size * PANEL;
        const Head h = {q, k, k + dim * PANEL, 3 * dim * PANEL, key_jump, size};
        for (Size c = 0; c < 2 && 16 * c < num; c++)
            attend(&h, q + 16 * c, start + 16 * c, o->out + n * size * PANEL + 16 * c, SAVED(o, 0, n, 0) + 16 * c,
                   SAVED(o, 0, n, 1) + 16 * c, work);
    }
}

/* Scores of one block of up to 64 keys and one column of queries become probabilities and the gradient of the scores. */
static void column_back(const Head* h, const float* q, const float* grad_out, Size first, Size num, int diagonal, const float* most_at,
                        const float* inverse_at, const float* dots, float* p, float* g) {
    const V zero = vset(0.0f);
    score_keys(h, h->k, q, first, num, p);
    score_keys(h, h->v, grad_out, first, num, g);
    for (int l = 0; l < 16; l += VL) {
        const V most = vload(most_at + l), inverse = vload(inverse_at + l), dot = vload(dots + l);
        for (Size j = 0; j < num; j++) {
            V e = vmul(vexp(vsub(vload(p + j * 16 + l), most)), inverse);
            if (diagonal && j >= num - 16) e = from_lane(l, j - (num - 16), e, zero);
            vstore(p + j * 16 + l, e);
            vstore(g + j * 16 + l, vmul(e, vsub(vload(g + j * 16 + l), dot)));
        }
    }
}

/* One head back. grad_out and grad are those of this window: panels dim and 3 dim rows high. */
static void head_backward(const Op* o, const Head* h, Size first_panel, Size panels, Size n, const float* grad_out, float* grad, float* work) {
    const Size dim = o->rows, size = h->size, out_jump = dim * PANEL, columns = 2 * panels;
    float *p = work, *g = p + KEYS * 16, *flat_p = g + KEYS * 16, *flat_g = flat_p + SQUARE; /* flat: [16 keys][query][key] */
    const float* out = o->out + first_panel * out_jump + n * size * PANEL;
    for (Size c = 0; c < columns; c++) { /* output times gradient, one chain over the head */
        const Size at = column_at(c, out_jump);
        for (int l = 0; l < 16; l += VL) {
            V sum = vset(0.0f);
            for (Size j = 0; j < size; j++) sum = vfma(vload(grad_out + at + j * PANEL + l), vload(out + at + j * PANEL + l), sum);
            vstore(SAVED(o, first_panel + c / 2, n, 2) + c % 2 * 16 + l, sum);
        }
    }
    for (Size kc = 0; kc < columns; kc += 4) {         /* 64 keys */
        for (Size qc = kc; qc < columns; qc += 4) {    /* 64 queries that see them */
            const Size stop = qc + 4 < columns ? qc + 4 : columns, key_columns = columns - kc < 4 ? columns - kc : 4;
            for (Size c = qc; c < stop; c++) {
                const Size seen = c + 1 - kc < 4 ? c + 1 - kc : 4, num = 16 * seen, lane = c % 2 * 16;
                column_back(h, h->q + column_at(c, h->jump), grad_out + column_at(c, out_jump), 16 * kc, num, c < kc + 4,
                            SAVED(o, first_panel + c / 2, n, 0) + lane, SAVED(o, first_panel + c / 2, n, 1) + lane,
                            SAVED(o, first_panel + c / 2, n, 2) + lane, p, g);
                head_product(ALONG, size, h->k, h->key_jump, 16 * kc, num, g, 16, grad + column_at(c, h->jump), PANEL, kc ? GO_ON : STORE);
                for (Size b = 0; b < seen; b++) {
                    transpose16(p + b * 256, 16, flat_p + b * KEYS * 16 + (c - qc) * 256, 16);
                    transpose16(g + b * 256, 16, flat_g + b * KEYS * 16 + (c - qc) * 256, 16);
                }
            }
            for (Size b = 0; b < key_columns; b++) {
                const Size from = qc > kc ? qc : kc + b, skip = (from - qc) * 256, num = 16 * (stop - from);
                if (num <= 0) continue;
                float* into = grad + dim * PANEL + column_at(kc + b, h->jump);
                const int then = qc > kc ? GO_ON : STORE;
                head_product(ALONG, size, h->q, h->jump, 16 * from, num, flat_g + b * KEYS * 16 + skip, 16, into, PANEL, then);
                head_product(ALONG, size, grad_out, out_jump, 16 * from, num, flat_p + b * KEYS * 16 + skip, 16, into + dim * PANEL, PANEL, then);
            }
        }
    }
}

static void attention_backward(const Op* o, Size first, Size panels, const float* grad_out, float* grad, float* work) {
    const Size dim = o->rows, size = dim / o->heads, jump = 3 * dim * PANEL;
    for (Size n = 0; n < o->heads; n++) {
        const float* q = o->x + first * jump + n * size * PANEL;
        const Head h = {q, q + dim * PANEL, q + 2 * dim * PANEL, jump, jump, size};
        head_backward(o, &h, first, panels, n, grad_out + n * size * PANEL, grad + n * size * PANEL, work);
    }
}
#endif
