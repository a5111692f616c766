/* Places of values in sorted lines, found by halving: before the first element that is not below the value,
 * or behind the last that is not above it. */
#include "shared/base/clock.h"
#include "shared/ops/order/beyond.h"
#include "worker/reference/elements.h"
#include "worker/reference/outputs.h"
#include "worker/runtime/kernel.h"

typedef struct Search {
    const void *sorted;
    const void *value;
    int64_t count;
    bool is_upper;
} Search;

typedef int64_t (*FindBound)(const Search *search);

/* The comparisons are those of std::lower_bound and std::upper_bound, which say where a NaN comes out. */
#define BOUND_LOOP(name, ignored, upper, lower, storage, compute, read, write)                               \
    static int64_t name##_##lower(const Search *search)                                                      \
    {                                                                                                        \
        const storage *sorted = search->sorted;                                                              \
        compute value = read(*(const storage *)search->value);                                               \
        int64_t first = 0;                                                                                   \
        int64_t count = search->count;                                                                       \
        while (count > 0) {                                                                                  \
            int64_t half = count / 2;                                                                        \
            compute middle = read(sorted[first + half]);                                                     \
            bool is_behind = search->is_upper ? !(value < middle) : middle < value;                          \
            first = is_behind ? first + half + 1 : first;                                                    \
            count = is_behind ? count - half - 1 : half;                                                     \
        }                                                                                                    \
        return first;                                                                                        \
    }

REAL_ELEMENTS(BOUND_LOOP, bound, )

static const FindBound bounds[DTYPE_COUNT] = {REAL_LOOPS(bound)};

static bool
bounds_supports(const Node *node)
{
    return bounds[node->input_dtypes[0]] != NULL &&
           (node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64);
}

static Status
find_bounds(KernelContext *context, bool is_upper)
{
    enum { VALUES_BETWEEN_CHECKS = 1 << 14 };
    const Tensor *sorted = &context->inputs[0];
    const Tensor *values = &context->inputs[1];
    size_t size = dtype_size(sorted->dtype);
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    Search search = {.count = sorted->shape.dims[1], .is_upper = is_upper};
    if (output->dtype == DTYPE_INT32 && search.count > INT32_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld places do not fit into int32",
            (long long)search.count);
    }
    for (int64_t n = 0; n < tensor_element_count(values); n++) {
        if (n % VALUES_BETWEEN_CHECKS == 0) {
            TRY(call_check(context->call, clock_monotonic_ns()));
        }
        int64_t row = n / values->shape.dims[1];
        search.sorted = (const char *)sorted->data + (size_t)(row * search.count) * size;
        search.value = (const char *)values->data + (size_t)n * size;
        write_index(output, n, bounds[sorted->dtype](&search));
    }
    return STATUS_OK;
}

static Status
lower_compute(KernelContext *context)
{
    return find_bounds(context, false);
}

static Status
upper_compute(KernelContext *context)
{
    return find_bounds(context, true);
}

static const Kernel bounds_kernels[] = {
    {.op = "LowerBound", .supports = bounds_supports, .compute = lower_compute},
    {.op = "UpperBound", .supports = bounds_supports, .compute = upper_compute},
};

KERNEL_FAMILY(reference, order_bounds, bounds_kernels);
