/* What one instruction set offers: a table of functions. The same sources fill one table per instruction set, and no entry of
   one table ever gives other bits than that of another. */
#ifndef SAMEBITS_API_H
#define SAMEBITS_API_H
#include <stdint.h>

typedef int64_t Size;

typedef struct {
    const float* at;
    Size step;  /* floats from one row in memory to the next */
    int turned; /* element (i, j) is at j * step + i */
} Matrix;

typedef struct {
    float clip, keep, new1, old2, new2, step_size, correction, eps;
} AdamW;

typedef struct {
    float clip, rate, inertia, shrink;
    int nesterov;
} Sgd;

typedef struct {
    float clip, fresh, inertia, keep, rate; /* fresh: 1 - momentum; rate: of the direction, shape factor included */
    int nesterov, iterations;
} Muon;

/* One operation of a model over panels of 32 tokens, [panel][feature][token]. Python writes these records (ops.py has the same
   list of fields, all of 8 bytes); which fields an operation uses is said where it is written. */
typedef struct {
    int64_t kind, rows, num_k; /* features of the output and of the input */
    int64_t heads, flags;
    float *x, *out, *other;  /* of the panels of a chunk, as all that follow: input, output, a second input */
    float *slope, *x_slope;  /* what the activation of this operation leaves, and what that of the input left */
    float *x_grad, *out_grad, *other_grad, *around; /* gradients; `around` is added to what is written to x_grad */
    float *weight, *weight_grad, *second, *second_grad;    /* parameters as they are stored, and their gradients */
    float *packed, *turned, *flipped;                      /* the weights packed for both products; a gradient turned over */
    float *saved, *cosines, *sines, *cache;                /* what the way back needs; of a tied embedding for all panels */
    int64_t table;    /* rows of the weights of an embedding; positions of the cosines and sines */
    int64_t capacity; /* rows of the positions of an embedding; ids of the vocabulary, for rows by several tokens */
    double number;           /* epsilon of a norm; what dropout multiplies by */
    uint64_t place;          /* dropout: number of the place, and the largest word that is dropped */
    uint64_t threshold;
} Op;

/* What a run over the operations is about. */
typedef struct {
    const int64_t *ids, *targets; /* [window][block] */
    int64_t windows, block, chunk; /* chunk: windows that go forward and back together */
    int64_t start;                 /* position of the first token: of a window 0, with a cache what was read before */
    const int64_t* before;         /* with a cache: the `start` ids that were read before */
    float* work;                   /* scratch memory, see program_work */
    uint64_t key;                  /* of dropout; 0: none */
    double loss;                   /* out: sum over the tokens */
} Shard;

enum { GRADIENT, SUM_OF_LOSSES, LOGITS }; /* what a run makes */

/* One direction of an LSTM layer over panels of sequences; all arrays are [panel][...][PANEL]. */
typedef struct {
    int64_t hidden, back, out_jump, gates_jump; /* states of this direction; read from the end?; floats between panels */
    float *gates, *cells, *bent;                /* [4 hidden], [hidden], and the tanh of the cells */
    float *out, *out_grad;                      /* first row of this direction */
    const float *packed, *turned;               /* recurrent weights (4 hidden x hidden) packed for both products */
} Lstm;

enum { SUM, TIMES_EACH, RELU, TANH, SIGMOID, RELU_BACK, TANH_BACK, SIGMOID_BACK, COPY }; /* what `elementwise` does */

typedef struct {
    const char* name;
    double (*sum_float)(const float* x, Size num);
    double (*sum_double)(const double* x, Size num);
    double (*sum_squares_float)(const float* x, Size num);
    double (*sum_squares_double)(const double* x, Size num);
    Size (*product_work)(Size m, Size k); /* floats of scratch memory */
    void (*product)(const Matrix* a, const Matrix* b, float* c, Size c_step, Size m, Size n, Size k, int mirror, float* work);
    void (*adamw)(float* p, const float* g, float* m, float* v, Size num, const AdamW*);
    void (*sgd)(float* p, const float* g, float* m, Size num, const Sgd*);
    Size (*muon_work)(Size rows, Size cols);
    void (*orthogonalise)(const float* x, float* out, Size rows, Size cols, const float* abc, int num, float* work);
    void (*muon)(float* p, const float* g, float* m, Size rows, Size cols, const Muon*, const float* abc, float* work);
    Size (*program_work)(const Op* ops, Size num, Size tokens); /* floats of scratch memory for chunks of so many tokens */
    void (*pack_weights)(const Op* ops, Size num);              /* after every change of the parameters */
    void (*run)(const Op* ops, Size num, Shard* shard, int what);
    /* of sequences.h and scores.h */
    void (*pack)(float* out, const float* w, Size step, Size rows, Size num_k, int turned);
    void (*weights_times)(const float* packed, Size rows, Size num_k, const float* b, Size b_jump, float* c, Size c_jump, Size panels,
                          int then);
    void (*affine)(const float* packed, const float* bias, Size rows, Size num_k, const float* x, Size x_jump, float* out, Size panels);
    void (*weights_gradient)(const float* grad, Size rows, const float* x, Size x_jump, Size num_k, Size panels, float* into, int go_on,
                             float* work);
    void (*bias_gradient)(const float* grad, Size rows, Size panels, float* into, int go_on);
    void (*lstm_forward)(const Lstm*, Size start, Size steps, const float* lengths);
    void (*lstm_backward)(const Lstm*, Size start, Size steps, const float* lengths, float* work);
    void (*lstm_weights)(const Lstm*, Size start, Size steps, float* into, int go_on, float* work);
    void (*look_up)(const float* table, Size width, const int64_t* ids, float* out, Size out_jump, Size panels);
    void (*look_up_gradient)(float* into, Size width, const int64_t* ids, const float* grad, Size grad_jump, Size panels);
    void (*gather)(const float* x, Size rows, const int64_t* places, float* out, Size out_jump, Size panels);
    void (*gather_gradient)(float* into, Size rows, const int64_t* places, const float* grad, Size grad_jump, Size panels);
    void (*largest)(const float* x, Size rows, Size panels, const float* lengths, float* out, float* chosen);
    void (*largest_gradient)(const float* grad, const float* chosen, Size rows, Size panels, float* into);
    void (*drop)(const float* x, float* out, Size rows, Size panels, int alike, uint64_t key, uint64_t place, uint64_t threshold, double kept,
                 int add);
    void (*elementwise)(int what, const float* a, const float* b, float* out, Size num, int add);
    void (*pair_scores)(const float* a, Size n, const float* b, Size m, Size num_k, float* out);
    void (*pair_gradient)(const float* scores, Size row_step, Size column_step, Size n, const float* b, Size m, Size num_k, float* into);
    double (*choice_loss)(float* logits, Size rows, const float* limits, Size skip, const int64_t* targets, const float* weights, float share,
                          float smoothing);
    void (*choice_shares)(float* logits, Size rows, const float* limits, Size skip);
    void (*choice_shares_gradient)(const float* p, const float* grad, Size rows, float* into);
} Kernels;

extern const Kernels kernels_avx512, kernels_avx2, kernels_neon, kernels_scalar;

/* The tables this processor can use, best first; how many there are. */
int usable_kernels(const Kernels** found);
#endif
