/* Causal attention of one head, forward and backward; see lm_lanes.h for what is included twice and why.

   Everything is made of one sum, `combine`: sixteen neighbouring numbers of many rows, each row times a factor.

   A row of the token matrix is q | k | v, each `dim` wide; pointers point at a head's own columns. Rows of probabilities are
   `width` wide, the block rounded up to 16, and 0 at first; what lies after position i stays 0, which is why sums may run on to
   the next multiple of four. */

#include "lanes.h"

/* out[0..16) = sum over m < num of factor[m * jump] * rows[m * stride + 0..16) */
INLINE void NAME(combine_)(REAL* out, const REAL* factor, Py_ssize_t jump, const REAL* rows, Py_ssize_t stride,
                           Py_ssize_t num) {
    EIGHT left = {0}, right = {0};
    for (; num >= 4; num -= 4) {
        const REAL a = factor[0], b = factor[jump], c = factor[2 * jump], d = factor[3 * jump];
        const REAL *p = rows, *q = rows + stride, *r = rows + 2 * stride, *s = rows + 3 * stride;
        left += (a * AT(p) + b * AT(q)) + (c * AT(r) + d * AT(s));
        right += (a * AT(p + 8) + b * AT(q + 8)) + (c * AT(r + 8) + d * AT(s + 8));
        factor += 4 * jump;
        rows += 4 * stride;
    }
    for (; num > 0; num--) {
        left += *factor * AT(rows);
        right += *factor * AT(rows + 8);
        factor += jump;
        rows += stride;
    }
    PUT(out, left);
    PUT(out + 8, right);
}

/* -1 in the first n of eight lanes, by reading at 8 - n */
static const INT NAME(first_lanes_)[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
#define FIRST(n) (*(const INTS*)(NAME(first_lanes_) + 8 - (n)))

/* num scores become probabilities; the rest of the tile of sixteen 0, what follows was never written */
INLINE void NAME(softmax_)(REAL* p, Py_ssize_t num, REAL scale) {
    const Py_ssize_t last = (num - 1) / 8 * 8;
    const INTS mine = FIRST(num - last);
    const EIGHT known = ALL(p[0]); /* for the lanes that look ahead */
    const EIGHT ends = (EIGHT)((mine & (INTS)AT(p + last)) | (~mine & (INTS)known));
    EIGHT most = ends, sum = {0};
    for (Py_ssize_t j = 0; j < last; j += 8) most = GREATER(AT(p + j), most);
    const REAL top = MOST(most);
    for (Py_ssize_t j = 0; j < last; j += 8) {
        EIGHT e = (AT(p + j) - top) * scale;
        NAME(exp_)(&e);
        PUT(p + j, e);
        sum += e;
    }
    EIGHT e = (ends - top) * scale;
    NAME(exp_)(&e);
    e = (EIGHT)(mine & (INTS)e);
    sum += e;
    const REAL factor = 1 / TOTAL(sum);
    for (Py_ssize_t j = 0; j < last; j += 8) PUT(p + j, AT(p + j) * factor);
    PUT(p + last, e * factor);
    if (last % 16 == 0) PUT(p + last + 8, (EIGHT){0});
}

/* the gradient of num probabilities becomes that of scores; the rest of the tile 0, as the probabilities there are */
INLINE void NAME(softmax_back_)(REAL* grad, const REAL* p, Py_ssize_t num, REAL scale) {
    const Py_ssize_t stop = (num + 15) / 16 * 16;
    EIGHT sum = {0};
    for (Py_ssize_t j = 0; j < stop; j += 8) sum += AT(p + j) * AT(grad + j);
    const REAL mean = TOTAL(sum);
    for (Py_ssize_t j = 0; j < stop; j += 8) PUT(grad + j, AT(p + j) * (AT(grad + j) - mean) * scale);
}

/* num rows of `size` become columns; each of the `size` rows of the result is `width` long, the rest 0 */
INLINE void NAME(transpose_)(const REAL* rows, Py_ssize_t stride, Py_ssize_t num, Py_ssize_t size, Py_ssize_t width, REAL* out) {
    for (Py_ssize_t c = 0; c < size; c++) memset(out + c * width + num, 0, (width - num) * sizeof *out);
    for (Py_ssize_t j = 0; j < num; j++)
        for (Py_ssize_t c = 0; c < size; c++) out[c * width + j] = rows[j * stride + c];
}

/* The next multiple of four if the block has so many rows. */
#define ON(num, block) (((num) + 3) / 4 * 4 <= (block) ? ((num) + 3) / 4 * 4 : (num))

CLONES static void NAME(head_forward_)(const REAL* q, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size, Py_ssize_t width,
                                       REAL scale, REAL* keys, REAL* p, REAL* out) {
    const Py_ssize_t step = 3 * dim;
    NAME(transpose_)(q + dim, step, block, size, width, keys);
    for (Py_ssize_t i = 0; i < block; i++) {
        REAL* row = p + i * width;
        for (Py_ssize_t j = 0; j <= i; j += 16) NAME(combine_)(row + j, q + i * step, 1, keys + j, width, size);
        NAME(softmax_)(row, i + 1, scale);
        for (Py_ssize_t c = 0; c < size; c += 16)
            NAME(combine_)(out + i * dim + c, row, 1, q + 2 * dim + c, step, ON(i + 1, block));
    }
}

CLONES static void NAME(head_backward_)(const REAL* q, const REAL* grad_out, Py_ssize_t dim, Py_ssize_t block, Py_ssize_t size,
                                        Py_ssize_t width, REAL scale, REAL* values, REAL* scores, const REAL* p, REAL* grad) {
    const Py_ssize_t step = 3 * dim;
    NAME(transpose_)(q + 2 * dim, step, block, size, width, values);
    for (Py_ssize_t i = 0; i < block; i++) {
        REAL* row = scores + i * width;
        for (Py_ssize_t j = 0; j <= i; j += 16) NAME(combine_)(row + j, grad_out + i * dim, 1, values + j, width, size);
        NAME(softmax_back_)(row, p + i * width, i + 1, scale);
        for (Py_ssize_t c = 0; c < size; c += 16)
            NAME(combine_)(grad + i * step + c, row, 1, q + dim + c, step, ON(i + 1, block));
    }
    for (Py_ssize_t j = 0; j < block; j++) { /* only position j and later ones saw key and value j */
        const Py_ssize_t from = j / 4 * 4;
        REAL *grad_key = grad + dim + j * step, *grad_value = grad_key + dim;
        for (Py_ssize_t c = 0; c < size; c += 16) {
            NAME(combine_)(grad_key + c, scores + from * width + j, width, q + from * step + c, step, block - from);
            NAME(combine_)(grad_value + c, p + from * width + j, width, grad_out + from * dim + c, dim, block - from);
        }
    }
}
