/* The other operations of a model: embedding, gate, dropout, and the loss with its gradient in one pass. */
#ifndef SAMEBITS_LAYERS_H
#define SAMEBITS_LAYERS_H
#include "panels.h"
#include "scalar_math.h"

#define MOST_NGRAM 4
#define TIED 1 /* flag of an embedding: the loss has begun the gradient of its table */

typedef struct {
    Size panels, block; /* panels of a window; tokens of a window */
    const int64_t* ids;
    Size start;
    const int64_t* before;
} Places;

/* Token `lane` of panel p: its window, position there, and whether there is one at all. */
INLINE int token_at(const Places* w, Size p, Size lane, Size* index, Size* position) {
    const Size window = p / w->panels, at = p % w->panels * PANEL + lane;
    *index = window * w->block + at;
    *position = w->start + at;
    return at < w->block;
}

/* out = rows of the table (weight), plus those of the positions (second) if there are any; zero where a window is over. */
static void embed_forward(const Op* o, const Places* w, Size p) {
    float lines[16][16];
    const Size rows = o->rows;
    for (Size l = 0; l < PANEL; l += 16)
        for (Size f = 0; f < rows; f += 16) {
            const Size wide = rows - f < 16 ? rows - f : 16;
            memset(lines, 0, sizeof lines);
            for (Size i = 0; i < 16; i++) {
                Size index, position;
                if (!token_at(w, p, l + i, &index, &position)) continue;
                const float *from = o->weight + w->ids[index] * rows + f, *place = o->second ? o->second + position * rows + f : 0;
                for (Size j = 0; j < wide; j++) lines[i][j] = place ? from[j] + place[j] : from[j];
            }
            float square[16][16];
            transpose16(lines[0], 16, square[0], 16);
            for (Size j = 0; j < wide; j++) memcpy(o->out + (p * rows + f + j) * PANEL + l, square[j], sizeof square[j]);
        }
}

/* Rows of the tables take the gradients of their tokens, one token after the other. `turned` is [feature panel][token]. */
static void embed_backward(const Op* o, const Places* w, Size first, Size panels, const float* turned) {
    const Size rows = o->rows, tokens = panels * PANEL;
    for (Size t = 0; t < tokens; t++) {
        Size index, position;
        if (!token_at(w, first + t / PANEL, t % PANEL, &index, &position)) continue;
        float *to = o->weight_grad + w->ids[index] * rows, *place = o->second_grad ? o->second_grad + position * rows : 0;
        for (Size f = 0; f < rows; f += PANEL) {
            const float* from = turned + f * tokens + t * PANEL;
            const Size wide = rows - f < PANEL ? rows - f : PANEL;
            for (Size j = 0; j < wide; j++) to[f + j] += from[j];
            for (Size j = 0; place && j < wide; j++) place[f + j] += from[j];
        }
    }
}

/* The row of the table (of o->table rows) for the last o->flags tokens, or -1 before there are so many: their number in the
   vocabulary's base where every one has a row, else a hash that stays below 2^63 (ids are below 2^29, see tape.py). */
INLINE Size row_of_ngram(const Op* o, const Places* w, Size index, Size position) {
    static const int64_t factors[MOST_NGRAM] = {1540483477, 2246822519, 374761393, 668265263};
    uint64_t number = 0; /* wraps where it is not used */
    int64_t hash = 0, all = 1;
    if (position + 1 < o->flags) return -1;
    for (Size back = o->flags - 1; back >= 0; back--) {
        const int64_t id = position - back < w->start ? w->before[position - back] : w->ids[index - back];
        number = number * (uint64_t)o->capacity + (uint64_t)id, hash += id * factors[back];
        all = all > o->table ? all : all * o->capacity;
    }
    return all <= o->table ? (Size)number : hash % 2147483647 % o->table;
}

/* out = (other +) rows of the table by the last tokens; where there is none, -0, which changes no number it is added to. */
static void ngram_forward(const Op* o, const Places* w, Size p) {
    static const float nothing[16] = {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f,
                                      -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f};
    const Size rows = o->rows;
    float lines[16][16] = {{0}}, square[16][16];
    Size found[PANEL], index, position;
    for (Size l = 0; l < PANEL; l++) found[l] = token_at(w, p, l, &index, &position) ? row_of_ngram(o, w, index, position) : -1;
    for (Size l = 0; l < PANEL; l += 16)
        for (Size f = 0; f < rows; f += 16) {
            const Size wide = rows - f < 16 ? rows - f : 16;
            for (Size i = 0; i < 16; i++) {
                const Size row = found[l + i];
                memcpy(lines[i], row < 0 ? nothing : o->weight + row * rows + f, (size_t)wide * sizeof(float));
            }
            transpose16(lines[0], 16, square[0], 16);
            for (Size j = 0; j < wide; j++)
                for (Size i = 0; i < 16; i += VL) {
                    const Size at = (p * rows + f + j) * PANEL + l + i;
                    const V row = vload(square[j] + i);
                    vstore(o->out + at, o->other ? vadd(vload(o->other + at), row) : row);
                }
        }
}

