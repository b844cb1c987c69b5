"""The C side, for the other modules of this room: the table of kernels in use, and the guard of the floating-point mode."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from "native/ieee.h" nogil:
    ctypedef struct FloatMode:
        pass
    FloatMode enter_ieee()
    void leave_ieee(FloatMode found)

cdef extern from "native/api.h" nogil:
    ctypedef struct Matrix:
        const float* at
        int64_t step
        int turned
    ctypedef struct AdamW:
        float clip, keep, new1, old2, new2, step_size, correction, eps
    ctypedef struct Sgd:
        float clip, rate, inertia, shrink
        int nesterov
    ctypedef struct Muon:
        float clip, fresh, inertia, keep, rate
        int nesterov, iterations
    ctypedef struct Op:
        int64_t kind
    ctypedef struct Shard:
        const int64_t* ids
        const int64_t* targets
        int64_t windows, block, chunk, start
        const int64_t* before
        float* work
        uint64_t key
        double loss
    cdef enum:
        GRADIENT, SUM_OF_LOSSES, LOGITS
    ctypedef struct Lstm:
        int64_t hidden, back, out_jump, gates_jump
        float* gates
        float* cells
        float* bent
        float* out
        float* out_grad
        const float* packed
        const float* turned
    ctypedef struct Kernels:
        const char* name
        double (*sum_float)(const float* x, int64_t num) noexcept nogil
        double (*sum_double)(const double* x, int64_t num) noexcept nogil
        double (*sum_squares_float)(const float* x, int64_t num) noexcept nogil
        double (*sum_squares_double)(const double* x, int64_t num) noexcept nogil
        int64_t (*product_work)(int64_t m, int64_t k) noexcept nogil
        void (*product)(
            const Matrix* a, const Matrix* b, float* c, int64_t c_step, int64_t m, int64_t n, int64_t k, int mirror,
            float* work
        ) noexcept nogil
        void (*adamw)(float* p, const float* g, float* m, float* v, int64_t num, const AdamW* settings) noexcept nogil
        void (*sgd)(float* p, const float* g, float* m, int64_t num, const Sgd* settings) noexcept nogil
        int64_t (*muon_work)(int64_t rows, int64_t cols) noexcept nogil
        void (*orthogonalise)(
            const float* x, float* out, int64_t rows, int64_t cols, const float* abc, int num, float* work
        ) noexcept nogil
        void (*muon)(
            float* p, const float* g, float* m, int64_t rows, int64_t cols, const Muon* settings, const float* abc,
            float* work
        ) noexcept nogil
        int64_t (*program_work)(const Op* ops, int64_t num, int64_t tokens) noexcept nogil
        void (*pack_weights)(const Op* ops, int64_t num) noexcept nogil
        void (*run)(const Op* ops, int64_t num, Shard* shard, int what) noexcept nogil
        void (*pack)(float* out, const float* w, int64_t step, int64_t rows, int64_t num_k, int turned) noexcept nogil
        void (*weights_times)(
            const float* packed, int64_t rows, int64_t num_k, const float* b, int64_t b_jump, float* c, int64_t c_jump,
            int64_t panels, int then
        ) noexcept nogil
        void (*affine)(
            const float* packed, const float* bias, int64_t rows, int64_t num_k, const float* x, int64_t x_jump, float* out,
            int64_t panels
        ) noexcept nogil
        void (*weights_gradient)(
            const float* grad, int64_t rows, const float* x, int64_t x_jump, int64_t num_k, int64_t panels, float* into,
            int go_on, float* work
        ) noexcept nogil
        void (*bias_gradient)(const float* grad, int64_t rows, int64_t panels, float* into, int go_on) noexcept nogil
        void (*lstm_forward)(const Lstm* o, int64_t start, int64_t steps, const float* lengths) noexcept nogil
        void (*lstm_backward)(const Lstm* o, int64_t start, int64_t steps, const float* lengths, float* work) noexcept nogil
        void (*lstm_weights)(const Lstm* o, int64_t start, int64_t steps, float* into, int go_on, float* work) noexcept nogil
        void (*look_up)(
            const float* table, int64_t width, const int64_t* ids, float* out, int64_t out_jump, int64_t panels
        ) noexcept nogil
        void (*look_up_gradient)(
            float* into, int64_t width, const int64_t* ids, const float* grad, int64_t grad_jump, int64_t panels
        ) noexcept nogil
        void (*gather)(
            const float* x, int64_t rows, const int64_t* places, float* out, int64_t out_jump, int64_t panels
        ) noexcept nogil
        void (*gather_gradient)(
            float* into, int64_t rows, const int64_t* places, const float* grad, int64_t grad_jump, int64_t panels
        ) noexcept nogil
        void (*largest)(
            const float* x, int64_t rows, int64_t panels, const float* lengths, float* out, float* chosen
        ) noexcept nogil
        void (*largest_gradient)(
            const float* grad, const float* chosen, int64_t rows, int64_t panels, float* into
        ) noexcept nogil
        void (*drop)(
            const float* x, float* out, int64_t rows, int64_t panels, int alike, uint64_t key, uint64_t place,
            uint64_t threshold, double kept, int add
        ) noexcept nogil
        void (*elementwise)(int what, const float* a, const float* b, float* out, int64_t num, int add) noexcept nogil
        void (*pair_scores)(const float* a, int64_t n, const float* b, int64_t m, int64_t num_k, float* out) noexcept nogil
        void (*pair_gradient)(
            const float* scores, int64_t row_step, int64_t column_step, int64_t n, const float* b, int64_t m, int64_t num_k,
            float* into
        ) noexcept nogil
        double (*choice_loss)(
            float* logits, int64_t rows, const float* limits, int64_t skip, const int64_t* targets, const float* weights,
            float share, float smoothing
        ) noexcept nogil
        void (*choice_shares)(float* logits, int64_t rows, const float* limits, int64_t skip) noexcept nogil
        void (*choice_shares_gradient)(const float* p, const float* grad, int64_t rows, float* into) noexcept nogil
    int usable_kernels(const Kernels** found)

cdef const Kernels* kernels() noexcept nogil
