/* Operations over rows and sequences of different length: products with a bias, LSTM, convolution, embeddings, gathering, dropout.

   A panel is 32 rows. Of sequences, panel t of a group holds position t of 32 sequences, so a lane is a sequence and its
   positions follow one another over panels; `lengths` says how many of them a lane has. Chains over rows of weights and over
   tokens are those of the products; a gradient that is known already is where the chain begins. */
#ifndef SAMEBITS_SEQUENCES_H
#define SAMEBITS_SEQUENCES_H
#include "layers.h"

#define TOGETHER 4 /* panels that go through the blocks of the weights together: they fit into the second cache */
#define TURNED_TOGETHER 8
#define ABREAST 4 /* features or columns whose chains run side by side */

/* c[panel][m][lane] = weights * b[panel][k][lane], panels `b_jump` and `c_jump` floats apart. */
static void weights_times(const float* packed, Size rows, Size num_k, const float* b, Size b_jump, float* c, Size c_jump, Size panels,
                          int then) {
    const Size blocks = num_blocks(rows);
    Tile t = {.b_step = PANEL, .c_step = PANEL, .num_k = num_k, .then = then};
    for (Size first = 0; first < panels; first += TOGETHER) {
        const Size last = first + TOGETHER < panels ? first + TOGETHER : panels;
        for (Size q = 0; q < blocks; q++) {
            const Size m0 = rows * q / blocks, m1 = rows * (q + 1) / blocks;
            t.a = packed + m0 * num_k;
            t.a_step = m1 - m0;
            for (Size p = first; p < last; p++)
                for (int lane = 0; lane < PANEL; lane += TILE_V * VL) {
                    t.b = b + p * b_jump + lane;
                    t.c = c + p * c_jump + m0 * PANEL + lane;
                    big_tiles[ACROSS][m1 - m0](&t);
                }
        }
    }
}

/* One panel [rows][PANEL] becomes token rows `at`.. of [panel of features][tokens][PANEL]; zeros if there is none. */
static void turn_one(const float* in, Size rows, float* out, Size at, Size tokens) {
    for (Size f = 0; f < rows; f += 16)
        for (Size l = 0; l < PANEL; l += 16) {
            float* to = out + f / PANEL * PANEL * tokens + (at + l) * PANEL + f % PANEL;
            float square[16][16] = {{0}};
            if (in && f + 16 <= rows) {
                transpose16(in + f * PANEL + l, PANEL, to, PANEL);
                continue;
            }
            if (in) transpose_edge(in + f * PANEL + l, PANEL, rows - f, 16, square[0]);
            for (int i = 0; i < 16; i++) memcpy(to + i * PANEL, square[i], sizeof square[i]);
        }
}

/* out = weights * x + bias: the chain begins with the bias, if there is one. */
static void affine(const float* packed, const float* bias, Size rows, Size num_k, const float* x, Size x_jump, float* out, Size panels) {
    const Size jump = rows * PANEL;
    for (Size first = 0; first < panels; first += TOGETHER) { /* what is filled in is still in the cache when the chain goes on */
        const Size last = first + TOGETHER < panels ? first + TOGETHER : panels;
        for (Size p = first; bias && p < last; p++)
            for (Size f = 0; f < rows; f++) EACH_LANE(l) vstore(out + p * jump + f * PANEL + l, vset(bias[f]));
        weights_times(packed, rows, num_k, x + first * x_jump, x_jump, out + first * jump, jump, last - first, bias ? GO_ON : STORE);
    }
}

/* Gradient of weights: one chain over all tokens, panel after panel. `work`: TURNED_TOGETHER panels of num_k, rounded up. */
static void weights_gradient(const float* grad, Size rows, const float* x, Size x_jump, Size num_k, Size panels, float* into, int go_on,
                             float* work) {
    for (Size first = 0; first < panels; first += TURNED_TOGETHER) {
        const Size num = panels - first < TURNED_TOGETHER ? panels - first : TURNED_TOGETHER;
        for (Size p = 0; p < num; p++) turn_one(x + (first + p) * x_jump, num_k, work, p * PANEL, num * PANEL);
        times_tokens(grad + first * rows * PANEL, rows, work, num_k, num * PANEL, into, go_on || first > 0);
    }
}

