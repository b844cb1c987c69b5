/* Everything again for NEON, which every 64-bit ARM processor has. */
#if defined(__aarch64__)
#define ISA_NEON
#define ISA neon
#include "table.h"
#else
typedef int nothing_here;
#endif
