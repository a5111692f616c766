#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/config/config.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static const SettingDefinition definitions[] = {
    {.name = "listen",
        .type = SETTING_STRING,
        .default_value = "127.0.0.1:8080",
        .meaning = "where to listen"},
    {.name = "auth",
        .type = SETTING_CHOICE,
        .default_value = "keys",
        .choices = "keys|off",
        .meaning = "who may"},
    {.name = "loop-count",
        .type = SETTING_INTEGER,
        .default_value = "2",
        .unit = "threads",
        .minimum = 1,
        .maximum = 64,
        .meaning = "event loops"},
    {.name = "step-timeout",
        .type = SETTING_DURATION,
        .default_value = "60s",
        .minimum = 1,
        .maximum = 86400000,
        .meaning = "deadline of a step"},
    {.name = "plan-cache", .type = SETTING_BYTES, .default_value = "64MiB", .meaning = "plans kept"},
    {.name = "verbose", .type = SETTING_BOOLEAN, .default_value = "false", .meaning = "say more"},
    {.name = "workers", .type = SETTING_LIST, .meaning = "worker addresses"},
    {.name = "feed", .type = SETTING_REPEATED, .meaning = "an input"},
    {.name = "database-url", .type = SETTING_SECRET, .meaning = "how to reach PostgreSQL"},
};
static const ConfigTable table = {.definitions = definitions, .count = COUNT_OF(definitions)};

typedef struct Fixture {
    Call call;
    Config *config;
    char path[64];
} Fixture;

static int
set_up(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){.call = {.arena = arena_new(1 << 20)}, .path = "/tmp/config_test.XXXXXX"};
    int descriptor = mkstemp(fixture.path);
    (void)close(descriptor);
    *state = &fixture;
    return descriptor < 0;
}

static int
tear_down(void **state)
{
    Fixture *fixture = *state;
    (void)unlink(fixture->path);
    arena_free(fixture->call.arena);
    return 0;
}

static void
write_file(Fixture *fixture, const char *content)
{
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(content, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

/* Both lists end with NULL. */
static Status
load(Fixture *fixture, const char *const *arguments, const char *const *environment)
{
    size_t count = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    ConfigInput input = {.arguments = arguments, .argument_count = count, .environment = environment};
    return config_load(&fixture->call, &table, &input, &fixture->config);
}

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void
assert_refused(Fixture *fixture, const char *const *arguments, const char *message)
{
    assert_status(&fixture->call, STATUS_INVALID_ARGUMENT, load(fixture, arguments, NULL));
    assert_string_equal(fixture->call.error.message, message);
}

static void
without_input_every_setting_has_its_default(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS(), NULL));
    const Config *config = fixture->config;
    const Slice *items = NULL;
    assert_string_equal(config_string(config, "listen"), "127.0.0.1:8080");
    assert_int_equal(config_integer(config, "loop-count"), 2);
    assert_int_equal(config_integer(config, "step-timeout"), 60000);
    assert_int_equal(config_integer(config, "plan-cache"), 64 << 20);
    assert_false(config_boolean(config, "verbose"));
    assert_int_equal(config_list(config, "workers", &items), 0);
    assert_null(config_secret(config, "database-url"));
    assert_false(config_is_set(config, "listen"));
    assert_null(config_word(config, 0));
}

static void
a_flag_beats_the_environment_beats_the_file_beats_the_default(void **state)
{
    Fixture *fixture = *state;
    write_file(fixture, "# ours\nlisten = file:1   # why\n  loop-count=3\nstep-timeout = 1s\nauth=off\r\n\n");
    const char *const environment[] = {"HOME=/", "SLUICE_LOOP_COUNT=4", "SLUICE_STEP_TIMEOUT=2s",
        "SLUICE_VERBOSE=", "SLUICE_PORT=tcp://x", NULL};
    const char *const arguments[] = {"--config", fixture->path, "--step-timeout=3s", NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, arguments, environment));
    assert_string_equal(config_string(fixture->config, "listen"), "file:1");
    assert_int_equal(config_integer(fixture->config, "loop-count"), 4);
    assert_int_equal(config_integer(fixture->config, "step-timeout"), 3000);
    assert_string_equal(config_string(fixture->config, "auth"), "off");
    assert_false(config_boolean(fixture->config, "verbose"));
    assert_true(config_is_set(fixture->config, "listen"));
}

static void
words_stand_between_flags_and_behind_a_double_dash(void **state)
{
    Fixture *fixture = *state;
    const char *const arguments[] = {
        "config", "--verbose", "more", "--workers", "a:1, b:2,,", "--", "--listen", NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, arguments, NULL));
    assert_string_equal(config_word(fixture->config, 0), "config");
    assert_string_equal(config_word(fixture->config, 1), "more");
    assert_string_equal(config_word(fixture->config, 2), "--listen");
    assert_null(config_word(fixture->config, 3));
    assert_true(config_boolean(fixture->config, "verbose"));
    const Slice *items = NULL;
    assert_int_equal(config_list(fixture->config, "workers", &items), 2);
    assert_true(slice_equals_string(items[1], "b:2"));
}

