#include "shared/tensor/shape.h"
#include "tests/support/cmocka_all.h"

static Shape
shape_of(int rank, int64_t first, int64_t second, int64_t third)
{
    return (Shape){.rank = rank, .dims = {first, second, third}};
}

static void
sizes_that_overflow_are_refused_even_beside_a_zero(void **state)
{
    (void)state;
    int64_t count = 7;
    size_t size = 7;
    int64_t big = (int64_t)1 << 32;
    Shape wraps = shape_of(3, big, big, 16);
    assert_false(shape_element_count(&wraps, &count));
    Shape hidden = shape_of(3, big, big, 0);
    assert_false(shape_element_count(&hidden, &count));
    Shape largest = shape_vector(INT64_MAX);
    assert_true(shape_element_count(&largest, &count));
    assert_true(count == INT64_MAX);
    assert_true(shape_byte_size(&largest, DTYPE_INT8, &size) && size == INT64_MAX);
    assert_false(shape_byte_size(&largest, DTYPE_INT16, &size));
    Shape half = shape_of(2, INT64_MAX / 2, 0, 0);
    assert_false(shape_byte_size(&half, DTYPE_INT32, &size));
    assert_true(size == INT64_MAX);
}

static void
counts_are_products(void **state)
{
    (void)state;
    int64_t count = 7;
    size_t size = 7;
    Shape scalar = shape_scalar();
    assert_true(shape_element_count(&scalar, &count) && count == 1);
    Shape cube = shape_of(3, 2, 3, 4);
    assert_true(shape_element_count(&cube, &count) && count == 24);
    assert_true(shape_byte_size(&cube, DTYPE_FLOAT64, &size) && size == 192);
    Shape empty = shape_of(2, 5, 0, 0);
    assert_true(shape_element_count(&empty, &count) && count == 0);
    assert_true(shape_byte_size(&empty, DTYPE_FLOAT64, &size) && size == 0);
}

static void
what_is_not_fully_known_has_no_size(void **state)
{
    (void)state;
    int64_t count = 7;
    size_t size = 7;
    Shape unknown = shape_unknown();
    Shape partial = shape_of(2, 2, -1, 0);
    assert_false(shape_is_known(&unknown));
    assert_false(shape_is_known(&partial));
    assert_false(shape_element_count(&unknown, &count));
    assert_false(shape_element_count(&partial, &count));
    Shape known = shape_vector(3);
    assert_true(shape_is_known(&known));
    assert_false(shape_byte_size(&known, DTYPE_STRING, &size));
    assert_int_equal(count, 7);
    assert_int_equal(size, 7);
}

static void
texts_name_every_dimension(void **state)
{
    (void)state;
    char text[SHAPE_TEXT_SIZE];
    Shape shape = shape_unknown();
    assert_string_equal(shape_text(&shape, text), "?");
    shape = shape_scalar();
    assert_string_equal(shape_text(&shape, text), "[]");
    shape = shape_of(2, -1, 3, 0);
    assert_string_equal(shape_text(&shape, text), "[?,3]");
    shape = shape_of_rank(SHAPE_RANK_MAX);
    for (int index = 0; index < SHAPE_RANK_MAX; index++) {
        shape.dims[index] = INT64_MAX;
    }
    assert_int_equal(strlen(shape_text(&shape, text)), 16 * 20 + 1);
}

static void
merging_keeps_what_either_side_knows(void **state)
{
    (void)state;
    Shape merged;
    Shape unknown = shape_unknown();
    Shape left = shape_of(2, -1, 3, 0);
    Shape right = shape_of(2, 5, -1, 0);
    assert_true(shape_merge(&left, &right, &merged));
    assert_int_equal(merged.dims[0], 5);
    assert_int_equal(merged.dims[1], 3);
    assert_true(shape_merge(&unknown, &left, &merged) && shape_equal(&merged, &left));
    assert_true(shape_merge(&left, &unknown, &merged) && shape_equal(&merged, &left));
    Shape other = shape_of(2, 5, 4, 0);
    Shape longer = shape_of(3, 5, 3, 1);
    assert_false(shape_merge(&left, &other, &merged));
    assert_false(shape_merge(&left, &longer, &merged));
    assert_true(shape_equal(&merged, &left));
}

static void
broadcasting_follows_numpy(void **state)
{
    (void)state;
    const struct {
        Shape left, right, result;
        bool fits;
    } rows[] = {
        {shape_of(2, 2, 3, 0), shape_vector(3), shape_of(2, 2, 3, 0), true},
        {shape_of(3, 2, 1, 4), shape_of(2, 3, 1, 0), shape_of(3, 2, 3, 4), true},
        {shape_scalar(), shape_of(2, 2, 3, 0), shape_of(2, 2, 3, 0), true},
        {shape_vector(1), shape_vector(0), shape_vector(0), true},
        {shape_vector(2), shape_vector(0), shape_vector(0), false},
        {shape_vector(2), shape_vector(3), shape_vector(0), false},
        {shape_vector(-1), shape_vector(3), shape_vector(3), true},
        {shape_vector(1), shape_vector(-1), shape_vector(-1), true},
        {shape_vector(-1), shape_vector(-1), shape_vector(-1), true},
        {shape_unknown(), shape_vector(3), shape_unknown(), true},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        Shape result = shape_scalar();
        assert_int_equal(shape_broadcast(&rows[index].left, &rows[index].right, &result), rows[index].fits);
        assert_true(!rows[index].fits || shape_equal(&result, &rows[index].result));
        assert_int_equal(shape_broadcast(&rows[index].right, &rows[index].left, &result), rows[index].fits);
        assert_true(!rows[index].fits || shape_equal(&result, &rows[index].result));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_overflow_are_refused_even_beside_a_zero),
        cmocka_unit_test(counts_are_products),
        cmocka_unit_test(what_is_not_fully_known_has_no_size),
        cmocka_unit_test(texts_name_every_dimension),
        cmocka_unit_test(merging_keeps_what_either_side_knows),
        cmocka_unit_test(broadcasting_follows_numpy),
    };
    return cmocka_run_group_tests_name("shared/tensor/shape", tests, NULL, NULL);
}