/* The sums over all panels of `columns` features from `grad` on, every lane by itself, then the lanes from first to last. */
INLINE void bias_tile(const float* grad, Size jump, Size panels, int columns, float* into, int go_on) {
    float lanes[ABREAST][PANEL], sums[ABREAST];
    EACH_LANE(l) {
        V s[ABREAST];
        for (int c = 0; c < columns; c++) s[c] = vset(0.0f);
        for (Size p = 0; p < panels; p++)
            for (int c = 0; c < columns; c++) s[c] = vadd(s[c], vload(grad + p * jump + c * PANEL + l));
        for (int c = 0; c < columns; c++) vstore(lanes[c] + l, s[c]);
    }
    for (int c = 0; c < columns; c++) sums[c] = go_on ? into[c] : 0.0f;
    for (int l = 0; l < PANEL; l++)
        for (int c = 0; c < columns; c++) sums[c] += lanes[c][l];
    for (int c = 0; c < columns; c++) into[c] = sums[c];
}

/* Gradient of a bias: every lane over all panels, then the lanes from first to last, beginning from what is there if `go_on`. */
static void bias_gradient(const float* grad, Size rows, Size panels, float* into, int go_on) {
    Size f = 0;
    for (; f + ABREAST <= rows; f += ABREAST) bias_tile(grad + f * PANEL, rows * PANEL, panels, ABREAST, into + f, go_on);
    for (; f < rows; f++) bias_tile(grad + f * PANEL, rows * PANEL, panels, 1, into + f, go_on);
}

/* (1 - w) / (1 + w) with w = e^(-2|x|), and the sign of x. */
INLINE V vtanh(V x) {
    const V one = vset(1.0f), w = vexp(vmul(vabs(x), vset(-2.0f))), t = vdiv(vsub(one, w), vadd(one, w));
    return vless(x, vset(0.0f), vsub(vset(0.0f), t), t);
}

/* One direction of a layer over one group. Gates: input, forget, new, output. `gates` holds what the inputs give and takes the
   activations; each step goes on with the chain over the state before. Beyond the end of a lane all states are zero, so that
   the way from the end begins where the lane ends. */
static void lstm_forward(const Lstm* o, Size start, Size steps, const float* lengths) {
    const Size h = o->hidden, wide = h * PANEL;
    const V zero = vset(0.0f);
    for (Size n = 0; n < steps; n++) {
        const Size t = start + (o->back ? steps - 1 - n : n), before = o->back ? t + 1 : t - 1;
        float *gates = o->gates + t * o->gates_jump, *cells = o->cells + t * wide, *bent = o->bent + t * wide, *out = o->out + t * o->out_jump;
        const float* old = n ? o->cells + before * wide : 0;
        if (n) weights_times(o->packed, 4 * h, h, o->out + before * o->out_jump, 0, gates, 0, 1, GO_ON);
        const V now = vset((float)(t - start));
        for (Size i = 0; i < wide; i += VL) {
            const V ends = vload(lengths + i % PANEL);
            const V in = vsigmoid(vload(gates + i)), keep = vsigmoid(vload(gates + wide + i));
            const V fresh = vtanh(vload(gates + 2 * wide + i)), show = vsigmoid(vload(gates + 3 * wide + i));
            const V cell = vless(now, ends, vfma(keep, old ? vload(old + i) : zero, vmul(in, fresh)), zero);
            const V curve = vtanh(cell);
            vstore(gates + i, in), vstore(gates + wide + i, keep), vstore(gates + 2 * wide + i, fresh), vstore(gates + 3 * wide + i, show);
            vstore(cells + i, cell), vstore(bent + i, curve);
            vstore(out + i, vmul(show, curve));
        }
    }
}

