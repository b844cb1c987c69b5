/* Tiles of products: every element is one chain of fused multiply-adds over ascending k, so the bits do not depend on
   tile sizes, vector widths or on where a chain is interrupted (it goes on from what was stored).

   C(m, n) = sum over k of A(m, k) * B(k, n), n along the lanes. B is a panel: rows k, `b_step` apart. A comes in two forms:
   ACROSS: A(m, k) = a[k * a_step + m]                  neighbours are rows of the tile (packed weights; keys)
   ALONG:  A(m, k) = a[m * PANEL + place(from + k)]     neighbours are steps of the sum, PANEL tokens in a piece, and
                                                        `a_jump` from one piece to the next (activations) */
#ifndef SAMEBITS_TILES_H
#define SAMEBITS_TILES_H
#include "vector_math.h"

enum { ACROSS, ALONG };
enum { STORE, GO_ON, ADD, TIMES, RELU2, GELU }; /* what happens to a finished tile; GO_ON: begins from what is stored */

typedef struct {
    const float* a;
    Size a_step, a_jump, from, num_k;
    const float* b;
    Size b_step;
    float* c;
    Size c_step;
    float* x; /* second matrix of the epilogue, steps of c: read by ADD and TIMES, written (the slope) by RELU2 and GELU */
    int then;
} Tile;

#define AHEAD 128 /* how many floats of packed weights to ask for in advance */

/* Tiles are written out by macros, one variable per register: left to a loop over an array, gcc keeps them in registers and
   clang does not. Steps of c are read late (volatile), or gcc computes thirty addresses before the loop and spills them. */
#define COLS1(M, i) M(i, 0)
#define COLS2(M, i) M(i, 0) M(i, 1)
#define COLS4(M, i) COLS2(M, i) M(i, 2) M(i, 3)
#define REP1(C, M) C(M, 0)
#define REP2(C, M) REP1(C, M) C(M, 1)
#define REP3(C, M) REP2(C, M) C(M, 2)
#define REP4(C, M) REP3(C, M) C(M, 3)
#define REP5(C, M) REP4(C, M) C(M, 4)
#define REP6(C, M) REP5(C, M) C(M, 5)
#define REP7(C, M) REP6(C, M) C(M, 6)
#define REP8(C, M) REP7(C, M) C(M, 7)
#define REP9(C, M) REP8(C, M) C(M, 8)
#define REP10(C, M) REP9(C, M) C(M, 9)
#define REP11(C, M) REP10(C, M) C(M, 10)
#define REP12(C, M) REP11(C, M) C(M, 11)
#define REP13(C, M) REP12(C, M) C(M, 12)
#define REP14(C, M) REP13(C, M) C(M, 13)
#define REP15(C, M) REP14(C, M) C(M, 14)
#define REP16(C, M) REP15(C, M) C(M, 15)
#define OUT(i, j) (out + (i) * c_step + (j) * VL)
#define OTHER(i, j) (x + (i) * c_step + (j) * VL)
#define DO_ZERO(i, j) V c##i##_##j = vset(0.0f);
#define DO_LOAD(i, j) c##i##_##j = vload(OUT(i, j));
#define DO_ROW(i, j) const V b##j = vload(b + (j) * VL);
#define DO_ACROSS(i, j) c##i##_##j = vfma(vset(a[i]), b##j, c##i##_##j);
#define DO_ALONG(i, j) c##i##_##j = vfma(vset(a[(i) * a_step]), b##j, c##i##_##j);
#define DO_STORE(i, j) vstore(OUT(i, j), c##i##_##j);
#define DO_ADD(i, j) vstore(OUT(i, j), vadd(c##i##_##j, vload(OTHER(i, j))));
#define DO_TIMES(i, j) vstore(OUT(i, j), vmul(c##i##_##j, vload(OTHER(i, j))));
#define DO_RELU2(i, j)                            \
    {                                             \
        const V u = vmax(c##i##_##j, vset(0.0f)); \
        vstore(OTHER(i, j), vadd(u, u));          \
        vstore(OUT(i, j), vmul(u, u));            \
    }
#define BEGIN(R, C)                                            \
    const float *a = t->a, *b = t->b;                          \
    const Size b_step = t->b_step;                             \
    R(C, DO_ZERO)                                              \
    if (t->then == GO_ON) {                                    \
        float* const out = t->c;                               \
        const Size c_step = *(volatile const Size*)&t->c_step; \
        R(C, DO_LOAD)                                          \
    }
#define END(R, C, rows)                                                   \
    float* const out = *(float* volatile const*)&t->c;                    \
    float* const x = *(float* volatile const*)&t->x;                      \
    const Size c_step = *(volatile const Size*)&t->c_step;                \
    switch (t->then) {                                                    \
        case ADD: R(C, DO_ADD) break;                                     \
        case TIMES: R(C, DO_TIMES) break;                                 \
        case RELU2: R(C, DO_RELU2) break;                                 \
        case GELU: R(C, DO_STORE) gelu_tile(out, x, c_step, rows); break; \
        default: R(C, DO_STORE)                                           \
    }
#define MAKE(kind, rows, R, C)                                              \
    NOINLINE void kind##_across_##rows(const Tile* t) {                     \
        BEGIN(R, C)                                                         \
        const Size a_step = t->a_step;                                      \
        for (Size k = t->num_k; k > 0; k--, a += a_step, b += b_step) {     \
            __builtin_prefetch(a + AHEAD);                                  \
            C(DO_ROW, 0) R(C, DO_ACROSS)                                    \
        }                                                                   \
        END(R, C, rows)                                                     \
    }                                                                       \
    NOINLINE void kind##_along_##rows(const Tile* t) {                      \
        BEGIN(R, C)                                                         \
        enum { a_step = PANEL };                                            \
        const Size end = t->from + t->num_k;                                \
        for (Size k = t->from; k < end;) {                                  \
            const float* stop;                                              \
            a = t->a + k / PANEL * t->a_jump + k % PANEL;                   \
            stop = a + (PANEL - k % PANEL);                                 \
            if (end / PANEL == k / PANEL) stop = a + (end - k);             \
            k += stop - a;                                                  \
            for (; a < stop; a++, b += b_step) {                            \
                C(DO_ROW, 0) R(C, DO_ALONG)                                 \
            }                                                               \
        }                                                                   \
        END(R, C, rows)                                                     \
    }

