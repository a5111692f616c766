/* Numbers read and written, against the C library's correctly rounded strtod() and strtof(). */
#include <float.h>
#include <math.h>

#include "shared/json/scanner.h"
#include "shared/json/writer.h"
#include "tests/support/cmocka_all.h"

static Call call;

static bool
read_double(const char *text, double *ret_value)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, slice_from_string(text), 0);
    bool is_read = json_double(&scanner, ret_value);
    return json_scan_end(&call, &scanner) == STATUS_OK && is_read;
}

static bool
read_float(const char *text, float *ret_value)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, slice_from_string(text), 0);
    bool is_read = json_float(&scanner, ret_value);
    return json_scan_end(&call, &scanner) == STATUS_OK && is_read;
}

static void
check_reading(const char *text)
{
    double real = 0;
    float single = 0;
    double real_expected = strtod(text, NULL);
    float single_expected = strtof(text, NULL);
    assert_int_equal(read_double(text, &real), !isinf(real_expected));
    if (!isinf(real_expected) && memcmp(&real, &real_expected, sizeof real) != 0) {
        fail_msg("%s is read as float64 %.17g, not %.17g", text, real, real_expected);
    }
    assert_int_equal(read_float(text, &single), !isinf(single_expected));
    if (!isinf(single_expected) && memcmp(&single, &single_expected, sizeof single) != 0) {
        fail_msg("%s is read as float32 %.9g, not %.9g", text, (double)single, (double)single_expected);
    }
}

static uint64_t random_state = 42;

static uint64_t
random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void
hard_numbers_are_rounded_once(void **state)
{
    (void)state;
    /* Half-way between floats, one digit beside it, the ends of the ranges, and long ones. */
    const char *const texts[] = {"0", "-0", "-0.0", "0e400", "16777217", "16777217.000000001",
        "16777216.999999999", "16777219", "1.00000005960464477539062500000000001",
        "1.000000059604644775390625", "1.00000017881393432617187499", "1.00000017881393432617187500",
        "9007199254740993", "9007199254740993.00000000000000000000000001",
        "9007199254740992.99999999999999999", "9007199254740991", "18446744073709551615",
        "18446744073709551616", "99999999999999999999", "1e22", "1e23", "1e27", "1e28",
        "1.7976931348623157e308", "1.7976931348623159e308", "3.4028234663852886e38", "3.4028235677973366e38",
        "3.4028235677973365e38", "340282356779733661637539395458142568447", "1e39", "1e400", "-1e400",
        "2.2250738585072014e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "1e-400",
        "1.1754943508222875e-38", "1.4012984643248171e-45", "7.0064923216240853e-46",
        "7.0064923216240854e-46", "0.1", "0.10000000149011612", "123456789.123456789e-5",
        "0.000000000000000000000000000000000001", "1e999999999999999999999", "1e-999999999999999999999",
        "0.30000000000000004", "5e-324"};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        check_reading(texts[index]);
    }
}

static void
random_decimals_are_rounded_once(void **state)
{
    (void)state;
    for (int round = 0; round < 200000; round++) {
        char text[64];
        uint64_t mantissa = random_next() >> (random_next() % 64);
        int exponent = (int)(random_next() % 70) - 45;
        (void)snprintf(text, sizeof text, "%s%lue%d", round % 2 ? "-" : "", mantissa, exponent);
        check_reading(text);
    }
}

/* Decimals half-way between a float and the next, exactly and a little beside. */
static void
middles_between_floats_go_to_the_even_one(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint32_t bits = (uint32_t)random_next() & 0x7fffffff;
        float low = 0;
        memcpy(&low, &bits, sizeof low);
        if (!isnormal(low) || low > 1e15F || low < 1e-9F) {
            continue;
        }
        double middle = ((double)low + (double)nextafterf(low, INFINITY)) / 2;
        char text[128];
        (void)snprintf(text, sizeof text, "%.80f", middle);
        check_reading(text);
        (void)snprintf(text, sizeof text, "%.17g", middle);
        check_reading(text);
        (void)snprintf(text, sizeof text, "%.12g", middle);
        check_reading(text);
    }
}

static void
long_numbers_have_a_limit(void **state)
{
    (void)state;
    char text[1100];
    memset(text, '1', sizeof text);
    double value = 7;
    memcpy(text, "0.", 2);
    text[1024] = '\0';
    assert_true(read_double(text, &value));
    assert_true(value == strtod(text, NULL));
    text[1024] = '1';
    text[1025] = '\0';
    assert_false(read_double(text, &value));
    assert_string_equal(call.error.message, "line 1, column 1: a number has more characters than 1024");
    JsonScanner scanner;
    Slice number;
    json_scan_begin(&scanner, slice_from_string(text), 0);
    assert_true(json_number_text(&scanner, &number));
    assert_int_equal(number.size, 1025);
}

static void
not_a_number_and_infinities_are_strings(void **state)
{
    (void)state;
    double value = 0;
    float single = 0;
    assert_true(read_double("\"NaN\"", &value) && isnan(value));
    assert_true(read_double("\"-Infinity\"", &value) && isinf(value) && value < 0);
    assert_true(read_float("\"Infinity\"", &single) && isinf(single) && single > 0);
    assert_false(read_double("\"nan\"", &value));
    assert_string_equal(call.error.message,
        "line 1, column 1: expected a number, 'NaN', 'Infinity' or '-Infinity', found a string");
    assert_false(read_float("\"1\"", &single));
    assert_false(read_float("1e39", &single));
    assert_string_equal(call.error.message, "line 1, column 1: a number is too large for float32");
    assert_false(read_double("-1e309", &value));
    assert_string_equal(call.error.message, "line 1, column 1: a number is too large for float64");
}

