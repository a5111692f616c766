/* Every row of GET /api/v1/limits is shown, and has a test limit_<name> in this folder. */
#include "gateway/domain/limits.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "tests/support/limit_checks.h"

/* Clears the name when the file holds a test of that name. */
static void
look_for(const char *path, void *context)
{
    const char *const *test = context;
    TensorBuffer *file = file_read(path);
    assert_non_null(file);
    bool is_there = memmem(file->data, file->size, *test, strlen(*test)) != NULL;
    tensor_buffer_unref(file);
    if (is_there) {
        *(const char **)context = "";
    }
}

static bool
has_test(const char *limit)
{
    char test[128];
    const char *wanted = test;
    (void)snprintf(test, sizeof test, "\nlimit_%s(void **state)\n", limit);
    assert_true(files_each("tests/integration/limits", "_test.c", look_for, &wanted) > 1);
    return wanted[0] == '\0';
}

static void
every_limit_is_shown_and_has_a_test(void **state)
{
    Cluster *cluster = *state;
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *limit = &limit_table[index];
        assert_int_equal(limit_shown(cluster, limit->name), limit->default_value);
        if (!has_test(limit->name)) {
            fail_msg("the limit %s has no test here", limit->name);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {CLUSTER_TEST(every_limit_is_shown_and_has_a_test)};
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