static void ngram_backward(const Op* o, const Places* w, Size first, Size panels, const float* turned) {
    const Size rows = o->rows, tokens = panels * PANEL;
    for (Size t = 0; t < tokens; t++) {
        Size index, position;
        if (!token_at(w, first + t / PANEL, t % PANEL, &index, &position)) continue;
        const Size row = row_of_ngram(o, w, index, position);
        for (Size f = 0; row >= 0 && f < rows; f += PANEL) {
            const Size wide = rows - f < PANEL ? rows - f : PANEL;
            for (Size j = 0; j < wide; j++) o->weight_grad[row * rows + f + j] += turned[f * tokens + t * PANEL + j];
        }
    }
}

/* out = silu(other) * x */
static void gate_forward(const Op* o, Size p) {
    const Size at = p * o->rows * PANEL;
    for (Size i = 0; i < o->rows * PANEL; i += VL) {
        const V gate = vload(o->other + at + i);
        vstore(o->out + at + i, vmul(vmul(gate, vsigmoid(gate)), vload(o->x + at + i)));
    }
}

static void gate_backward(const Op* o, Size p, const float* grad, float* x_grad, float* other_grad) {
    const Size at = p * o->rows * PANEL;
    const V one = vset(1.0f);
    for (Size i = 0; i < o->rows * PANEL; i += VL) {
        const V gate = vload(o->other + at + i), x = vload(o->x + at + i), g = vload(grad + i), s = vsigmoid(gate);
        vstore(x_grad + i, vmul(g, vmul(gate, s)));
        vstore(other_grad + i, vmul(vmul(g, x), vmul(s, vfma(gate, vsub(one, s), one))));
    }
}

/* A word of random bits for an address: two rounds of multiplying and shifting, of the key and the element's number. */
INLINE uint32_t mixed(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* mask[lane] of feature row `row` (counted over all panels): 0 or what keeps the mean */
INLINE void drop_mask(const Op* o, uint64_t key, Size row, float* mask) {
    const uint32_t low = (uint32_t)key + (uint32_t)o->place * 0x9e3779b9u, high = (uint32_t)(key >> 32) ^ (uint32_t)o->place;
    const uint32_t threshold = (uint32_t)o->threshold;
    const float kept = (float)o->number;
    for (uint32_t l = 0; l < PANEL; l++) {
        const uint32_t word = mixed(mixed((uint32_t)row * PANEL + l + low) ^ high);
        mask[l] = word < threshold ? 0.0f : kept;
    }
}

/* out = (other +) x * mask; without a key nothing is dropped. Masks are of panel base + p. */
static void drop_forward(const Op* o, uint64_t key, Size base, Size p) {
    for (Size f = p * o->rows; f < (p + 1) * o->rows; f++) {
        float mask[PANEL];
        for (int l = 0; l < PANEL; l++) mask[l] = 1.0f;
        if (key) drop_mask(o, key, base * o->rows + f, mask);
        EACH_LANE(l) {
            const V v = vmul(vload(o->x + f * PANEL + l), vload(mask + l));
            vstore(o->out + f * PANEL + l, o->other ? vadd(v, vload(o->other + f * PANEL + l)) : v);
        }
    }
}

static void drop_backward(const Op* o, uint64_t key, Size p, const float* grad, float* into) {
    for (Size f = 0; f < o->rows; f++) {
        float mask[PANEL];
        drop_mask(o, key, p * o->rows + f, mask);
        EACH_LANE(l) vstore(into + f * PANEL + l, vmul(vload(grad + f * PANEL + l), vload(mask + l)));
    }
}

/* Logits of a panel, [vocabulary][PANEL]; returns the sum of the losses of its tokens, from first to last. With a `share`
   (1 / number of tokens) they become the gradient of the mean loss. */
static double softmax_loss(float* logits, Size vocab, const Places* w, const int64_t* targets, Size p, float share) {
    float most[PANEL], sums[PANEL], picked[PANEL];
    double loss = 0;
    Size index, position;
    for (Size l = 0; l < PANEL; l++) picked[l] = token_at(w, p, l, &index, &position) ? logits[targets[index] * PANEL + l] : 0.0f;
    EACH_LANE(l) {
        V top = vload(logits + l), sum = vset(0.0f);
        for (Size j = 1; j < vocab; j++) top = vmax(vload(logits + j * PANEL + l), top);
        for (Size j = 0; j < vocab; j++) {
            const V e = vexp(vsub(vload(logits + j * PANEL + l), top));
            vstore(logits + j * PANEL + l, e);
            sum = vadd(sum, e);
        }
        vstore(most + l, top), vstore(sums + l, sum);
    }
    for (Size l = 0; l < PANEL; l++)
        if (token_at(w, p, l, &index, &position)) loss += log_of((double)sums[l]) + ((double)most[l] - (double)picked[l]);
    if (share == 0.0f) return loss;
    float factors[PANEL];
    for (Size l = 0; l < PANEL; l++) factors[l] = token_at(w, p, l, &index, &position) ? share / sums[l] : 0.0f;
    for (Size j = 0; j < vocab; j++)
        EACH_LANE(l) vstore(logits + j * PANEL + l, vmul(vload(logits + j * PANEL + l), vload(factors + l)));
    for (Size l = 0; l < PANEL; l++)
        if (token_at(w, p, l, &index, &position)) logits[targets[index] * PANEL + l] -= share;
    return loss;
}
#endif
