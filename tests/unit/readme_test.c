/* README.md shows every setting of both programs as the programs themselves know them. */
#include <stdio.h>
#include <string.h>

#include "gateway/services/settings.h"
#include "shared/base/buffer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "worker/serve/settings.h"

static void
check_table(const ConfigTable *settings)
{
    AUTO_BUFFER readme = {0};
    AUTO_BUFFER table = {0};
    TensorBuffer *const file = file_read("README.md");
    assert_non_null(file);
    buffer_append(&readme, file->data, file->size);
    buffer_append(&readme, "", 1);
    tensor_buffer_unref(file);
    config_write_markdown(settings, &table);
    buffer_append(&table, "\n", 2); /* an empty line ends a table; and NUL */
    if (strstr((const char *)readme.data, (const char *)table.data) == NULL) {
        (void)fwrite(table.data, 1, table.size - 1, stdout); /* longer than fail_msg() prints */
        fail_msg("a table of README.md is out of date; it should be the one above");
    }
}

static void
the_readme_shows_the_settings_of_the_gateway(void **state)
{
    (void)state;
    check_table(&gateway_settings);
}

static void
the_readme_shows_the_settings_of_the_worker(void **state)
{
    (void)state;
    check_table(&worker_settings);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_readme_shows_the_settings_of_the_gateway),
        cmocka_unit_test(the_readme_shows_the_settings_of_the_worker),
    };
    return cmocka_run_group_tests_name("readme", tests, NULL, NULL);
}