/* Too long to be written out for every register: the tile is stored and read again. */
NOINLINE void gelu_tile(float* out, float* x, Size c_step, Size rows) {
    for (Size i = 0; i < rows; i++)
        for (int l = 0; l < TILE_V * VL; l += VL) {
            V slope;
            vstore(out + i * c_step + l, vgelu(vload(out + i * c_step + l), &slope));
            vstore(x + i * c_step + l, slope);
        }
}

typedef void TileFunction(const Tile*);
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define BIG(n) MAKE(big, n, REP##n, JOIN(COLS, TILE_V))
#define HEAD(n) MAKE(head, n, REP##n, JOIN(COLS, HEAD_V))
#define LIST4(F) F(1) F(2) F(3) F(4)
#define LIST6(F) LIST4(F) F(5) F(6)
#define LIST14(F) LIST6(F) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14)
#define LIST16(F) LIST14(F) F(15) F(16)
#define BIG_ACROSS(n) big_across_##n,
#define BIG_ALONG(n) big_along_##n,
#define HEAD_ACROSS(n) head_across_##n,
#define HEAD_ALONG(n) head_along_##n,
#if TILE_R == 14
LIST14(BIG)
LIST16(HEAD)
static TileFunction* const big_tiles[2][17] = {{0, LIST14(BIG_ACROSS)}, {0, LIST14(BIG_ALONG)}};
static TileFunction* const head_tiles[2][17] = {{0, LIST16(HEAD_ACROSS)}, {0, LIST16(HEAD_ALONG)}};
#elif TILE_R == 6
LIST6(BIG)
static TileFunction* const big_tiles[2][17] = {{0, LIST6(BIG_ACROSS)}, {0, LIST6(BIG_ALONG)}};
#define head_tiles big_tiles
#else
LIST4(BIG)
static TileFunction* const big_tiles[2][17] = {{0, LIST4(BIG_ACROSS)}, {0, LIST4(BIG_ALONG)}};
#define head_tiles big_tiles
#endif

/* Rows are cut into as few blocks as possible, of nearly equal size. */
INLINE Size num_blocks(Size rows) { return (rows + TILE_R - 1) / TILE_R; }

/* Ask for a tile that will be read next: by the time one product is done, it is there. */
INLINE void fetch_tile(const float* at, Size step, Size rows) {
    for (Size i = 0; i < rows; i++)
        for (int l = 0; l < TILE_V * VL; l += 16) __builtin_prefetch(at + i * step + l);
}

/* `rows` (up to 16) lines of 16 floats, turned; lines beyond `rows` and columns beyond `cols` count as zero. */
INLINE void transpose_edge(const float* in, Size in_step, Size rows, Size cols, float* out) {
    float lines[16][16] = {{0}};
    for (Size i = 0; i < rows; i++) memcpy(lines[i], in + i * in_step, (size_t)cols * sizeof(float));
    transpose16(lines[0], 16, out, 16);
}

/* `num` lines of r floats, `step` apart, become neighbours. The first `quick` go by whole vectors, which read and write beyond the
   end of their line; what is too much is written over by the lines that follow. */
INLINE void copy_lines(float* out, Size r, const float* from, Size step, Size num, Size quick) {
    for (Size k = 0; k < quick; k++)
        for (Size i = 0; i < r; i += VL) vstore(out + k * r + i, vload(from + k * step + i));
    for (Size k = quick; k < num; k++) memcpy(out + k * r, from + k * step, (size_t)r * sizeof(float));
}

/* Rows of a matrix with those of each block next to each other: [block][k][row]. Element (row, k) of `w` is at
   row * step + k, or at k * step + row if `turned`. */
static void pack(float* out, const float* w, Size step, Size rows, Size num_k, int turned) {
    const Size blocks = num_blocks(rows);
    float square[16][16];
    for (Size q = 0; q < blocks; q++) {
        const Size m0 = rows * q / blocks, m1 = rows * (q + 1) / blocks, r = m1 - m0;
        const Size quick = num_k > 16 ? num_k - 16 : 0; /* a vector ends at most 15 floats behind its line, before the last one does */
        if (turned)
            copy_lines(out, r, w + m0, step, num_k, quick);
        else
            for (Size k = 0; k < num_k; k += 16) {
                const float* from = w + m0 * step + k;
                const Size width = num_k - k < 16 ? num_k - k : 16;
                if (m0 + 16 <= rows && width == 16)
                    transpose16(from, step, square[0], 16);
                else
                    transpose_edge(from, step, r, width, square[0]);
                copy_lines(out + k * r, r, square[0], 16, width, quick < k ? 0 : quick - k < width ? quick - k : width);
            }
        out += r * num_k;
    }
}
#endif
