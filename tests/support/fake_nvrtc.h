/* NVRTC in a test: the C++ compiler of this machine makes shared objects for the CPU of the sources that it
 * is given (tests/support/cuda_on_cpu/code.h), with the headers that come with them and with no other file of
 * the kernels. Where there is no compiler, fake_nvrtc_table is of no use.
 *
 * Threads: any. */
#pragma once

#include "worker/cuda/libraries.h"

extern const CudaNvrtc fake_nvrtc_table;

/* Returns whether there is a compiler. */
bool fake_nvrtc_can_compile(void);

typedef struct FakeNvrtc {
    int compiled;        /* atomic: calls of nvrtcCompileProgram() */
    int fails;           /* atomic: not 0: every compilation fails */
    int waits;           /* atomic: not 0: every compilation waits until it is 0 */
    const char *replace; /* a text in the headers, in whose place stands `by`; NULL: none */
    const char *by;
} FakeNvrtc;

extern FakeNvrtc fake_nvrtc;
