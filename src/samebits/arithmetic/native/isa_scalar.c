/* Everything one number at a time: for any processor, and the reference that the others are compared with. The fused
   multiply-add is the C library's fmaf, which is exact with and without hardware for it. */
#define ISA_SCALAR
#define ISA scalar
#include "table.h"
