/* A model as a list of operations: a chunk of windows goes forward through all of them and back, then the next chunk, in the same
   buffers. The size of a chunk changes no bit: lanes are independent, and chains over tokens go on from chunk to chunk. */
#ifndef SAMEBITS_PROGRAM_H
#define SAMEBITS_PROGRAM_H
#include "attention.h"
#include "layers.h"
#include "norms.h"

enum { EMBED, NORM, PRODUCT, HEADS, ATTENTION, GATE, DROP, LOSS, NGRAM }; /* the order of ops.py */

/* What a call of an operation is about: the panels of one chunk, the first of which is number `base` of the batch. Buffers and
   places count from the chunk's own first panel. */
typedef struct {
    Shard* shard;
    Places places;
    const int64_t* targets;
    Size panels, base;
    int what;
} Chunk;

#define EACH_PANEL(p) for (Size p = 0; p < c->panels; p++)
#define AT(buffer, rows) ((buffer) + p * (rows) * PANEL)

static void loss_of_chunk(const Op* o, const Chunk* c) {
    const Size vocab = o->rows;
    const float share = c->what == GRADIENT ? 1.0f / (float)(c->shard->windows * c->shard->block) : 0.0f;
    float* turned = c->shard->work;
    times_weights(o->packed, vocab, o->num_k, o->x, o->out, 0, c->panels, STORE);
    if (c->what == LOGITS) return;
    EACH_PANEL(p) c->shard->loss += softmax_loss(AT(o->out, vocab), vocab, &c->places, c->targets, p, share);
    if (c->what != GRADIENT) return;
    times_weights(o->turned, o->num_k, vocab, o->out, o->x_grad, 0, c->panels, STORE);
    turn(o->x, o->num_k, c->panels, turned);
    times_tokens(o->out, vocab, turned, o->num_k, c->panels * PANEL, o->weight_grad, c->base > 0);
}

static void op_forward(const Op* o, const Chunk* c) {
    const Size window = c->places.panels;
    switch (o->kind) {
        case EMBED: EACH_PANEL(p) embed_forward(o, &c->places, p); break;
        case NORM: EACH_PANEL(p) norm_forward(o, p); break;
        case PRODUCT: /* flags: the epilogue; other: what ADD adds */
            times_weights(o->packed, o->rows, o->num_k, o->x, o->out, o->flags == ADD ? o->other : o->slope, c->panels, (int)o->flags);
            break;
        case HEADS: EACH_PANEL(p) heads_forward(o, p, c->places.start + p % window * PANEL); break;
        case ATTENTION:
            if (o->cache) attention_cached(o, c->places.start, c->places.block, c->shard->work);
            else for (Size p = 0; p < c->panels; p += window) attention_forward(o, p, window, c->shard->work);
            break;
        case GATE: EACH_PANEL(p) gate_forward(o, p); break;
        case DROP: EACH_PANEL(p) drop_forward(o, c->shard->key, c->base, p); break;
        case LOSS: loss_of_chunk(o, c); break;
        case NGRAM: EACH_PANEL(p) ngram_forward(o, &c->places, p);
    }
}

/* x_grad = (around +) transposed weights * out_grad, or times the slope of the activation that made x; then the weights' own. */
static void product_backward(const Op* o, const Chunk* c) {
    const Size tokens = c->panels * PANEL;
    float* turned = c->shard->work;
    times_weights(o->turned, o->num_k, o->rows, o->out_grad, o->x_grad, o->around ? o->around : o->x_slope, c->panels,
                  o->around ? ADD : o->x_slope ? TIMES : STORE);
    if (o->flipped) { /* the narrower of the two is turned, and so is the gradient until the end */
        turn(o->out_grad, o->rows, c->panels, turned);
        times_tokens(o->x, o->num_k, turned, o->rows, tokens, o->weight_grad, c->base > 0);
    } else {
        turn(o->x, o->num_k, c->panels, turned);
        times_tokens(o->out_grad, o->rows, turned, o->num_k, tokens, o->weight_grad, c->base > 0);
    }
}

/* The gradient of an embedding, turned; several tables whose rows are added have the same one, and the last of them begins. */
static void turn_once(const Op* o, const Chunk* c) {
    if (o[1].kind == NGRAM && o[1].out_grad == o->out_grad) return;
    turn(o->out_grad, o->rows, c->panels, c->shard->work);
}

