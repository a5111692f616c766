#include "tests/support/tensor_literals.h"

#include <math.h>

#include "shared/tensor/half.h"
#include "tests/support/cmocka_all.h"

static double
number_of(Slice word)
{
    char text[64];
    assert_true(word.size > 0 && word.size < sizeof text);
    memcpy(text, word.data, word.size);
    text[word.size] = '\0';
    char *end = NULL;
    double value = strtod(text, &end);
    if (*end != '\0') {
        fail_msg("'%s' is no number", text);
    }
    return value;
}

static void
write_element(Tensor *tensor, int64_t index, Slice word)
{
    char *element = (char *)tensor->data + index * (int64_t)dtype_size(tensor->dtype);
    if (dtype_is_floating(tensor->dtype)) {
        double value = number_of(word);
        float single = (float)value;
        uint16_t half =
            tensor->dtype == DTYPE_FLOAT16 ? half_from_float(single) : bfloat16_from_float(single);
        const void *bytes = tensor->dtype == DTYPE_FLOAT64   ? (const void *)&value
                            : tensor->dtype == DTYPE_FLOAT32 ? (const void *)&single
                                                             : (const void *)&half;
        memcpy(element, bytes, dtype_size(tensor->dtype));
        return;
    }
    int64_t value = 0;
    uint64_t positive = 0;
    assert_true(slice_to_int64(word, &value) || slice_to_uint64(word, &positive));
    positive = positive > 0 ? positive : (uint64_t)value;
    memcpy(element, &positive, dtype_size(tensor->dtype)); /* little-endian */
}

/* Reads 'quoted' words, without escapes. */
static Tensor
read_strings(const Shape *shape, Slice rest)
{
    enum { STRINGS_MAX = 64 };
    Slice elements[STRINGS_MAX];
    size_t count = 0;
    while (rest.size > 0) {
        assert_true(rest.data[0] == '\'' && count < STRINGS_MAX);
        rest = slice_part(rest, 1, SIZE_MAX);
        size_t end = slice_find(rest, '\'');
        elements[count++] = slice_part(rest, 0, end);
        rest = slice_trim(slice_part(rest, end + 1, SIZE_MAX));
    }
    int64_t expected = 0;
    assert_true(shape_element_count(shape, &expected) && expected == (int64_t)count);
    Tensor tensor;
    assert_true(tensor_new_strings(shape, elements, &tensor));
    return tensor;
}

static Shape
read_shape(Slice text)
{
    Shape shape = shape_scalar();
    Slice part;
    while (text.size > 0 && slice_split(&text, ',', &part)) {
        assert_true(slice_to_int64(slice_trim(part), &shape.dims[shape.rank++]));
    }
    return shape;
}

/* Returns a tensor of complex numbers as one of their parts, without a reference; other tensors as they
 * are. */
static Tensor
parts_of(const Tensor *tensor)
{
    Tensor parts = *tensor;
    if (dtype_is_complex(parts.dtype)) {
        parts.dtype = parts.dtype == DTYPE_COMPLEX64 ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
        assert_true(parts.shape.rank < SHAPE_RANK_MAX);
        parts.shape.dims[parts.shape.rank++] = 2;
    }
    return parts;
}

/* Fills a tensor with numbers without an order. Those of floats are multiples of 1/64, which all floats hold
 * but bfloat16, and that rounds. */
static void
fill_numbers(Tensor *tensor, int64_t count, Slice seed)
{
    enum { STEPS = 64, LARGEST = 3 };
    uint64_t state = 0;
    bool is_floating = dtype_is_floating(tensor->dtype);
    bool is_unsigned = tensor->dtype >= DTYPE_UINT8 && tensor->dtype <= DTYPE_UINT64;
    assert_true(slice_to_uint64(seed, &state));
    for (int64_t index = 0; index < count; index++) {
        char word[32];
        state = state * 6364136223846793005U + 1442695040888963407U; /* Knuth's generator */
        int steps = (int)((state >> 33) % (2 * LARGEST * STEPS + 1)) - LARGEST * STEPS;
        double value = is_floating ? (double)steps / STEPS : steps / STEPS + (is_unsigned ? LARGEST : 0);
        (void)snprintf(word, sizeof word, "%.10g", value);
        write_element(tensor, index, slice_from_string(word));
    }
}

Tensor
tensor_literal(const char *text)
{
    Slice rest = slice_from_string(text);
    size_t open = slice_find(rest, '[');
    size_t close = slice_find(rest, ']');
    Dtype dtype = dtype_from_name(slice_part(rest, 0, open));
    if (dtype == DTYPE_INVALID || close == rest.size) {
        fail_msg("'%s' is no tensor", text);
    }
    Shape shape = read_shape(slice_part(rest, open + 1, close - open - 1));
    rest = slice_trim(slice_part(rest, close + 1, SIZE_MAX));
    if (dtype == DTYPE_STRING) {
        return read_strings(&shape, rest);
    }
    Tensor tensor;
    assert_true(tensor_new(dtype, &shape, &tensor));
    Tensor parts = parts_of(&tensor);
    int64_t count = tensor_element_count(&parts);
    int64_t index = 0;
    Slice word = SLICE("");
    Slice part;
    if (slice_starts_with(rest, SLICE("numbers "))) {
        fill_numbers(&parts, count, slice_part(rest, strlen("numbers "), SIZE_MAX));
        return tensor;
    }
    while (rest.size > 0 && slice_split(&rest, ' ', &part)) {
        bool repeats = slice_equals_string(part, "...");
        word = repeats ? word : part;
        for (const int64_t end = repeats ? count : index + 1; index < end; index++) {
            assert_true(index < count);
            write_element(&parts, index, word);
        }
    }
    if (index != count) {
        fail_msg("'%s' has %lld values", text, (long long)index);
    }
    return tensor;
}