static void
an_unknown_name_is_answered_with_the_nearest(void **state)
{
    Fixture *fixture = *state;
    assert_refused(fixture, ARGUMENTS("--loop-cuont", "3"),
        "there is no setting '--loop-cuont': did you mean '--loop-count'");
    assert_refused(fixture, ARGUMENTS("--gpu=1"), "there is no setting '--gpu'");
    write_file(fixture, "listen = a\nworker = b\n");
    assert_status(
        &fixture->call, STATUS_INVALID_ARGUMENT, load(fixture, ARGUMENTS("--config", fixture->path), NULL));
    char expected[200];
    (void)snprintf(expected, sizeof expected,
        "file '%s' line 2: there is no setting 'worker': did you mean 'workers'", fixture->path);
    assert_string_equal(fixture->call.error.message, expected);
}

static void
a_wrong_value_names_its_place_and_what_was_expected(void **state)
{
    Fixture *fixture = *state;
    assert_refused(fixture, ARGUMENTS("--loop-count", "many"),
        "setting 'loop-count' (flag --loop-count): expected a number, not 'many'");
    assert_refused(fixture, ARGUMENTS("--loop-count=65"),
        "setting 'loop-count' (flag --loop-count): '65' is not between 1 and 64");
    assert_refused(fixture, ARGUMENTS("--step-timeout=25h"),
        "setting 'step-timeout' (flag --step-timeout): '25h' is not between 1 and 86400000 ms");
    assert_refused(fixture, ARGUMENTS("--step-timeout=10"),
        "setting 'step-timeout' (flag --step-timeout): expected a duration such as 250ms, 10s, 5m or 24h, "
        "not '10'");
    assert_refused(fixture, ARGUMENTS("--plan-cache=9999999999GiB"),
        "setting 'plan-cache' (flag --plan-cache): expected a size such as 4096, 64KiB or 2GiB, not "
        "'9999999999GiB'");
    assert_refused(fixture, ARGUMENTS("--plan-cache=-1"),
        "setting 'plan-cache' (flag --plan-cache): '-1' is not between 0 and 9223372036854775807 bytes");
    assert_refused(
        fixture, ARGUMENTS("--auth=on"), "setting 'auth' (flag --auth): expected one of keys|off, not 'on'");
    assert_refused(fixture, ARGUMENTS("--verbose=1"),
        "setting 'verbose' (flag --verbose): expected true or false, not '1'");
    assert_refused(fixture, ARGUMENTS("--listen"), "'--listen' needs a value");
}

static void
a_secret_comes_from_a_file_only(void **state)
{
    Fixture *fixture = *state;
    write_file(fixture, "hunter2\n");
    const char *const arguments[] = {"--database-url-file", fixture->path, NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, arguments, NULL));
    assert_string_equal(config_secret(fixture->config, "database-url"), "hunter2");
    AUTO_BUFFER buffer = {0};
    config_write(fixture->config, &buffer);
    assert_null(strstr(buffer_string(&buffer), "hunter2"));
    assert_refused(fixture, ARGUMENTS("--database-url=hunter2"),
        "'--database-url' is a secret and comes from a file only: use '--database-url-file'");
    write_file(fixture, "\n");
    assert_status(&fixture->call, STATUS_INVALID_ARGUMENT, load(fixture, arguments, NULL));
    assert_status(
        &fixture->call, STATUS_NOT_FOUND, load(fixture, ARGUMENTS("--database-url-file=/nowhere"), NULL));
    assert_string_equal(fixture->call.error.message,
        "setting 'database-url-file' (flag --database-url-file): "
        "file '/nowhere' cannot be opened: No such file or directory");
}

static void
a_repeated_setting_collects_the_uses_of_its_strongest_source(void **state)
{
    Fixture *fixture = *state;
    const Slice *items = NULL;
    write_file(fixture, "feed = a=1\nfeed = b=2,3\n");
    const char *const from_file[] = {"--config", fixture->path, NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, from_file, NULL));
    assert_int_equal(config_list(fixture->config, "feed", &items), 2);
    assert_true(slice_equals_string(items[0], "a=1"));
    assert_true(slice_equals_string(items[1], "b=2,3"));
    assert_false(config_is_flag(fixture->config, "feed"));
    const char *const both[] = {
        "--feed", "c=4", "--config", fixture->path, "--feed=d=5", "--feed", "e=6", NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, both, NULL));
    assert_int_equal(config_list(fixture->config, "feed", &items), 3);
    assert_true(slice_equals_string(items[0], "c=4"));
    assert_true(slice_equals_string(items[1], "d=5"));
    assert_true(slice_equals_string(items[2], "e=6"));
    assert_true(config_is_flag(fixture->config, "feed"));
    AUTO_BUFFER buffer = {0};
    config_write(fixture->config, &buffer);
    assert_non_null(strstr(buffer_string(&buffer), "feed = c=4  # flag --feed\nfeed = d=5  # flag --feed\n"));
}