/* The gradient of the gates before their activation, in place of the gates. `work`: two panels of `hidden`. */
static void lstm_backward(const Lstm* o, Size start, Size steps, const float* lengths, float* work) {
    const Size h = o->hidden, wide = h * PANEL;
    float *from_after = work, *cell_grad = work + wide;
    const V zero = vset(0.0f), one = vset(1.0f);
    memset(work, 0, (size_t)(2 * wide) * sizeof(float));
    for (Size n = steps; n > 0; n--) {
        const Size t = start + (o->back ? steps - n : n - 1), before = o->back ? t + 1 : t - 1;
        float* gates = o->gates + t * o->gates_jump;
        const float *bent = o->bent + t * wide, *grad = o->out_grad + t * o->out_jump;
        const float* old = n > 1 ? o->cells + before * wide : 0;
        const V now = vset((float)(t - start));
        for (Size i = 0; i < wide; i += VL) {
            const V ends = vload(lengths + i % PANEL);
            const V in = vload(gates + i), keep = vload(gates + wide + i), fresh = vload(gates + 2 * wide + i);
            const V show = vload(gates + 3 * wide + i), curve = vload(bent + i);
            const V g = vless(now, ends, vadd(vload(grad + i), vload(from_after + i)), zero);
            const V slope = vsub(one, vmul(curve, curve));
            const V cell = vless(now, ends, vfma(vmul(g, show), slope, vload(cell_grad + i)), zero);
            vstore(gates + i, vmul(vmul(cell, fresh), vmul(in, vsub(one, in))));
            vstore(gates + wide + i, vmul(vmul(cell, old ? vload(old + i) : zero), vmul(keep, vsub(one, keep))));
            vstore(gates + 2 * wide + i, vmul(vmul(cell, in), vsub(one, vmul(fresh, fresh))));
            vstore(gates + 3 * wide + i, vmul(vmul(g, curve), vmul(show, vsub(one, show))));
            vstore(cell_grad + i, vmul(cell, keep));
        }
        if (n > 1) weights_times(o->turned, h, 4 * h, gates, 0, from_after, 0, 1, STORE);
    }
}

/* The gradient of the recurrent weights of one group: tokens in the order of panels, states of the step before. */
static void lstm_weights(const Lstm* o, Size start, Size steps, float* into, int go_on, float* work) {
    const Size h = o->hidden;
    for (Size first = 0; first < steps; first += TURNED_TOGETHER) {
        const Size num = steps - first < TURNED_TOGETHER ? steps - first : TURNED_TOGETHER;
        for (Size p = 0; p < num; p++) {
            const Size t = first + p, none = o->back ? t + 1 == steps : t == 0;
            turn_one(none ? 0 : o->out + (start + (o->back ? t + 1 : t - 1)) * o->out_jump, h, work, p * PANEL, num * PANEL);
        }
        times_tokens_apart(o->gates + (start + first) * o->gates_jump, o->gates_jump, 4 * h, work, h, num * PANEL, into, go_on || first > 0);
    }
}

/* Rows of a table by id, into rows `at`.. of the output; -1 gives zeros. */
static void look_up(const float* table, Size width, const int64_t* ids, float* out, Size out_jump, Size panels) {
    for (Size p = 0; p < panels; p++)
        for (Size l = 0; l < PANEL; l += 16)
            for (Size f = 0; f < width; f += 16) {
                const Size wide = width - f < 16 ? width - f : 16;
                float lines[16][16] = {{0}}, square[16][16];
                for (Size i = 0; i < 16; i++) {
                    const int64_t id = ids[p * PANEL + l + i];
                    if (id >= 0) memcpy(lines[i], table + id * width + f, (size_t)wide * sizeof(float));
                }
                transpose16(lines[0], 16, square[0], 16);
                for (Size j = 0; j < wide; j++) memcpy(out + p * out_jump + (f + j) * PANEL + l, square[j], sizeof square[j]);
            }
}

/* Rows of the table take the gradients of their tokens, one token after the other. */
static void look_up_gradient(float* into, Size width, const int64_t* ids, const float* grad, Size grad_jump, Size panels) {
    for (Size p = 0; p < panels; p++)
        for (Size l = 0; l < PANEL; l += 16)
            for (Size f = 0; f < width; f += 16) {
                const Size wide = width - f < 16 ? width - f : 16;
                float square[16][16];
                if (wide == 16)
                    transpose16(grad + p * grad_jump + f * PANEL + l, PANEL, square[0], 16);
                else
                    transpose_edge(grad + p * grad_jump + f * PANEL + l, PANEL, wide, 16, square[0]);
                for (Size i = 0; i < 16; i++) {
                    const int64_t id = ids[p * PANEL + l + i];
                    if (id < 0) continue;
                    float* to = into + id * width + f;
                    for (Size j = 0; j < wide; j++) to[j] += square[i][j];
                }
            }
}

