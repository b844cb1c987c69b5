/* A model as a list of operations: forward in order, back in reverse order, a chunk of windows at a time through each segment,
   so that what one operation writes is in the cache when the next one reads it. Neither the chunk nor the segments change a bit:
   lanes are independent, and chains over tokens go on from chunk to chunk. */
#ifndef SAMEBITS_PROGRAM_H
#define SAMEBITS_PROGRAM_H
#include "attention.h"
#include "layers.h"
#include "norms.h"

enum { EMBED, NORM, PRODUCT, HEADS, ATTENTION, GATE, DROP, LOSS, NGRAM }; /* the order of ops.py */

/* What a call of an operation is about: panels from first to last of all, chunk number n. */
typedef struct {
    Shard* shard;
    Places places;
    Size first, last, number;
    int what;
} Range;

INLINE float* gradient(float* base, int64_t whole, Size rows, Size p, Size first) { return base + (whole ? p : p - first) * rows * PANEL; }
#define OUT_GRAD(o, p) gradient((o)->out_grad, (o)->out_whole, (o)->rows, p, r->first)
#define X_GRAD(o, rows, p) gradient((o)->x_grad, (o)->x_whole, rows, p, r->first)
#define AROUND(o, rows, p) ((o)->around ? gradient((o)->around, (o)->around_whole, rows, p, r->first) : 0)

static void loss_of_range(const Op* o, const Range* r) {
    const Size panels = r->last - r->first, vocab = o->rows;
    float *logits = o->out, *turned = r->shard->work;
    const float* x = o->x + r->first * o->num_k * PANEL;
    const float share = r->what == GRADIENT ? 1.0f / (float)(r->shard->windows * r->shard->block) : 0.0f;
    times_weights(o->packed, vocab, o->num_k, x, logits, 0, panels, STORE);
    if (r->what == LOGITS) return;
    for (Size p = r->first; p < r->last; p++)
        r->shard->loss += softmax_loss(logits + (p - r->first) * vocab * PANEL, vocab, &r->places, r->shard->targets, p, share);
    if (r->what != GRADIENT) return;
    times_weights(o->turned, o->num_k, vocab, logits, X_GRAD(o, o->num_k, r->first), 0, panels, STORE);
    turn(x, o->num_k, panels, turned);
    times_tokens(logits, vocab, turned, o->num_k, panels * PANEL, o->weight_grad, r->number > 0);
}

static void op_forward(const Op* o, const Range* r) {
    const Size window = r->places.panels;
    const Size out = r->first * o->rows * PANEL, in = r->first * o->num_k * PANEL;
    switch (o->kind) {
        case EMBED:
            for (Size p = r->first; p < r->last; p++) embed_forward(o, &r->places, p);
            break;
        case NORM:
            for (Size p = r->first; p < r->last; p++) norm_forward(o, p);
            break;
        case PRODUCT: /* flags: the epilogue; other: what ADD adds */
            times_weights(o->packed, o->rows, o->num_k, o->x + in, o->out + out, o->flags == ADD ? o->other + out : o->slope ? o->slope + out : 0,
                          r->last - r->first, (int)o->flags);
            break;
        case HEADS:
            for (Size p = r->first; p < r->last; p++) heads_forward(o, p, r->places.start + p % window * PANEL);
            break;
        case ATTENTION:
            if (o->cache) attention_cached(o, r->places.start, r->places.block, r->shard->work);
            else for (Size p = r->first; p < r->last; p += window) attention_forward(o, p, window, r->shard->work);
            break;
        case GATE:
            for (Size p = r->first; p < r->last; p++) gate_forward(o, p);
            break;
        case DROP:
            for (Size p = r->first; p < r->last; p++) drop_forward(o, r->shard->key, p);
            break;
        case LOSS: loss_of_range(o, r); break;
        case NGRAM:
            for (Size p = r->first; p < r->last; p++) ngram_forward(o, &r->places, p);
    }
}

/* x_grad = (around +) transposed weights * out_grad, or times the slope of the activation that made x; then the weights' own. */
static void product_backward(const Op* o, const Range* r) {
    const Size panels = r->last - r->first, tokens = panels * PANEL;
    const float* grad = OUT_GRAD(o, r->first);
    float *around = AROUND(o, o->num_k, r->first), *slope = o->x_slope ? o->x_slope + r->first * o->num_k * PANEL : 0, *turned = r->shard->work;
    times_weights(o->turned, o->num_k, o->rows, grad, X_GRAD(o, o->num_k, r->first), around ? around : slope, panels,
                  around ? ADD : slope ? TIMES : STORE);
    const float* x = o->x + r->first * o->num_k * PANEL;
    if (o->flipped) { /* the narrower of the two is turned */
        turn(grad, o->rows, panels, turned);
        times_tokens(x, o->num_k, turned, o->rows, tokens, o->flipped, r->number > 0);
    } else {
        turn(x, o->num_k, panels, turned);
        times_tokens(grad, o->rows, turned, o->num_k, tokens, o->weight_grad, r->number > 0);
    }
}

