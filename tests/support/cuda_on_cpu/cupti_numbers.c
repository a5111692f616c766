#include "tests/support/cuda_on_cpu/cupti_numbers.h"

#if __has_include(<cupti_activity.h>)
#include <cupti.h>

#define NUMBER(name) (long)(name),
#define KERNEL(member) (long)offsetof(CUpti_ActivityKernel10, member),
#define COPY(member) (long)offsetof(CUpti_ActivityMemcpy6, member),
#define FILL(member) (long)offsetof(CUpti_ActivityMemset4, member),
#define EXTERNAL(member) (long)offsetof(CUpti_ActivityExternalCorrelation, member),
const long cupti_numbers[] = {CUPTI_NUMBERS(NUMBER) CUPTI_PLACES(KERNEL, COPY, FILL, EXTERNAL)};
const size_t cupti_number_count = sizeof cupti_numbers / sizeof *cupti_numbers;
#else
const long cupti_numbers[] = {0};
const size_t cupti_number_count = 0;
#endif
