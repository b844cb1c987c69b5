"""STEPS. Synchronous data-parallel training whose bits do not depend on the number of workers.

A step is cut into G gradient shards, given by the settings and never by the workers. Each is computed on one math thread;
their gradients are added in one fixed binary tree over shard numbers, whoever computed them. So 1, 2, 3 or G workers, a
kill and a resume on another number of them all end with the same weights to the last bit.

Read in the order of a run: ``problem`` (what is trained: objective, config, layout, schedule) -> ``parent`` (``train``, ``attempts``, its
``processes``, ``checkpoints``) -> ``worker`` (``process``, ``step``, ``optimizers``) -> ``exchange`` (``tree``, shared ``memory``, ``barrier``; between
ranks of torchrun ``ranks``, with ``exchange_plan`` and ``notices``). ``logs`` writes what a run leaves, ``verification`` compares two of them.
"""
