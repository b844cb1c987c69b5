"""Which instruction set computes: the best one of this processor, or the one that SAMEBITS_ISA names.

The choice never changes a result. All instruction sets are in this one module; the others reach them through ``kernels()``.
"""

import os

from samebits.errors import ConfigError

cdef const Kernels* _chosen = NULL
cdef const Kernels* _usable[4]
cdef int _num_usable = usable_kernels(_usable)


cdef const Kernels* kernels() noexcept nogil:
    return _chosen


def usable():
    """Return the names of the instruction sets that this processor has, best first; ``scalar`` is always there."""
    return tuple((<bytes> _usable[i].name).decode() for i in range(_num_usable))


def isa():
    """Return the name of the instruction set in use."""
    return (<bytes> _chosen.name).decode()


def use(name):
    """Compute with another instruction set from now on: for tests, which compare their bits.

    Raises:
        ConfigError: if this processor does not have it.
    """
    global _chosen
    names = usable()
    if name not in names:
        raise ConfigError(
            f"the instruction set {name!r} cannot be used here", hint=f"SAMEBITS_ISA may be one of: {', '.join(names)}"
        )
    _chosen = _usable[names.index(name)]


use(os.environ.get("SAMEBITS_ISA") or usable()[0])
