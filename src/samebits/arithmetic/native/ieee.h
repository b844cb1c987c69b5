/* The rounding mode and the treatment of tiny numbers belong to the thread, and other libraries change them (anything
   linked with -ffast-math may). Every door into this room sets what IEEE 754 says and gives back what it found. */
#ifndef SAMEBITS_IEEE_H
#define SAMEBITS_IEEE_H
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
typedef unsigned FloatMode;
static inline FloatMode enter_ieee(void) {
    const FloatMode found = _mm_getcsr();
    _mm_setcsr(0x1f80); /* exceptions masked, round to nearest, nothing flushed to zero */
    return found;
}
static inline void leave_ieee(FloatMode found) { _mm_setcsr(found); }
#elif defined(__aarch64__)
typedef uint64_t FloatMode;
static inline FloatMode enter_ieee(void) {
    FloatMode found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"((FloatMode)0) : "memory");
    return found;
}
static inline void leave_ieee(FloatMode found) { __asm__ volatile("msr fpcr, %0" ::"r"(found) : "memory"); }
#else
typedef int FloatMode;
static inline FloatMode enter_ieee(void) { return 0; }
static inline void leave_ieee(FloatMode found) { (void)found; }
#endif
#endif