static void op_backward(const Op* o, const Chunk* c) {
    const Size window = c->places.panels;
    switch (o->kind) {
        case EMBED:
            if (o->flags & TIED) { /* waits until the loss has added up all tokens */
                memcpy(o->saved + c->base * o->rows * PANEL, o->out_grad, (size_t)(c->panels * o->rows * PANEL) * sizeof(float));
                break;
            }
            turn_once(o, c);
            embed_backward(o, &c->places, 0, c->panels, c->shard->work);
            break;
        case NORM:
            EACH_PANEL(p) norm_backward(o, p, AT(o->out_grad, o->rows), o->around ? AT(o->around, o->rows) : 0, AT(o->x_grad, o->rows));
            break;
        case PRODUCT: product_backward(o, c); break;
        case HEADS: EACH_PANEL(p) heads_backward(o, p, AT(o->x_grad, o->rows), p % window * PANEL); break;
        case ATTENTION:
            for (Size p = 0; p < c->panels; p += window)
                attention_backward(o, p, window, AT(o->out_grad, o->rows), AT(o->x_grad, 3 * o->rows), c->shard->work);
            break;
        case GATE:
            EACH_PANEL(p) gate_backward(o, p, AT(o->out_grad, o->rows), AT(o->x_grad, o->rows), AT(o->other_grad, o->rows));
            break;
        case DROP: EACH_PANEL(p) drop_backward(o, c->shard->key, c->base + p, AT(o->out_grad, o->rows), AT(o->x_grad, o->rows)); break;
        case NGRAM: /* the gradient of `other` is that of the sum, as it is */
            turn_once(o, c);
            ngram_backward(o, &c->places, 0, c->panels, c->shard->work);
    }
}

/* Before the first chunk goes back through an operation. */
static void op_begin(const Op* o) {
    if (o->kind == NORM && o->flags & LAYER) memset(o->flipped, 0, (size_t)(o->rows * PANEL) * sizeof(float));
    if (o->kind == NGRAM) memset(o->weight_grad, 0, (size_t)(o->table * o->rows) * sizeof(float));
    if (o->kind == EMBED) {
        if (!(o->flags & TIED)) memset(o->weight_grad, 0, (size_t)(o->table * o->rows) * sizeof(float));
        if (o->second_grad) memset(o->second_grad, 0, (size_t)(o->capacity * o->rows) * sizeof(float));
    }
}

/* After the last one: `c` is about all panels of the batch, of which `at_once` fit into the scratch memory. */
static void op_end(const Op* o, const Chunk* c, Size at_once) {
    if (o->kind == NORM && o->flags & LAYER) sum_lanes(o->flipped, o->rows, o->weight_grad);
    if (o->kind == PRODUCT && o->flipped) {
        memcpy(o->flipped, o->weight_grad, (size_t)(o->rows * o->num_k) * sizeof(float));
        turn_over(o->flipped, o->num_k, o->rows, o->weight_grad);
    }
    if (o->kind == EMBED && o->flags & TIED)
        for (Size p = 0; p < c->panels; p += at_once) {
            const Size panels = c->panels - p < at_once ? c->panels - p : at_once;
            turn(AT(o->saved, o->rows), o->rows, panels, c->shard->work);
            embed_backward(o, &c->places, p, panels, c->shard->work);
        }
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
    s->loss = 0;
    for (Size base = 0; base < panels; base += step) {
        const Size tokens = base / window * s->block, here = panels - base < step ? panels - base : step;
        const Chunk c = {s, {window, s->block, s->ids + tokens, s->start, s->before}, s->targets + tokens, here, base, what};
        for (Size i = 0; i < num; i++) op_forward(ops + i, &c);
        for (Size i = num; what == GRADIENT && i > 0; i--) {
            if (base == 0) op_begin(ops + i - 1);
            op_backward(ops + i - 1, &c);
        }
    }
    const Chunk all = {s, {window, s->block, s->ids, s->start, s->before}, s->targets, panels, 0, what};
    for (Size i = 0; what == GRADIENT && i < num; i++) op_end(ops + i, &all, step);
}
#endif
