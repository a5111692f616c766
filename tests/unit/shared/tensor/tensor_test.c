#include "shared/tensor/tensor.h"

#include "shared/base/spare_memory.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static int release_count;

static void
count_release(TensorBuffer *buffer)
{
    assert_int_equal(*(const char *)buffer->owner, 'o');
    release_count++;
}

static void
a_buffer_lives_as_long_as_its_last_reference(void **state)
{
    (void)state;
    static char bytes[16];
    char owner = 'o';
    release_count = 0;
    TensorBuffer *buffer = tensor_buffer_wrap(bytes, sizeof bytes, count_release, &owner);
    Shape shape = shape_vector(2);
    Tensor tensor;
    assert_true(tensor_view(DTYPE_FLOAT32, &shape, buffer, bytes + 8, &tensor));
    tensor_buffer_unref(buffer);
    Tensor other = tensor_ref(&tensor);
    tensor_unref(&tensor);
    assert_int_equal(release_count, 0);
    assert_ptr_equal(other.data, bytes + 8);
    tensor_unref(&other);
    assert_int_equal(release_count, 1);
    assert_null(other.buffer);
    tensor_unref(&other);
    tensor_buffer_unref(NULL);
}

static void
tensors_are_aligned_and_know_their_sizes(void **state)
{
    (void)state;
    Shape shape = {.rank = 2, .dims = {3, 5}};
    AUTO_TENSOR tensor = {0};
    assert_true(tensor_new(DTYPE_INT16, &shape, &tensor));
    assert_int_equal((uintptr_t)tensor.data % 64, 0);
    assert_int_equal(tensor_element_count(&tensor), 15);
    assert_int_equal(tensor_byte_size(&tensor), 30);
    memset(tensor.data, 1, 30);
    Tensor none = {0};
    assert_int_equal(tensor_element_count(&none), 0);
    assert_int_equal(tensor_byte_size(&none), 0);
}

static void
no_elements_need_no_buffer(void **state)
{
    (void)state;
    Shape shape = {.rank = 2, .dims = {0, 5}};
    AUTO_TENSOR tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    assert_null(tensor.data);
    AUTO_TENSOR strings = {0};
    assert_true(tensor_new_strings(&shape, NULL, &strings));
    assert_null(strings.data);
    AUTO_TENSOR view = {0};
    assert_true(tensor_view(DTYPE_FLOAT32, &shape, NULL, NULL, &view));
    assert_true(tensor_equal(&tensor, &view));
    assert_false(tensor_equal(&tensor, &strings));
}

static void
a_view_must_lie_inside_its_buffer(void **state)
{
    (void)state;
    TensorBuffer *buffer = tensor_buffer_new(16);
    char *data = buffer->data;
    Tensor tensor = {0};
    Shape four = shape_vector(4);
    Shape five = shape_vector(5);
    assert_false(tensor_view(DTYPE_FLOAT32, &five, buffer, data, &tensor));
    assert_false(tensor_view(DTYPE_FLOAT32, &four, buffer, data + 1, &tensor));
    assert_false(tensor_view(DTYPE_FLOAT32, &four, buffer, data - 1, &tensor));
    assert_false(tensor_view(DTYPE_INT8, &four, buffer, data + 17, &tensor));
    assert_false(tensor_view(DTYPE_STRING, &four, buffer, data, &tensor));
    assert_true(tensor_view(DTYPE_FLOAT32, &four, buffer, data, &tensor));
    tensor_unref(&tensor);
    tensor_buffer_unref(buffer);
}

static void
only_a_sole_owner_may_write(void **state)
{
    (void)state;
    Shape shape = shape_vector(4);
    AUTO_TENSOR tensor = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    assert_true(tensor_is_unique(&tensor));
    Tensor other = tensor_ref(&tensor);
    assert_false(tensor_is_unique(&tensor));
    tensor_unref(&other);
    assert_true(tensor_is_unique(&tensor));

    static char mapped[16];
    TensorBuffer *buffer = tensor_buffer_wrap(mapped, sizeof mapped, NULL, NULL);
    AUTO_TENSOR view = {0};
    assert_true(tensor_view(DTYPE_FLOAT32, &shape, buffer, mapped, &view));
    tensor_buffer_unref(buffer);
    assert_false(tensor_is_unique(&view));
}

static void
strings_are_copied_and_compared_by_content(void **state)
{
    (void)state;
    char first[] = "one";
    const Slice elements[] = {slice_of(first, 3), slice_of("", 0), slice_of("a\0b", 3)};
    Shape shape = shape_vector(3);
    AUTO_TENSOR tensor = {0};
    AUTO_TENSOR same = {0};
    assert_true(tensor_new_strings(&shape, elements, &tensor));
    assert_true(tensor_new_strings(&shape, elements, &same));
    assert_true(tensor_equal(&tensor, &same));
    assert_int_equal(tensor_byte_size(&tensor), 3 * 8 + 6);
    first[0] = 'x';
    AUTO_TENSOR changed = {0};
    assert_true(tensor_new_strings(&shape, elements, &changed));
    assert_false(tensor_equal(&tensor, &changed));
    assert_true(slice_equals_string(((const Slice *)tensor.data)[0], "one"));
}

