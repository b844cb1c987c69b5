/* The table of one instruction set, from all sources of this folder. */
#include "program.h"
#include "updates.h"

#define TABLE_(isa) kernels_##isa
#define TABLE(isa) TABLE_(isa)
#define NAME_(isa) #isa
#define NAME(isa) NAME_(isa)

const Kernels TABLE(ISA) = {
    .name = NAME(ISA),
    .sum_float = sum_float,
    .sum_double = sum_double,
    .sum_squares_float = sum_squares_float,
    .sum_squares_double = sum_squares_double,
    .product_work = product_work,
    .product = product,
    .adamw = adamw,
    .sgd = sgd,
    .muon_work = muon_work,
    .orthogonalise = orthogonalise,
    .muon = muon,
    .program_work = program_work,
    .pack_weights = pack_weights,
    .run = run,
};