static double
element_of(const Tensor *tensor, int64_t index)
{
    uint16_t half;
    float single;
    double value;
    int64_t integer = 0;
    const char *element = (const char *)tensor->data + index * (int64_t)dtype_size(tensor->dtype);
    if (tensor->dtype == DTYPE_FLOAT64) {
        memcpy(&value, element, sizeof value);
        return value;
    }
    if (tensor->dtype == DTYPE_FLOAT32) {
        memcpy(&single, element, sizeof single);
        return (double)single;
    }
    if (dtype_is_floating(tensor->dtype)) {
        memcpy(&half, element, sizeof half);
        return (double)(tensor->dtype == DTYPE_FLOAT16 ? half_to_float(half) : bfloat16_to_float(half));
    }
    if (tensor->dtype == DTYPE_BOOL) {
        return *(const uint8_t *)element;
    }
    return tensor_to_int64(tensor, index, &integer) ? (double)integer : 1e20;
}

static bool
is_near(double actual, double expected, double tolerance)
{
    if (isnan(expected) || isinf(expected) || isnan(actual)) {
        return isnan(expected) ? isnan(actual) : actual == expected;
    }
    return fabs(actual - expected) <= tolerance * (1 + fabs(expected));
}

static bool
is_alike(const Tensor *actual, const Tensor *expected)
{
    char left[SHAPE_TEXT_SIZE];
    char right[SHAPE_TEXT_SIZE];
    if (actual->dtype != expected->dtype || !shape_equal(&actual->shape, &expected->shape)) {
        print_error("got %s%s, not %s%s\n", dtype_name(actual->dtype), shape_text(&actual->shape, left),
            dtype_name(expected->dtype), shape_text(&expected->shape, right));
        return false;
    }
    return true;
}

bool
tensor_is_near(const Tensor *actual, const Tensor *expected, double tolerance)
{
    if (!is_alike(actual, expected)) {
        return false;
    }
    if (dtype_is_complex(actual->dtype)) {
        Tensor actual_parts = parts_of(actual);
        Tensor expected_parts = parts_of(expected);
        return tensor_is_near(&actual_parts, &expected_parts, tolerance);
    }
    if (!dtype_is_floating(actual->dtype) && tensor_equal(actual, expected)) {
        return true;
    }
    int64_t count = tensor_element_count(expected);
    for (int64_t index = 0; index < count; index++) {
        double got = element_of(actual, index);
        double want = element_of(expected, index);
        if (!is_near(got, want, tolerance)) {
            bool is_short = dtype_is_floating(actual->dtype) && actual->dtype != DTYPE_FLOAT64;
            int digits = is_short ? 9 : 17; /* tell any two values apart */
            print_error("element %lld is %.*g, not %.*g\n", (long long)index, digits, got, digits, want);
            return false;
        }
    }
    return dtype_is_floating(actual->dtype) || tensor_equal(actual, expected);
}

double
tensor_tolerance(Dtype dtype)
{
    switch ((int)dtype) {
    case DTYPE_FLOAT16:
        return 2e-3;
    case DTYPE_BFLOAT16:
        return 1.6e-2;
    case DTYPE_FLOAT32:
    case DTYPE_COMPLEX64:
        return 2e-6;
    case DTYPE_FLOAT64:
    case DTYPE_COMPLEX128:
        return 1e-12;
    default:
        return 0;
    }
}

bool
tensor_is_close(const Tensor *actual, const Tensor *expected, double tolerance)
{
    if (!is_alike(actual, expected)) {
        return false;
    }
    int64_t count = tensor_element_count(expected);
    double distance = 0;
    double length = 0;
    for (int64_t index = 0; index < count; index++) {
        double got = element_of(actual, index);
        double want = element_of(expected, index);
        bool is_finite = isfinite(got) && isfinite(want) && dtype_is_floating(actual->dtype);
        if (!is_finite && !(got == want || (isnan(got) && isnan(want)))) {
            print_error("element %lld is %.17g, not %.17g\n", (long long)index, got, want);
            return false;
        }
        distance += is_finite ? (got - want) * (got - want) : 0;
        length += is_finite ? want * want : 0;
    }
    if (sqrt(distance) > tolerance * sqrt(length)) {
        print_error(
            "the distance is %.3g of the length, more than %.3g\n", sqrt(distance / length), tolerance);
        return false;
    }
    return true;
}

double
tensor_distance_max(Dtype dtype)
{
    switch ((int)dtype) {
    case DTYPE_FLOAT16:
        return 2e-3;
    case DTYPE_BFLOAT16:
        return 1.6e-2;
    case DTYPE_FLOAT32:
        return 1e-5;
    default:
        return 1e-13;
    }
}
