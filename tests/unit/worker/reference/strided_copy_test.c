/* Copies between layouts, beside the same copy written element by element. */
#include "worker/reference/strided_copy.h"

#include <stdlib.h>

#include "tests/support/cmocka_all.h"

#include "tests/support/partition_runs.h"

static uint32_t random_state;

static int64_t
random_below(int64_t limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (int64_t)(random_state >> 8) % limit;
}

static Tensor
counted_bytes(Dtype dtype, const Shape *shape)
{
    Tensor tensor = {0};
    assert_true(tensor_new(dtype, shape, &tensor));
    for (size_t byte = 0; byte < tensor_byte_size(&tensor); byte++) {
        ((uint8_t *)tensor.data)[byte] = (uint8_t)(byte * 31 + byte / 251);
    }
    return tensor;
}

/* Makes the copy that permutes the dimensions of a shape in a random order; some are walked backwards. */
static StridedCopy
random_permutation(const Shape *shape, Shape *ret_shape)
{
    int order[SHAPE_RANK_MAX];
    int64_t from[SHAPE_RANK_MAX];
    StridedCopy copy = {.rank = shape->rank};
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        order[dimension] = dimension;
    }
    for (int dimension = shape->rank - 1; dimension > 0; dimension--) {
        int other = (int)random_below(dimension + 1);
        int kept = order[dimension];
        order[dimension] = order[other];
        order[other] = kept;
    }
    *ret_shape = shape_of_rank(shape->rank);
    strides_dense(shape, from);
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        ret_shape->dims[dimension] = copy.dims[dimension] = shape->dims[order[dimension]];
        copy.from[dimension] = from[order[dimension]];
        if (random_below(8) == 0 && copy.dims[dimension] > 0) {
            copy.from_offset += (copy.dims[dimension] - 1) * copy.from[dimension];
            copy.from[dimension] = -copy.from[dimension];
        }
    }
    strides_dense(ret_shape, copy.to);
    return copy;
}

static void
assert_copied(const StridedCopy *copy, const Tensor *from, const Tensor *to)
{
    size_t size = dtype_size(to->dtype);
    int64_t count = tensor_element_count(to);
    for (int64_t element = 0; element < count; element++) {
        int64_t rest = element;
        int64_t source = copy->from_offset;
        for (int dimension = copy->rank - 1; dimension >= 0; dimension--) {
            source += rest % copy->dims[dimension] * copy->from[dimension];
            rest /= copy->dims[dimension];
        }
        assert_memory_equal((const char *)to->data + (size_t)element * size,
            (const char *)from->data + (size_t)source * size, size);
    }
}

static void
check_permutations(RunFixture *fixture, int rank, int64_t size_max, int rounds)
{
    static const Dtype dtypes[] = {DTYPE_UINT8, DTYPE_FLOAT16, DTYPE_FLOAT32, DTYPE_INT64, DTYPE_COMPLEX128};
    for (int round = 0; round < rounds; round++) {
        Shape shape = shape_of_rank(rank);
        for (int dimension = 0; dimension < rank; dimension++) {
            shape.dims[dimension] = random_below(size_max) + (round % 17 == 0 ? 0 : 1);
        }
        Shape permuted;
        StridedCopy copy = random_permutation(&shape, &permuted);
        Dtype dtype = dtypes[round % (int)COUNT_OF(dtypes)];
        Tensor from = counted_bytes(dtype, &shape);
        Tensor alone = counted_bytes(dtype, &permuted);
        Tensor shared = counted_bytes(dtype, &permuted);
        strided_copy(&copy, &from, &alone);
        strided_copy_share(fixture->device, &copy, &from, &shared);
        assert_copied(&copy, &from, &alone);
        assert_copied(&copy, &from, &shared);
        tensor_unref(&from);
        tensor_unref(&alone);
        tensor_unref(&shared);
    }
}

static void
dimensions_are_permuted_and_reversed(void **state)
{
    (void)state;
    RunFixture fixture;
    random_state = 7;
    fixture_begin(&fixture, 3);
    check_permutations(&fixture, 1, 100, 20);
    check_permutations(&fixture, 2, 60, 200);
    check_permutations(&fixture, 3, 24, 200);
    check_permutations(&fixture, 5, 6, 200);
    fixture_end(&fixture);
}

static void
threads_share_what_is_large(void **state)
{
    (void)state;
    RunFixture fixture;
    random_state = 11;
    fixture_begin(&fixture, 3);
    check_permutations(&fixture, 2, 900, 20);
    check_permutations(&fixture, 3, 120, 20);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_are_permuted_and_reversed),
        cmocka_unit_test(threads_share_what_is_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
