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
        float* work
        uint64_t key
        double loss
    cdef enum:
        GRADIENT, SUM_OF_LOSSES, LOGITS
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
    int usable_kernels(const Kernels** found)

cdef const Kernels* kernels() noexcept nogil
