#include "gateway/http/accept.h"
#include "tests/support/cmocka_all.h"

typedef struct Case {
    const char *accept;
    const char *media_type;
    int quality;
} Case;

static void
the_most_specific_range_decides(void **state)
{
    (void)state;
    static const Case cases[] = {
        {NULL, "application/json", 1000},
        {" ", "application/json", 1000},
        {"*/*", "application/json", 1000},
        {"application/*;q=0.5", "application/json", 500},
        {"application/json;q=0.25, */*", "application/json", 250},
        {"*/*, application/*;q=0.1, application/json;q=0", "application/json", 0},
        {"text/html", "application/json", 0},
        {"APPLICATION/JSON ; Q=0.333", "application/json", 333},
        {"application/json;charset=utf-8", "application/json", 1000},
        {"application/json;q=2", "application/json", 0},
        {"application/json;q=0.1234", "application/json", 0},
        {"application/json;q=", "application/json", 0},
        {"application/jso", "application/json", 0},
        {"application/", "application/json", 0},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        const int quality = accept_quality(slice_from_string(cases[index].accept), cases[index].media_type);
        if (quality != cases[index].quality) {
            fail_msg("'%s' gives %d, not %d", cases[index].accept, quality, cases[index].quality);
        }
    }
}

static void
the_best_offer_wins_and_ties_go_to_the_first(void **state)
{
    (void)state;
    static const char *const offers[] = {"application/json", "multipart/mixed", "application/x-npy"};
    assert_int_equal(accept_choose(SLICE("*/*"), offers, 3), 0);
    assert_int_equal(accept_choose(SLICE("application/json;q=0.5, multipart/*"), offers, 3), 1);
    assert_int_equal(accept_choose(SLICE("application/x-npy"), offers, 3), 2);
    assert_int_equal(accept_choose(SLICE("text/html"), offers, 3), -1);
    assert_int_equal(accept_choose((Slice){0}, offers, 3), 0);
}

static void
gzip_is_sent_only_to_those_who_name_it(void **state)
{
    (void)state;
    assert_true(accept_encoding(SLICE("deflate, gzip;q=0.5"), "gzip"));
    assert_true(accept_encoding(SLICE("*"), "gzip"));
    assert_false(accept_encoding(SLICE("*, gzip;q=0"), "gzip"));
    assert_false(accept_encoding(SLICE("*;q=0"), "gzip"));
    assert_false(accept_encoding(SLICE("br"), "gzip"));
    assert_false(accept_encoding((Slice){0}, "gzip"));
}

static void
a_media_type_loses_its_parameters(void **state)
{
    (void)state;
    assert_true(slice_equals_string(media_type_bare(SLICE("text/html ; charset=x")), "text/html"));
    assert_true(slice_equals_string(media_type_bare(SLICE("text/html")), "text/html"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_specific_range_decides),
        cmocka_unit_test(the_best_offer_wins_and_ties_go_to_the_first),
        cmocka_unit_test(gzip_is_sent_only_to_those_who_name_it),
        cmocka_unit_test(a_media_type_loses_its_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