/* Columns from elsewhere: token t of the output is column places[t] of x (panel * PANEL + lane), or zeros for -1. */
static void gather(const float* x, Size rows, const int64_t* places, float* out, Size out_jump, Size panels) {
    for (Size p = 0; p < panels; p++)
        for (Size l = 0; l < PANEL; l++) {
            const int64_t place = places[p * PANEL + l];
            const float* from = x + place / PANEL * rows * PANEL + place % PANEL;
            float* to = out + p * out_jump + l;
            for (Size f = 0; f < rows; f++) to[f * PANEL] = place < 0 ? 0.0f : from[f * PANEL];
        }
}

/* What was gathered adds to where it came from, one token after the other. */
static void gather_gradient(float* into, Size rows, const int64_t* places, const float* grad, Size grad_jump, Size panels) {
    for (Size p = 0; p < panels; p++)
        for (Size l = 0; l < PANEL; l++) {
            const int64_t place = places[p * PANEL + l];
            if (place < 0) continue;
            float* to = into + place / PANEL * rows * PANEL + place % PANEL;
            for (Size f = 0; f < rows; f++) to[f * PANEL] += grad[p * grad_jump + f * PANEL + l];
        }
}

/* The largest number of each row over the panels of a group, or 0 if none is above it; `chosen` says in which panel, or -1.
   Lanes count up to their length. */
static void largest(const float* x, Size rows, Size panels, const float* lengths, float* out, float* chosen) {
    for (Size f = 0; f < rows; f++) EACH_LANE(l) {
            V top = vset(0.0f), at = vset(-1.0f);
            const V ends = vload(lengths + l);
            for (Size p = 0; p < panels; p++) {
                const V now = vset((float)p), v = vless(now, ends, vload(x + (p * rows + f) * PANEL + l), vset(0.0f));
                at = vless(top, v, now, at);
                top = vless(top, v, v, top);
            }
            vstore(out + f * PANEL + l, top), vstore(chosen + f * PANEL + l, at);
        }
}

static void largest_gradient(const float* grad, const float* chosen, Size rows, Size panels, float* into) {
    for (Size p = 0; p < panels; p++)
        for (Size i = 0; i < rows * PANEL; i++) into[p * rows * PANEL + i] = chosen[i] == (float)p ? grad[i] : 0.0f;
}

/* out = x * mask. The element's address is its row (of all panels, or of one panel if all panels drop alike) and lane. */
static void drop(const float* x, float* out, Size rows, Size panels, int alike, uint64_t key, uint64_t place, uint64_t threshold,
                 double kept, int add) {
    const Op o = {.place = place, .threshold = threshold, .number = kept};
    for (Size r = 0; r < rows * panels; r++) {
        float mask[PANEL];
        drop_mask(&o, key, alike ? r % rows : r, mask);
        EACH_LANE(l) {
            const V v = vmul(vload(x + r * PANEL + l), vload(mask + l));
            vstore(out + r * PANEL + l, add ? vadd(vload(out + r * PANEL + l), v) : v);
        }
    }
}

/* out (+)= an operation of two arrays, element by element. */
static void elementwise(int what, const float* a, const float* b, float* out, Size num, int add) {
    for (Size i = 0; i < num; i += VL) {
        const V x = vload(a + i), y = b ? vload(b + i) : x, zero = vset(0.0f), one = vset(1.0f);
        V v = x;
        switch (what) {
            case SUM: v = vadd(x, y); break;
            case COPY: v = vadd(x, zero); break; /* as if added to zeros */
            case TIMES_EACH: v = vmul(x, y); break;
            case RELU: v = vmax(x, zero); break;
            case TANH: v = vtanh(x); break;
            case SIGMOID: v = vsigmoid(x); break;
            case RELU_BACK: v = vless(zero, y, x, zero); break;               /* x: gradient, y: output */
            case TANH_BACK: v = vmul(x, vsub(one, vmul(y, y))); break;
            case SIGMOID_BACK: v = vmul(x, vmul(y, vsub(one, y))); break;
        }
        vstore(out + i, add ? vadd(vload(out + i), v) : v);
    }
}
#endif
