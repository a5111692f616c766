#include "gateway/cli/fetch.h"
#include "tests/support/call_fixture.h"

static void
assert_shown(Call *call, const char *tensor, const char *expected)
{
    AUTO_BUFFER text = {0};
    assert_status(call, STATUS_OK, fetch_append_elements(call, slice_from_string(tensor), &text));
    assert_string_equal(buffer_string(&text), expected);
}

static void
elements_are_nested_as_the_shape_says(void **state)
{
    Call *call = *state;
    assert_shown(call, "{\"dtype\":\"float32\",\"shape\":[],\"data\":[1.5]}", "1.5\n");
    assert_shown(call, "{\"dtype\":\"float32\",\"shape\":[3],\"data\":[1,\"NaN\",-3]}", "[1, \"NaN\", -3]\n");
    assert_shown(call, "{\"dtype\":\"int8\",\"shape\":[2,2],\"data\":[1,2,3,4]}", "[[1, 2],\n [3, 4]]\n");
    assert_shown(
        call, "{\"dtype\":\"int8\",\"shape\":[2,1,2],\"data\":[1,2,3,4]}", "[[[1, 2]],\n [[3, 4]]]\n");
    assert_shown(call, "{\"dtype\":\"complex64\",\"shape\":[1],\"data\":[[1,2]]}", "[[1,2]]\n");
    assert_shown(call, "{\"dtype\":\"string\",\"shape\":[1],\"data\":[\"a\\u001bb\"]}", "[\"a\\u001bb\"]\n");
}

static void
no_elements_are_shown_as_none(void **state)
{
    Call *call = *state;
    assert_shown(call, "{\"dtype\":\"int8\",\"shape\":[0],\"data\":[]}", "[]\n");
    assert_shown(call, "{\"dtype\":\"int8\",\"shape\":[2,0],\"data\":[]}", "[[],\n []]\n");
    assert_shown(call, "{\"dtype\":\"int8\",\"shape\":[0,2],\"data\":[]}", "[]\n");
}

static void
of_a_large_tensor_the_edges_are_shown(void **state)
{
    Call *call = *state;
    AUTO_BUFFER tensor = {0};
    buffer_append_string(&tensor, "{\"dtype\":\"int32\",\"shape\":[2,600],\"data\":[0");
    for (int index = 1; index < 1200; index++) {
        buffer_append_format(&tensor, ",%d", index);
    }
    buffer_append_string(&tensor, "]}");
    assert_shown(call, buffer_string(&tensor),
        "[[0, 1, 2, ..., 597, 598, 599],\n [600, 601, 602, ..., 1197, 1198, 1199]]\n");
}

static void
elements_that_are_missing_are_an_error(void **state)
{
    Call *call = *state;
    static const char *const tensors[] = {
        "{\"dtype\":\"int8\",\"shape\":[2],\"data\":[1]}",
        "{\"dtype\":\"int8\",\"shape\":[2]}",
        "{\"dtype\":\"int8\",\"shape\":[-2],\"data\":[1]}",
        "{\"dtype\":\"int8\",\"shape\":[\"a\"],\"data\":[1]}",
        "{\"dtype\":\"int8\",\"shape\":[4611686018427387904,4],\"data\":[1]}",
        "{\"dtype\":\"int8\",\"shape\":[1],\"data\":[1",
    };
    for (size_t index = 0; index < COUNT_OF(tensors); index++) {
        AUTO_BUFFER text = {0};
        assert_status(
            call, STATUS_DATA_LOSS, fetch_append_elements(call, slice_from_string(tensors[index]), &text));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(elements_are_nested_as_the_shape_says),
        CALL_TEST(no_elements_are_shown_as_none),
        CALL_TEST(of_a_large_tensor_the_edges_are_shown),
        CALL_TEST(elements_that_are_missing_are_an_error),
    };
    return cmocka_run_group_tests_name("gateway/cli/fetch", tests, NULL, NULL);
}
