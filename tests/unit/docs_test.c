/* The tables of docs/ are the programs' own. Each stands between two marks, `<!-- begin: NAME -->` and
 * `<!-- end: NAME -->`, in a manual page `.\" begin: NAME` and `.\" end: NAME`; `make docs` runs this test
 * with WRITE_DOCS=1, which writes them anew instead of comparing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/app/settings.h"
#include "gateway/cli/command.h"
#include "gateway/cli/settings.h"
#include "gateway/domain/limits.h"
#include "shared/base/buffer.h"
#include "shared/config/describe.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "worker/serve/settings.h"

static void
read_text(const char *path, Buffer *ret_text)
{
    TensorBuffer *file = file_read(path);
    assert_non_null(file);
    buffer_append(ret_text, file->data, file->size);
    tensor_buffer_unref(file);
}

static void
write_text(const char *path, const Buffer *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
    assert_int_equal(fclose(file), 0);
}

/* How comments are written in a page's language. */
typedef struct Comment {
    const char *before;
    const char *after;
} Comment;
static const Comment html = {"<!-- ", " -->"};
static const Comment mdoc = {".\\\" ", ""};

/* Compares what stands between the marks of `name` with `table`, or writes it there. */
static void
check_part(const char *path, const Comment *comment, const char *name, const Buffer *table)
{
    AUTO_BUFFER page = {0};
    AUTO_BUFFER wanted = {0};
    char begin[64];
    char end[64];
    read_text(path, &page);
    Slice text = {.data = page.data, .size = page.size};
    int begin_size = snprintf(begin, sizeof begin, "%sbegin: %s%s\n", comment->before, name, comment->after);
    (void)snprintf(end, sizeof end, "%send: %s%s\n", comment->before, name, comment->after);
    const char *page_text = buffer_string(&page);
    assert_non_null(page_text);
    const char *first = strstr(page_text, begin);
    const char *last = strstr(page_text, end);
    if (first == NULL || last == NULL || last < first) {
        fail_msg("%s has no marks for '%s'", path, name);
        return;
    }
    size_t head_size = (size_t)(first - page_text) + (size_t)begin_size;
    size_t tail_start = (size_t)(last - page_text);
    buffer_append(&wanted, text.data, head_size);
    buffer_append(&wanted, table->data, table->size);
    buffer_append(&wanted, text.data + tail_start, text.size - tail_start);
    if (getenv("WRITE_DOCS") != NULL) {
        write_text(path, &wanted);
    } else if (wanted.size != text.size || memcmp(wanted.data, text.data, text.size) != 0) {
        fail_msg("the table '%s' of %s is out of date: 'make docs' writes it anew", name, path);
    }
}

static void
check_table(const char *path, const char *name, const Buffer *table)
{
    check_part(path, &html, name, table);
}

static void
settings_are_documented_as_the_programs_know_them(void **state)
{
    AUTO_BUFFER gateway = {0};
    AUTO_BUFFER worker = {0};
    (void)state;
    config_write_markdown(&gateway_settings, &gateway);
    check_table("docs/settings.md", "gateway", &gateway);
    config_write_markdown(&worker_settings, &worker);
    check_table("docs/settings.md", "worker", &worker);
}

static void
limits_are_documented_with_their_defaults(void **state)
{
    AUTO_BUFFER table = {0};
    (void)state;
    buffer_append_string(&table, "| limit | default | at most | unit | bounds |\n|---|---|---|---|---|\n");
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *row = &limit_table[index];
        buffer_append_format(&table, "| `%s` | %" PRIu64 " | %" PRIu64 " | %s | %s |\n", row->name,
            row->default_value, row->maximum, row->unit, row->meaning);
    }
    check_table("docs/settings.md", "limits", &table);
}

static void
check_manual_settings(const char *path, const char *name, const ConfigTable *settings)
{
    AUTO_BUFFER list = {0};
    config_write_manual(settings, &list);
    check_part(path, &mdoc, name, &list);
}

/* Appends `command`, what it does, and the flags that it takes beside those of every command. */
static void
append_command(Buffer *list, const Command *command)
{
    buffer_append_format(list, ".It Cm %s", command->name);
    if (command->arguments[0] != '\0') {
        buffer_append_string(list, " Ar ");
        manual_append(list, command->arguments);
    }
    buffer_append_byte(list, '\n');
    manual_append(list, command->summary);
    buffer_append_string(list, ".\n");
    for (const char *const *name = command->settings; name != NULL && *name != NULL; name++) {
        buffer_append_format(list, "%s -%s", name == command->settings ? ".br\n.Fl" : " ,", *name);
    }
    buffer_append_string(list, command->settings == NULL ? "" : "\n");
    if (command->details != NULL) {
        buffer_append_string(list, ".Bd -literal\n");
        manual_append(list, command->details);
        buffer_append_string(list, ".Ed\n");
    }
}

static void
manual_pages_list_settings_commands_and_exit_codes(void **state)
{
    AUTO_BUFFER commands = {0};
    AUTO_BUFFER codes = {0};
    (void)state;
    check_manual_settings("docs/man/sluice-gateway.8", "gateway", &gateway_settings);
    check_manual_settings("docs/man/sluice-worker.8", "worker", &worker_settings);
    check_manual_settings("docs/man/sluice.1", "settings", &cli_settings);
    buffer_append_string(&commands, ".Bl -tag -width Ds\n");
    for (size_t index = 0; index < command_table_count; index++) {
        append_command(&commands, command_table[index]);
    }
    buffer_append_string(&commands, ".El\n");
    check_part("docs/man/sluice.1", &mdoc, "commands", &commands);
    buffer_append_string(&codes, ".Bl -tag -width Ds\n");
#define X(name, number, text) buffer_append_format(&codes, ".It %d\n%s.\n", (number), (text));
    EXIT_CODES(X)
#undef X
    buffer_append_string(&codes, ".El\n");
    check_part("docs/man/sluice.1", &mdoc, "exit", &codes);
}

/* A row of tools/packages: the set, the package, and its reason, separated by spaces. */
static void
append_package(Buffer *table, char *line)
{
    char *rest = NULL;
    const char *set = strtok_r(line, " ", &rest);
    const char *package = strtok_r(NULL, " ", &rest);
    if (set == NULL || package == NULL || set[0] == '#') {
        return;
    }
    while (*rest == ' ') {
        rest++;
    }
    assert_true(*rest != '\0'); /* every dependency has a reason */
    buffer_append_format(table, "| %s | %s | %s |\n", set, package, rest);
}

static void
every_package_that_is_installed_is_documented_with_its_reason(void **state)
{
    AUTO_BUFFER packages = {0};
    AUTO_BUFFER table = {0};
    char *rest = NULL;
    (void)state;
    read_text("tools/packages", &packages);
    buffer_append(&packages, "", 1);
    buffer_append_string(&table, "| for | package | what it does here |\n|---|---|---|\n");
    for (char *line = strtok_r((char *)packages.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        append_package(&table, line);
    }
    check_table("docs/dependencies.md", "packages", &table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_documented_as_the_programs_know_them),
        cmocka_unit_test(limits_are_documented_with_their_defaults),
        cmocka_unit_test(manual_pages_list_settings_commands_and_exit_codes),
        cmocka_unit_test(every_package_that_is_installed_is_documented_with_its_reason),
    };
    return cmocka_run_group_tests_name("docs", tests, NULL, NULL);
}