/* The gradient of an embedding, turned; several tables whose rows are added have the same one, and the last of them begins. */
static void turn_once(const Op* o, const Range* r) {
    if (o[1].kind == NGRAM && o[1].out_grad == o->out_grad && o[1].out_whole == o->out_whole) return;
    turn(OUT_GRAD(o, r->first), o->rows, r->last - r->first, r->shard->work);
}

static void op_backward(const Op* o, const Range* r) {
    const Size window = r->places.panels;
    switch (o->kind) {
        case EMBED:
            turn_once(o, r);
            embed_backward(o, &r->places, r->first, r->last - r->first, r->shard->work);
            break;
        case NORM:
            for (Size p = r->first; p < r->last; p++)
                norm_backward(o, p, OUT_GRAD(o, p), AROUND(o, o->rows, p), X_GRAD(o, o->rows, p));
            break;
        case PRODUCT: product_backward(o, r); break;
        case HEADS:
            for (Size p = r->first; p < r->last; p++) heads_backward(o, p, X_GRAD(o, o->rows, p), p % window * PANEL);
            break;
        case ATTENTION:
            for (Size p = r->first; p < r->last; p += window)
                attention_backward(o, p, window, OUT_GRAD(o, p), X_GRAD(o, 3 * o->rows, p), r->shard->work);
            break;
        case GATE:
            for (Size p = r->first; p < r->last; p++)
                gate_backward(o, p, OUT_GRAD(o, p), X_GRAD(o, o->rows, p), gradient(o->other_grad, o->other_whole, o->rows, p, r->first));
            break;
        case DROP:
            for (Size p = r->first; p < r->last; p++) drop_backward(o, r->shard->key, p, OUT_GRAD(o, p), X_GRAD(o, o->rows, p));
            break;
        case NGRAM: /* the gradient of `other` is that of the sum, as it is */
            turn_once(o, r);
            ngram_backward(o, &r->places, r->first, r->last - r->first, r->shard->work);
    }
}

/* Before and after all chunks of a segment went back. */
static void op_begin(const Op* o) {
    if (o->kind == NORM && o->flags & LAYER) memset(o->flipped, 0, (size_t)(o->rows * PANEL) * sizeof(float));
    if (o->kind == NGRAM) memset(o->weight_grad, 0, (size_t)(o->table * o->rows) * sizeof(float));
    if (o->kind == EMBED) {
        if (!(o->flags & TIED)) memset(o->weight_grad, 0, (size_t)(o->table * o->rows) * sizeof(float));
        if (o->second_grad) memset(o->second_grad, 0, (size_t)(o->capacity * o->rows) * sizeof(float));
    }
}
static void op_end(const Op* o) {
    if (o->kind == NORM && o->flags & LAYER) sum_lanes(o->flipped, o->rows, o->weight_grad);
    if (o->kind == PRODUCT && o->flipped) turn_over(o->flipped, o->num_k, o->rows, o->weight_grad);
}

static Size program_work(const Op* ops, Size num, Size tokens) {
    Size widest = 0;
    for (Size i = 0; i < num; i++) {
        const Size rows = ops[i].rows, other = ops[i].num_k, wide = rows > other ? rows : other;
        if (ops[i].kind != LOSS && wide > widest) widest = wide;
        if (ops[i].kind == LOSS && other > widest) widest = other;
    }
    const Size turned = ROUND_UP(widest, PANEL) * tokens;
    return turned > ATTENTION_WORK ? turned : ATTENTION_WORK;
}

static void pack_weights(const Op* ops, Size num) {
    for (Size i = 0; i < num; i++) {
        const Op* o = ops + i;
        if (o->kind != PRODUCT && o->kind != LOSS) continue;
        pack(o->packed, o->weight, o->num_k, o->rows, o->num_k, 0);
        if (o->turned) pack(o->turned, o->weight, o->num_k, o->num_k, o->rows, 1);
    }
}

static void run(const Op* ops, Size num, Shard* s, int what) {
    const Size window = ROUND_UP(s->block, PANEL) / PANEL, panels = s->windows * window, step = s->chunk * window;
    Range r = {.shard = s, .places = {window, s->block, s->ids, s->start, s->before}, .what = what};
    s->loss = 0;
    for (Size from = 0, to; from < num; from = to) {
        for (to = from; to < num && ops[to].segment == ops[from].segment;) to++;
        r.number = 0;
        for (r.first = 0; r.first < panels; r.first = r.last, r.number++) {
            r.last = r.first + step < panels ? r.first + step : panels;
            for (Size i = from; i < to; i++) op_forward(ops + i, &r);
        }
    }
    if (what != GRADIENT) return;
    for (Size to = num, from; to > 0; to = from) {
        for (from = to; from > 0 && ops[from - 1].segment == ops[to - 1].segment;) from--;
        for (Size i = from; i < to; i++) op_begin(ops + i);
        r.number = 0;
        for (r.first = 0; r.first < panels; r.first = r.last, r.number++) {
            r.last = r.first + step < panels ? r.first + step : panels;
            for (Size i = to; i > from; i--) op_backward(ops + i - 1, &r);
        }
        for (Size i = from; i < to; i++) op_end(ops + i);
    }
}
#endif
