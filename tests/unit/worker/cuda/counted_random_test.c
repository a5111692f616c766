/* Random shapes for the kernels whose outputs are as large as the card counts, compared with the reference
 * kernels. CASES=first:count draws other cases than the usual few. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

enum { FIRST_CASE = 1, CASE_COUNT = 24, TEXT_SIZE = 8192, SIDE_MAX = 70, LARGE_MAX = 5000 };

static uint64_t drawing;

static int
draw(int below)
{
    drawing = drawing * 6364136223846793005U + 1442695040888963407U;
    return (int)((drawing >> 33) % (uint64_t)below);
}

static const char *
draw_dtype(void)
{
    static const char *const dtypes[] = {
        "bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64"};
    return dtypes[draw(COUNT_OF(dtypes))];
}

/* Now and then 0, now and then more than a tile or what one block sorts. */
static int
draw_side(void)
{
    int kind = draw(12);
    return kind == 0 ? 0 : kind == 1 ? LARGE_MAX - draw(LARGE_MAX / 2) : 1 + draw(SIDE_MAX);
}

/* Writes `count` integers within 0…below - 1 behind the text. */
static void
append_integers(char *text, int count, int below)
{
    size_t size = strlen(text);
    for (int n = 0; n < count && size + 8 < TEXT_SIZE; n++) {
        size += (size_t)snprintf(text + size, TEXT_SIZE - size, " %d", draw(below));
    }
}

static void
where_of_any_shape(void)
{
    char input[TEXT_SIZE];
    (void)snprintf(input, sizeof input, "%s[%d,%d]", draw_dtype(), draw_side(), 1 + draw(3));
    const CudaKernelCase cases[] = {{"Where", NULL, {input}}, {"onnx::NonZero", NULL, {input}}};
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
unique_of_any_shape(void)
{
    char vector[TEXT_SIZE];
    char matrix[TEXT_SIZE];
    char axis[TEXT_SIZE];
    (void)snprintf(vector, sizeof vector, "%s[%d]", draw_dtype(), draw_side());
    (void)snprintf(matrix, sizeof matrix, "%s[%d,%d,%d]", draw_dtype(), draw(5), draw(5), 1 + draw(2));
    (void)snprintf(axis, sizeof axis, "int64[1] %d", draw(6) - 3);
    const CudaKernelCase cases[] = {
        {"UniqueWithCounts", draw(2) == 0 ? NULL : "out_idx=int64", {vector}},
        {"UniqueWithCountsV2", NULL, {matrix, axis}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
parts_of_any_shape(void)
{
    char data[TEXT_SIZE];
    char numbers[TEXT_SIZE];
    char attrs[TEXT_SIZE];
    int rows = draw(400);
    int parts = 1 + draw(9);
    (void)snprintf(data, sizeof data, "%s[%d,%d]", draw_dtype(), rows, draw(6));
    (void)snprintf(numbers, sizeof numbers, "int32[%d]", rows);
    append_integers(numbers, rows, parts);
    (void)snprintf(attrs, sizeof attrs, "num_partitions=%d", parts);
    const CudaKernelCase cases[] = {
        {"DynamicPartition", attrs, {data, numbers}},
        {"DynamicStitch", NULL, {numbers, data}},
        {"DynamicStitch", NULL, {numbers, numbers, data, data}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
boxes_of_any_number(void)
{
    char boxes[TEXT_SIZE];
    char scores[TEXT_SIZE];
    char size[TEXT_SIZE];
    char threshold[TEXT_SIZE];
    int batches = 1 + draw(3);
    int count = draw(300);
    (void)snprintf(boxes, sizeof boxes, "float32[%d,%d,4]", batches, count);
    (void)snprintf(scores, sizeof scores, "float32[%d,%d,%d]", batches, 1 + draw(3), count);
    (void)snprintf(size, sizeof size, "int64[1] %d", draw(60));
    (void)snprintf(threshold, sizeof threshold, "float32[1] %g", draw(5) / 4.0);
    const CudaKernelCase cases[] = {
        {"onnx::NonMaxSuppression", draw(2) == 0 ? NULL : "center_point_box=1",
            {boxes, scores, size, threshold, draw(2) == 0 ? "" : "float32[1] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
kernels_agree_on_random_shapes(void **state)
{
    (void)state;
    int first = FIRST_CASE;
    int count = CASE_COUNT;
    const char *cases = getenv("CASES");
    if (cases != NULL && sscanf(cases, "%d:%d", &first, &count) != 2) {
        fail_msg("CASES is '%s', not first:count", cases);
    }
    for (int number = first; number < first + count; number++) {
        drawing = (uint64_t)number * 7919;
        (void)draw(2);
        where_of_any_shape();
        unique_of_any_shape();
        parts_of_any_shape();
        boxes_of_any_number();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_on_random_shapes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/counted", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