static void
effective_values_are_shown_with_their_source_and_read_back(void **state)
{
    Fixture *fixture = *state;
    const char *const environment[] = {"SLUICE_LOOP_COUNT=4", NULL};
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS("--listen=:80"), environment));
    AUTO_BUFFER buffer = {0};
    config_write(fixture->config, &buffer);
    assert_string_equal(buffer_string(&buffer), "listen = :80  # flag --listen\n"
                                                "auth = keys  # default\n"
                                                "loop-count = 4  # environment SLUICE_LOOP_COUNT\n"
                                                "step-timeout = 60s  # default\n"
                                                "plan-cache = 64MiB  # default\n"
                                                "verbose = false  # default\n"
                                                "# workers is not set\n"
                                                "# feed is not set\n"
                                                "# database-url-file is not set\n");
    write_file(fixture, buffer_string(&buffer));
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS("--config", fixture->path), NULL));
    assert_string_equal(config_string(fixture->config, "listen"), ":80");
    assert_int_equal(config_integer(fixture->config, "loop-count"), 4);
}

static void
the_table_is_rendered_for_people(void **state)
{
    (void)state;
    ConfigTable two = {.definitions = definitions + 1, .count = 2};
    AUTO_BUFFER buffer = {0};
    config_write_markdown(&two, &buffer);
    assert_string_equal(buffer_string(&buffer),
        "| flag | environment | value | default | meaning |\n"
        "|---|---|---|---|---|\n"
        "| `--auth` | `SLUICE_AUTH` | keys\\|off | `keys` | who may |\n"
        "| `--loop-count` | `SLUICE_LOOP_COUNT` | threads | `2` | event loops |\n");
    buffer_clear(&buffer);
    config_write_help(&two, &buffer);
    assert_string_equal(buffer_string(&buffer),
        "  --auth <keys|off>\n        who may (default keys)\n"
        "  --loop-count <threads>\n        event loops (default 2)\n");
    ConfigTable boolean = {.definitions = definitions + 5, .count = 1};
    buffer_clear(&buffer);
    config_write_help(&boolean, &buffer);
    assert_string_equal(
        buffer_string(&buffer), "  --verbose[=true|false]\n        say more (default false)\n");
}

static void
help_is_asked_for_by_flag(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS("--help"), NULL));
    assert_true(config_wants_help(fixture->config));
    assert_false(config_wants_version(fixture->config));
}

static void
the_version_is_asked_for_by_flag(void **state)
{
    Fixture *fixture = *state;
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS("--version"), NULL));
    assert_true(config_wants_version(fixture->config));
    assert_true(config_version[0] >= '0' && config_version[0] <= '9');
}

/* Asks in a process of its own, which ends there, and reads what it said. */
static void
assert_asking_ends(Fixture *fixture, const char *name, const char *message)
{
    int result = 0;
    char said[512] = "";
    assert_status(&fixture->call, STATUS_OK, load(fixture, ARGUMENTS(), NULL));
    pid_t child = fork();
    if (child == 0) {
        int errors = open(fixture->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (dup2(errors, STDERR_FILENO) == STDERR_FILENO) {
            (void)config_integer(fixture->config, name);
        }
        _exit(EXIT_SUCCESS);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(WTERMSIG(result), SIGABRT);
    FILE *file = fopen(fixture->path, "r");
    assert_non_null(file);
    assert_true(fread(said, 1, sizeof said - 1, file) > 0);
    (void)fclose(file);
    assert_string_equal(said, message);
}

static void
asking_for_what_the_table_lacks_ends_the_program_with_the_name(void **state)
{
    assert_asking_ends(*state, "loop-cuont", "there is no setting 'loop-cuont'\n");
    assert_asking_ends(*state, "verbose", "setting 'verbose' is of another type than is asked for\n");
}

static void
every_failed_allocation_is_reported(void **state)
{
    Fixture *fixture = *state;
    write_file(fixture, "listen = a\n");
    size_t total = 0;
    for (size_t index = 0; index <= total; index++) {
        fail_alloc_count = 0;
        fail_alloc_at = 0;
        AUTO_ARENA arena = arena_new(1 << 20);
        fail_alloc_count = 0;
        fail_alloc_at = index;
        Fixture failing = {.call = {.arena = arena}};
        Status status = load(&failing, ARGUMENTS("--config", fixture->path), NULL);
        fail_alloc_at = 0;
        total = index == 0 ? fail_alloc_count : total;
        assert_int_equal(status, index == 0 ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED);
    }
    assert_true(total > 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_input_every_setting_has_its_default),
        TEST(a_flag_beats_the_environment_beats_the_file_beats_the_default),
        TEST(words_stand_between_flags_and_behind_a_double_dash),
        TEST(an_unknown_name_is_answered_with_the_nearest),
        TEST(a_wrong_value_names_its_place_and_what_was_expected),
        TEST(a_secret_comes_from_a_file_only),
        TEST(a_repeated_setting_collects_the_uses_of_its_strongest_source),
        TEST(effective_values_are_shown_with_their_source_and_read_back),
        TEST(the_table_is_rendered_for_people),
        TEST(help_is_asked_for_by_flag),
        TEST(the_version_is_asked_for_by_flag),
        TEST(asking_for_what_the_table_lacks_ends_the_program_with_the_name),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("shared/config", tests, NULL, NULL);
}
