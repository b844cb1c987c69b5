/* The table of one instruction set, from all sources of this folder. */
#include "program.h"
#include "scores.h"
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
    .pack = pack,
    .weights_times = weights_times,
    .affine = affine,
    .weights_gradient = weights_gradient,
    .bias_gradient = bias_gradient,
    .lstm_forward = lstm_forward,
    .lstm_backward = lstm_backward,
    .lstm_weights = lstm_weights,
    .look_up = look_up,
    .look_up_gradient = look_up_gradient,
    .gather = gather,
    .gather_gradient = gather_gradient,
    .largest = largest,
    .largest_gradient = largest_gradient,
    .drop = drop,
    .elementwise = elementwise,
    .pair_scores = pair_scores,
    .pair_gradient = pair_gradient,
    .choice_loss = choice_loss,
    .choice_shares = choice_shares,
    .choice_shares_gradient = choice_shares_gradient,
};
