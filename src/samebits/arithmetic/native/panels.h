/* Products of a model: weights times panels of tokens, and panels times panels for the gradient of weights. */
#ifndef SAMEBITS_PANELS_H
#define SAMEBITS_PANELS_H
#include "tiles.h"

#define EACH_LANE(l) for (int l = 0; l < PANEL; l += VL)
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

/* c[panel][m][token] = weights * b[panel][k][token]; the weights are packed, and a block of them stays in the first cache while
   all panels go by. */
static void times_weights(const float* packed, Size rows, Size num_k, const float* b, float* c, float* x, Size panels, int then) {
    const Size blocks = num_blocks(rows);
    Tile t = {.b_step = PANEL, .c_step = PANEL, .num_k = num_k, .then = then};
    for (Size q = 0; q < blocks; q++) {
        const Size m0 = rows * q / blocks, m1 = rows * (q + 1) / blocks;
        t.a = packed + m0 * num_k;
        t.a_step = m1 - m0;
        for (Size p = 0; p < panels; p++)
            for (int lane = 0; lane < PANEL; lane += TILE_V * VL) {
                t.b = b + p * num_k * PANEL + lane;
                t.c = c + (p * rows + m0) * PANEL + lane;
                t.x = x ? x + (p * rows + m0) * PANEL + lane : 0;
                if (then == ADD || then == TIMES) fetch_tile(t.x, PANEL, m1 - m0);
                big_tiles[ACROSS][m1 - m0](&t);
            }
    }
}

/* The last columns of a gradient, fewer than a panel: through a buffer of its own. */
static void times_tokens_edge(Tile* t, Size rows, float* c, Size cols, Size width, float* edge, int go_on) {
    float* const from = (float*)t->b;
    for (Size i = 0; go_on && i < rows; i++) memcpy(edge + i * PANEL, c + i * cols, (size_t)width * sizeof(float));
    t->c_step = PANEL;
    for (int lane = 0; lane < PANEL; lane += TILE_V * VL) {
        t->b = from + lane;
        t->c = edge + lane;
        big_tiles[ALONG][rows](t);
    }
    for (Size i = 0; i < rows; i++) memcpy(c + i * cols, edge + i * PANEL, (size_t)width * sizeof(float));
    t->c_step = cols;
}

/* Gradient of weights: c[m][n] (+)= sum over `tokens` tokens of a(m, token) * b(token, n). a: panels of tokens,
   [panel][rows][PANEL], `a_jump` apart; b: panels of features, [panel][token][PANEL]. The caller goes on where the last tokens ended. */
static void times_tokens_apart(const float* a, Size a_jump, Size rows, const float* b, Size cols, Size tokens, float* c, int go_on) {
    const Size blocks = num_blocks(rows);
    float edge[16 * PANEL] = {0};
    Tile t = {.a_jump = a_jump, .num_k = tokens, .b_step = PANEL, .c_step = cols, .then = go_on ? GO_ON : STORE};
    for (Size q = 0; q < blocks; q++) {
        const Size m0 = rows * q / blocks, m1 = rows * (q + 1) / blocks;
        t.a = a + m0 * PANEL;
        for (Size n = 0; n < cols; n += PANEL) {
            if (cols - n < PANEL) {
                t.b = b + n * tokens;
                times_tokens_edge(&t, m1 - m0, c + m0 * cols + n, cols, cols - n, edge, go_on);
                continue;
            }
            for (int lane = 0; lane < PANEL; lane += TILE_V * VL) {
                t.b = b + n * tokens + lane;
                t.c = c + m0 * cols + n + lane;
                if (go_on) {
                    const int next = lane + TILE_V * VL;
                    if (n + next < cols) fetch_tile(c + m0 * cols + n + next, cols, m1 - m0);
                    else if (m1 < rows) fetch_tile(c + m1 * cols, cols, m1 - m0 < rows - m1 ? m1 - m0 : rows - m1);
                }
                big_tiles[ALONG][m1 - m0](&t);
            }
        }
    }
}

static void times_tokens(const float* a, Size rows, const float* b, Size cols, Size tokens, float* c, int go_on) {
    times_tokens_apart(a, rows * PANEL, rows, b, cols, tokens, c, go_on);
}

/* Products of attention: c is rows x 16. Arguments, not a struct that is filled with zeros first: gcc does that by `rep stos`,
   which costs as much as a small product. */
static inline void head_product(const int form, Size rows, const float* a, Size a_gap, Size from, Size num_k, const float* b, Size b_step,
                                float* c, Size c_step, int then) {
    const Size blocks = (rows + HEAD_R - 1) / HEAD_R;
    Tile t;
    t.a_step = t.a_jump = a_gap;
    t.from = from, t.num_k = num_k, t.b_step = b_step, t.c_step = c_step, t.x = 0, t.then = then;
    for (Size q = 0; q < blocks; q++) {
        const Size m0 = rows * q / blocks, m1 = rows * (q + 1) / blocks;
        t.a = a + (form == ACROSS ? m0 : m0 * PANEL);
        for (int lane = 0; lane < 16; lane += HEAD_V * VL) {
            t.b = b + lane;
            t.c = c + m0 * c_step + lane;
            head_tiles[form][m1 - m0](&t);
        }
    }
}

/* Panels of tokens, [panel][rows][PANEL], become [panel of features][token][PANEL]. */
static void turn(const float* in, Size rows, Size panels, float* out) {
    const Size tokens = panels * PANEL;
    for (Size p = 0; p < panels; p++, in += rows * PANEL)
        for (Size f = 0; f < rows; f += 16)
            for (Size l = 0; l < PANEL; l += 16) {
                const float* from = in + f * PANEL + l;
                float* to = out + f / PANEL * PANEL * tokens + (p * PANEL + l) * PANEL + f % PANEL;
                if (f + 16 <= rows) {
                    transpose16(from, PANEL, to, PANEL);
                    continue;
                }
                float square[16][16];
                transpose_edge(from, PANEL, rows - f, 16, square[0]);
                for (int i = 0; i < 16; i++) memcpy(to + i * PANEL, square[i], sizeof square[i]);
            }
}

/* out[j][i] = in[i][j] of a whole matrix, rows x cols. */
static void turn_over(const float* in, Size rows, Size cols, float* out) {
    for (Size i = 0; i < rows; i += 16)
        for (Size j = 0; j < cols; j += 16) {
            const Size deep = rows - i < 16 ? rows - i : 16, wide = cols - j < 16 ? cols - j : 16;
            if (deep == 16 && wide == 16) {
                transpose16(in + i * cols + j, cols, out + j * rows + i, rows);
                continue;
            }
            float square[16][16];
            transpose_edge(in + i * cols + j, cols, deep, wide, square[0]);
            for (Size n = 0; n < wide; n++) memcpy(out + (j + n) * rows + i, square[n], (size_t)deep * sizeof(float));
        }
}
#endif
