#include "tests/support/cuda_on_cpu/cublaslt_numbers.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#define NUMBER(name) (long)(name),
#define SIZE(name) (long)sizeof(name),
const long cublaslt_numbers[] = {CUBLASLT_NUMBERS(NUMBER) CUBLASLT_SIZES(SIZE)};
const size_t cublaslt_number_count = sizeof cublaslt_numbers / sizeof *cublaslt_numbers;
#else
const long cublaslt_numbers[] = {0};
const size_t cublaslt_number_count = 0;
#endif
