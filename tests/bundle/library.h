/* What programs of the bundle that use NVIDIA's libraries through the plugin's own code share. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

/* Ends the program when a call fails. */
void library_must(int error, const char *what);

/* Opens the libraries in the folders of SLUICE_CUDA_LIBRARIES, between which it has ','. */
void library_open_all(void);

/* Prints "skipped: …" with the reason why the library of this name is not there. */
void library_print_skipped(const char *name);

/* Makes numbers from -1 to 1 in the card's memory, of a floating type but float64: on zeros, products are
 * faster. */
void *library_draw(CudaType type, size_t count);
