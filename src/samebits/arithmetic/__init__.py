"""Arithmetic 1: floating-point numbers with the same bits on every CPU, for any compiler, C library and NumPy.

Everything here is made of operations that IEEE 754 rounds correctly (+ - * / sqrt, fused multiply-add, conversions) in an
order that is written down in docs/reference/arithmetic-1.md. Instruction sets only decide how many elements are done at once:

=================================  ======================================================================================
``functions``                      ``exp log sin cos tanh erf`` of a number, a float32 or a float64 array; ``power(x, y)``;
                                   ``normal(rng, shape)``, normal numbers from the raw bits of a generator
``matrices``                       ``product(a, b, transpose_a=, transpose_b=, out=)`` of float32 matrices; ``total(x)`` and
                                   ``sum_squares(x)`` in double, in one order
``updates``                        ``adamw``, ``sgd`` of a slice in place; ``muon`` of a whole matrix in place,
                                   ``orthogonalise``, ``muon_work``
``tape``, ``program``              a model recorded once (``Tape``), then run for every batch (``Program``): losses,
                                   gradients, logits, reading on with a cache
``selftest``                       ``check_machine()`` refuses a machine whose kernels differ, in milliseconds
=================================  ======================================================================================

``isa()`` names the instruction set in use, ``usable()`` those of this processor, and the variable ``SAMEBITS_ISA`` (avx512,
avx2, neon, scalar) asks for another; ``use(name)`` does so from inside a test. No choice changes a result.
"""

from samebits.arithmetic._native import isa, usable, use

__all__ = ["VERSION", "isa", "usable", "use"]

VERSION = 1  # a change of any bit of any function here is a new number
