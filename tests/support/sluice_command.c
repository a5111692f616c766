#include "tests/support/sluice_command.h"

#include "shared/base/memory.h"
#include "shared/json/scanner.h"
#include "tests/support/files.h"
#include "tests/support/step_graphs.h"

int
sluice_setup(void **state)
{
    SluiceFixture *fixture = memory_new(1, sizeof *fixture);
    *state = fixture;
    if (fixture == NULL || !cluster_start(&fixture->cluster, &(ClusterOptions){0})) {
        return -1;
    }
    fixture->call.arena = arena_new(1 << 20);
    (void)snprintf(fixture->url, sizeof fixture->url, "http://%s", fixture->cluster.gateway.address);
    (void)snprintf(fixture->folder, sizeof fixture->folder, "/tmp/cli_test.XXXXXX");
    return mkdtemp(fixture->folder) == NULL ? -1 : 0;
}

int
sluice_teardown(void **state)
{
    SluiceFixture *fixture = *state;
    folder_remove(fixture->folder);
    cluster_stop(&fixture->cluster);
    arena_free(fixture->call.arena);
    memory_free(fixture);
    return 0;
}

int
sluice_run(SluiceFixture *fixture, const char *const *arguments)
{
    char expanded[PROCESS_ARGUMENTS_MAX][256];
    const char *all[PROCESS_ARGUMENTS_MAX] = {"--url", fixture->url};
    size_t count = 2;
    for (; *arguments != NULL && count + 1 < PROCESS_ARGUMENTS_MAX; arguments++, count++) {
        Slice argument = slice_from_string(*arguments);
        size_t mark = slice_find(argument, '%');
        bool has_mark = mark < argument.size;
        (void)snprintf(expanded[count], sizeof expanded[count], "%.*s%s%s", (int)mark, argument.data,
            has_mark ? fixture->folder : "", has_mark ? argument.data + mark + 1 : "");
        all[count] = expanded[count];
    }
    ProcessOutput output = {fixture->out, sizeof fixture->out, fixture->error, sizeof fixture->error};
    return process_capture("sluice", all, &output);
}

void
sluice_write(const SluiceFixture *fixture, const char *name, Slice content)
{
    char path[SLUICE_PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content.data, 1, content.size, file), content.size);
    assert_int_equal(fclose(file), 0);
}

size_t
sluice_read(const SluiceFixture *fixture, const char *name, char *content, size_t size)
{
    char path[SLUICE_PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(content, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return got;
}

void
sluice_push_affine(SluiceFixture *fixture)
{
    sluice_write(fixture, "affine.json", SLICE(STEP_GRAPH_AFFINE));
    assert_exit(0, fixture, "graph", "push", "%/affine.json");
}

void
assert_is_json(SluiceFixture *fixture, const char *text)
{
    JsonScanner scanner;
    Slice whole;
    json_scan_begin(&scanner, slice_from_string(text), JSON_DEPTH_MAX);
    (void)json_skip(&scanner, &whole);
    assert_status(&fixture->call, STATUS_OK, json_scan_end(&fixture->call, &scanner));
}

void
sluice_take_id(const SluiceFixture *fixture, char ret_id[SLUICE_PATH_SIZE])
{
    (void)snprintf(ret_id, SLUICE_PATH_SIZE, "%.*s", (int)strcspn(fixture->out, "\n"), fixture->out);
    assert_int_equal(strncmp(ret_id, "stp_", 4), 0);
}
