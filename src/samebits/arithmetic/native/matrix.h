/* Products of plain matrices, row by row in memory: what the optimizers need, and everybody outside of a model. */
#ifndef SAMEBITS_MATRIX_H
#define SAMEBITS_MATRIX_H
#include "tiles.h"

/* Columns n0.. of b as a panel [k][PANEL], zeros beyond the last column. */
static void pack_panel(float* out, const Matrix* b, Size num_k, Size n0, Size width) {
    if (b->turned) {
        float square[16][16];
        for (Size l = 0; l < PANEL; l += 16)
            for (Size k = 0; k < num_k; k += 16) {
                const Size deep = num_k - k < 16 ? num_k - k : 16, wide = width - l < 16 ? width - l : 16;
                const float* from = b->at + (n0 + l) * b->step + k;
                if (deep == 16 && wide == 16)
                    transpose16(from, b->step, out + k * PANEL + l, PANEL);
                else {
                    transpose_edge(from, b->step, wide > 0 ? wide : 0, deep, square[0]);
                    for (Size j = 0; j < deep; j++) memcpy(out + (k + j) * PANEL + l, square[j], sizeof square[j]);
                }
            }
    } else
        for (Size k = 0; k < num_k; k++) {
            memset(out + k * PANEL, 0, PANEL * sizeof(float));
            memcpy(out + k * PANEL, b->at + k * b->step + n0, (size_t)width * sizeof(float));
        }
}

/* What lies below the diagonal of a square matrix, copied above it. */
static void copy_across(float* c, Size step, Size num) {
    for (Size i = 0; i < num; i += 16)
        for (Size j = 0; j <= i; j += 16) {
            if (j < i && i + 16 <= num) {
                transpose16(c + i * step + j, step, c + j * step + i, step);
                continue;
            }
            for (Size row = i; row < i + 16 && row < num; row++)
                for (Size column = j; column < j + 16 && column < row; column++) c[column * step + row] = c[row * step + column];
        }
}

/* Floats of scratch memory that `product` asks for. */
static Size product_work(Size m, Size k) { return (m + PANEL) * k + 16 * PANEL + 64; }

/* c (m x n, row after row) = a (m x k) * b (k x n). If `mirror`, c is known to be symmetric to the last bit: what lies above
   the diagonal is copied from below it. */
static void product(const Matrix* a, const Matrix* b, float* c, Size c_step, Size m, Size n, Size k, int mirror, float* work) {
    float *packed = work, *panel = work + (m * k + 15) / 16 * 16, *edge = panel + PANEL * k;
    const Size blocks = num_blocks(m);
    pack(packed, a->at, a->step, m, k, a->turned);
    for (Size n0 = 0; n0 < n; n0 += PANEL) {
        const Size width = n - n0 < PANEL ? n - n0 : PANEL;
        const int direct = !b->turned && width == PANEL;
        if (!direct) pack_panel(panel, b, k, n0, width);
        Tile t = {.num_k = k, .then = STORE, .b_step = direct ? b->step : PANEL, .c_step = width == PANEL ? c_step : PANEL};
        for (Size q = 0; q < blocks; q++) {
            const Size m0 = m * q / blocks, m1 = m * (q + 1) / blocks;
            if (mirror && m1 <= n0) continue; /* wholly above the diagonal */
            t.a = packed + m0 * k, t.a_step = m1 - m0;
            for (int lane = 0; lane < PANEL; lane += TILE_V * VL) {
                t.b = (direct ? b->at + n0 : panel) + lane;
                t.c = (width == PANEL ? c + m0 * c_step + n0 : edge) + lane;
                big_tiles[ACROSS][m1 - m0](&t);
            }
            if (width < PANEL)
                for (Size i = m0; i < m1; i++)
                    memcpy(c + i * c_step + n0, edge + (i - m0) * PANEL, (size_t)width * sizeof(float));
        }
    }
    if (mirror) copy_across(c, c_step, m);
}
#endif