static bool
read_int64(const char *text, int64_t *ret_value)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, slice_from_string(text), 0);
    bool is_read = json_int64(&scanner, ret_value);
    return json_scan_end(&call, &scanner) == STATUS_OK && is_read;
}

static void
integers_never_pass_through_a_double(void **state)
{
    (void)state;
    int64_t value = 7;
    assert_true(read_int64("9007199254740993", &value) && value == INT64_C(9007199254740993));
    assert_true(read_int64("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(read_int64("-9223372036854775808", &value) && value == INT64_MIN);
    assert_true(read_int64("\"-9223372036854775808\"", &value) && value == INT64_MIN);
    assert_true(read_int64("-0", &value) && value == 0);
    const char *const refused[] = {"9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1.0\"",
        "\"\"", "\"+1\"", "\" 1\"", "\"0x1\"", "true", "01", "99999999999999999999999999"};
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        assert_false(read_int64(refused[index], &value));
    }
    assert_int_equal(value, 0);
    JsonScanner scanner;
    uint64_t natural = 0;
    json_scan_begin(&scanner, SLICE("18446744073709551615"), 0);
    assert_true(json_uint64(&scanner, &natural) && natural == UINT64_MAX);
    json_scan_begin(&scanner, SLICE("-1"), 0);
    assert_false(json_uint64(&scanner, &natural));
}

static const char *
text_of_double(double value, Buffer *buffer)
{
    buffer_clear(buffer);
    JsonWriter writer = json_writer(buffer);
    json_write_double(&writer, value);
    return buffer_string(buffer);
}

static const char *
text_of_float(float value, Buffer *buffer)
{
    buffer_clear(buffer);
    JsonWriter writer = json_writer(buffer);
    json_write_float(&writer, value);
    return buffer_string(buffer);
}

static void
numbers_are_written_as_people_do(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"}, {-0.0, "-0.0"}, {1, "1"}, {-1, "-1"}, {0.1, "0.1"}, {0.5, "0.5"}, {1024, "1024"},
        {1e15, "1000000000000000"}, {1e16, "1e16"}, {123456.75, "123456.75"}, {1e-5, "0.00001"},
        {1e-6, "1e-6"}, {1.5e-7, "1.5e-7"}, {-2.5e100, "-2.5e+100"}, {0.1 + 0.2, "0.30000000000000004"},
        {1e22, "1e22"}, {9007199254740992, "9007199254740992"}, {5e-324, "5e-324"}, {(double)NAN, "\"NaN\""},
        {(double)INFINITY, "\"Infinity\""}, {-(double)INFINITY, "\"-Infinity\""},
        {DBL_MAX, "1.7976931348623157e+308"}};
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        assert_string_equal(text_of_double(rows[index].value, &buffer), rows[index].text);
    }
    assert_string_equal(text_of_float(0.1F, &buffer), "0.1");
    assert_string_equal(text_of_float(16777216.0F, &buffer), "16777216");
    assert_string_equal(text_of_float(3.14159274F, &buffer), "3.1415927");
    assert_string_equal(text_of_float(-1e-7F, &buffer), "-1e-7");
    assert_string_equal(text_of_float(FLT_MAX, &buffer), "3.4028235e+38");
    assert_string_equal(text_of_float(1e-45F, &buffer), "1e-45");
}

/* Returns the least number of digits that reads back as the same value, by trying with the C library. */
static size_t
digits_needed_by_double(double value)
{
    for (int digits = 1; digits < DBL_DECIMAL_DIG; digits++) {
        char text[40];
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value) {
            return (size_t)digits;
        }
    }
    return DBL_DECIMAL_DIG;
}

static size_t
digits_written(const char *text)
{
    size_t count = 0;
    size_t trailing = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (count > 0 || *text != '0')) {
            count++;
            trailing = *text == '0' ? trailing + 1 : 0;
        }
    }
    return count - trailing;
}

static void
every_double_reads_back_and_is_shortest(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    for (int round = 0; round < 30000; round++) {
        uint64_t bits = random_next();
        double value = 0;
        if (round % 2 == 0) {
            memcpy(&value, &bits, sizeof value);
        } else {
            value = (double)(int64_t)(bits >> (bits % 60)) / pow(10, (double)(bits % 13));
        }
        if (!isnormal(value)) {
            continue;
        }
        const char *text = text_of_double(value, &buffer);
        assert_true(strtod(text, NULL) == value);
        if (digits_written(text) > digits_needed_by_double(value)) {
            fail_msg("%s has more digits than %zu", text, digits_needed_by_double(value));
        }
    }
}

static void
every_float_reads_back(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    for (uint64_t bits = 1; bits < 0x7f800000; bits += 4999) {
        uint32_t pattern = (uint32_t)bits | (bits % 2 ? 0x80000000U : 0);
        float value = 0;
        memcpy(&value, &pattern, sizeof value);
        const char *text = text_of_float(value, &buffer);
        if (strtof(text, NULL) != value) {
            fail_msg("%.9g is written as %s", (double)value, text);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_numbers_are_rounded_once),
        cmocka_unit_test(random_decimals_are_rounded_once),
        cmocka_unit_test(middles_between_floats_go_to_the_even_one),
        cmocka_unit_test(long_numbers_have_a_limit),
        cmocka_unit_test(not_a_number_and_infinities_are_strings),
        cmocka_unit_test(integers_never_pass_through_a_double),
        cmocka_unit_test(numbers_are_written_as_people_do),
        cmocka_unit_test(every_double_reads_back_and_is_shortest),
        cmocka_unit_test(every_float_reads_back),
    };
    return cmocka_run_group_tests_name("shared/json/number", tests, NULL, NULL);
}
