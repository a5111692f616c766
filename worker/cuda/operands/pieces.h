/* Rows of elements, moved in pieces as large as they allow. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the size of the largest pieces as which rows of *inner elements can be moved, and puts their number
 * in the place of *inner. */
size_t cuda_cut_rows(size_t element_size, int64_t *inner, const void *from, const void *to);