static void
equality_is_dtype_shape_and_bits(void **state)
{
    (void)state;
    Shape vector = shape_vector(2);
    Shape matrix = {.rank = 2, .dims = {1, 2}};
    float values[] = {0.0F, 1.0F};
    float negative[] = {-0.0F, 1.0F};
    TensorBuffer *buffer = tensor_buffer_wrap(values, sizeof values, NULL, NULL);
    TensorBuffer *other = tensor_buffer_wrap(negative, sizeof negative, NULL, NULL);
    AUTO_TENSOR left = {0};
    AUTO_TENSOR reshaped = {0};
    AUTO_TENSOR retyped = {0};
    AUTO_TENSOR signed_zero = {0};
    assert_true(tensor_view(DTYPE_FLOAT32, &vector, buffer, values, &left));
    assert_true(tensor_view(DTYPE_FLOAT32, &matrix, buffer, values, &reshaped));
    assert_true(tensor_view(DTYPE_INT32, &vector, buffer, values, &retyped));
    assert_true(tensor_view(DTYPE_FLOAT32, &vector, other, negative, &signed_zero));
    tensor_buffer_unref(buffer);
    tensor_buffer_unref(other);
    assert_true(tensor_equal(&left, &left));
    assert_false(tensor_equal(&left, &reshaped));
    assert_false(tensor_equal(&left, &retyped));
    assert_false(tensor_equal(&left, &signed_zero));
}

/* One element of each integer dtype, all bits set. */
static void
integers_are_read_by_their_dtype(void **state)
{
    (void)state;
    const struct {
        Dtype dtype;
        int64_t value;
    } rows[] = {
        {DTYPE_INT8, -1},
        {DTYPE_INT16, -1},
        {DTYPE_INT32, -1},
        {DTYPE_INT64, -1},
        {DTYPE_UINT8, UINT8_MAX},
        {DTYPE_UINT16, UINT16_MAX},
        {DTYPE_UINT32, UINT32_MAX},
    };
    Shape shape = shape_vector(2);
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_TENSOR tensor = {0};
        assert_true(tensor_new(rows[index].dtype, &shape, &tensor));
        memset(tensor.data, 0, tensor_byte_size(&tensor));
        size_t size = dtype_size(rows[index].dtype);
        memset((char *)tensor.data + size, 0xff, size);
        int64_t value = 7;
        assert_true(tensor_to_int64(&tensor, 0, &value) && value == 0);
        assert_true(tensor_to_int64(&tensor, 1, &value) && value == rows[index].value);
        assert_false(tensor_to_int64(&tensor, 2, &value));
        assert_false(tensor_to_int64(&tensor, -1, &value));
    }
}

static void
what_is_no_int64_is_refused(void **state)
{
    (void)state;
    Shape shape = shape_scalar();
    int64_t value = 7;
    AUTO_TENSOR large = {0};
    assert_true(tensor_new(DTYPE_UINT64, &shape, &large));
    *(uint64_t *)large.data = (uint64_t)INT64_MAX + 1;
    assert_false(tensor_to_int64(&large, 0, &value));
    *(uint64_t *)large.data = INT64_MAX;
    assert_true(tensor_to_int64(&large, 0, &value) && value == INT64_MAX);
    AUTO_TENSOR real = {0};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &real));
    assert_false(tensor_to_int64(&real, 0, &value));
}

static void
sizes_past_the_machine_are_refused(void **state)
{
    (void)state;
    Tensor tensor = {0};
    Shape huge = {.rank = 2, .dims = {(int64_t)1 << 31, (int64_t)1 << 31}};
    assert_false(tensor_new(DTYPE_FLOAT64, &huge, &tensor));
    Shape overflowing = {.rank = 3, .dims = {(int64_t)1 << 32, (int64_t)1 << 32, 16}};
    assert_false(tensor_new(DTYPE_FLOAT32, &overflowing, &tensor));
    Shape unknown = shape_vector(-1);
    assert_false(tensor_new(DTYPE_FLOAT32, &unknown, &tensor));
    assert_false(tensor_new(DTYPE_STRING, &unknown, &tensor));
    assert_null(tensor_buffer_new(SIZE_MAX));
    assert_null(tensor_buffer_new(SIZE_MAX - 64));
    assert_null(tensor.buffer);
}

static const Sha256 one_digest = {{1, 2, 3}};
static const Sha256 other_digest = {{1, 2, 4}};

