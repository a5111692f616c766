/* Names of kernels as a reader wants them: the names in a mangled one, without its types. */
#pragma once

#include <stddef.h>

/* Writes "sluice::add" for "_ZN6sluice3addIfEEvPKT_", and what it cannot read as it is. */
void kernel_name_read(const char *symbol, char *ret_name, size_t size);
