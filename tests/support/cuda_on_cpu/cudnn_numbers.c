#include "tests/support/cuda_on_cpu/cudnn_numbers.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

#define NUMBER(name) (long)(name),
#define SIZE(name) (long)sizeof(name),
const long cudnn_numbers[] = {CUDNN_NUMBERS(NUMBER) CUDNN_SIZES(SIZE)};
const size_t cudnn_number_count = sizeof cudnn_numbers / sizeof *cudnn_numbers;
#else
const long cudnn_numbers[] = {0};
const size_t cudnn_number_count = 0;
#endif