static void
an_absent_tensor_has_all_but_its_elements(void **state)
{
    (void)state;
    Shape shape = {.rank = 2, .dims = {1 << 20, 1 << 20}};
    Tensor weight = {0};
    int64_t element = 0;
    assert_true(tensor_new_absent(DTYPE_INT32, &shape, &one_digest, &weight));
    assert_true(tensor_is_absent(&weight));
    assert_null(weight.data);
    assert_int_equal(tensor_byte_size(&weight), (int64_t)4 << 40);
    assert_memory_equal(tensor_digest(&weight), &one_digest, sizeof one_digest);
    AUTO_TENSOR other = tensor_ref(&weight);
    tensor_unref(&weight);
    assert_true(tensor_is_absent(&other));
    assert_false(tensor_is_unique(&other));
    assert_true(tensor_is_valid(&other));
    assert_false(tensor_to_int64(&other, 0, &element));
    Shape more = shape_vector(SIZE_MAX / 8);
    assert_false(tensor_new_absent(DTYPE_COMPLEX128, &more, &one_digest, &weight));
    assert_false(tensor_new_absent(DTYPE_STRING, &shape, &one_digest, &weight));
}

/* The bytes of an absent tensor were never allocated: memory that is kept for the next feed has nothing of
 * it, although its size is one of those that are kept. */
static void
an_absent_tensor_leaves_no_memory_for_others(void **state)
{
    (void)state;
    Shape shape = shape_vector(1 << 20);
    Tensor weight = {0};
    spare_memory_keep(SIZE_MAX);
    assert_true(tensor_new_absent(DTYPE_INT8, &shape, &one_digest, &weight));
    tensor_unref(&weight);
    assert_int_equal(spare_memory_size(), 0);
    assert_true(tensor_new(DTYPE_INT8, &shape, &weight));
    tensor_unref(&weight);
    assert_true(spare_memory_size() > 1 << 20);
    spare_memory_keep(0);
}

static void
nothing_to_hold_is_never_absent(void **state)
{
    (void)state;
    Shape empty = shape_vector(0);
    AUTO_TENSOR tensor = {0};
    assert_true(tensor_new_absent(DTYPE_FLOAT32, &empty, &one_digest, &tensor));
    assert_false(tensor_is_absent(&tensor));
    assert_int_equal(tensor.dtype, DTYPE_FLOAT32);
    assert_false(tensor_is_absent(&(Tensor){0}));
}

static void
absent_tensors_are_equal_by_their_digests(void **state)
{
    (void)state;
    Shape shape = shape_vector(4);
    AUTO_TENSOR one = {0};
    AUTO_TENSOR same = {0};
    AUTO_TENSOR other = {0};
    AUTO_TENSOR whole = {0};
    assert_true(tensor_new_absent(DTYPE_BOOL, &shape, &one_digest, &one));
    assert_true(tensor_new_absent(DTYPE_BOOL, &shape, &one_digest, &same));
    assert_true(tensor_new_absent(DTYPE_BOOL, &shape, &other_digest, &other));
    assert_true(tensor_new(DTYPE_BOOL, &shape, &whole));
    assert_true(tensor_equal(&one, &same));
    assert_false(tensor_equal(&one, &other));
    assert_false(tensor_equal(&one, &whole));
    assert_false(tensor_equal(&whole, &one));
}

static void
no_memory_is_reported(void **state)
{
    (void)state;
    Shape shape = shape_vector(2);
    const Slice elements[] = {SLICE("a"), SLICE("b")};
    Tensor tensor = {0};
    fail_alloc_at = 1;
    fail_alloc_count = 0;
    assert_false(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    fail_alloc_count = 0;
    assert_false(tensor_new_strings(&shape, elements, &tensor));
    fail_alloc_count = 0;
    assert_null(tensor_buffer_wrap(&tensor, sizeof tensor, NULL, NULL));
    fail_alloc_count = 0;
    assert_false(tensor_new_absent(DTYPE_FLOAT32, &shape, &one_digest, &tensor));
    fail_alloc_at = 0;
    assert_null(tensor.buffer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_lives_as_long_as_its_last_reference),
        cmocka_unit_test(tensors_are_aligned_and_know_their_sizes),
        cmocka_unit_test(no_elements_need_no_buffer),
        cmocka_unit_test(a_view_must_lie_inside_its_buffer),
        cmocka_unit_test(only_a_sole_owner_may_write),
        cmocka_unit_test(strings_are_copied_and_compared_by_content),
        cmocka_unit_test(equality_is_dtype_shape_and_bits),
        cmocka_unit_test(integers_are_read_by_their_dtype),
        cmocka_unit_test(what_is_no_int64_is_refused),
        cmocka_unit_test(sizes_past_the_machine_are_refused),
        cmocka_unit_test(an_absent_tensor_has_all_but_its_elements),
        cmocka_unit_test(an_absent_tensor_leaves_no_memory_for_others),
        cmocka_unit_test(nothing_to_hold_is_never_absent),
        cmocka_unit_test(absent_tensors_are_equal_by_their_digests),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests_name("shared/tensor/tensor", tests, NULL, NULL);
}
