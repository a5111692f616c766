#include "tests/support/cmocka_all.h"
#include "worker/serve/route.h"

typedef struct Case {
    const char *verb;
    const char *path;
    const char *method; /* NULL: no method is found */
    const char *parameters[WORKER_PARAMETERS_MAX];
} Case;

static const Case cases[] = {
    {"GET", "/worker/v1/status", "GetStatus", {0}},
    {"POST", "/worker/v1/steps/stp_1:run", "RunGraph", {"stp_1"}},
    {"POST", "/worker/v1/steps/stp_1/tensors", "PushTensor", {"stp_1"}},
    {"GET", "/worker/v1/steps/stp_1/tensors/a%2Fb%3B", "RecvTensor", {"stp_1", "a%2Fb%3B"}},
    {"POST", "/worker/v1/status", NULL, {0}},
    {"get", "/worker/v1/status", NULL, {0}},
    {"GET", "/worker/v1/status/", NULL, {0}},
    {"GET", "/worker/v1/statu", NULL, {0}},
    {"GET", "/worker/v1/statusx", NULL, {0}},
    {"GET", "/worker/v2/status", NULL, {0}},
    {"GET", "", NULL, {0}},
    {"POST", "/worker/v1/steps/:run", NULL, {0}},
    {"POST", "/worker/v1/steps/a/b:run", NULL, {0}},
    {"POST", "/worker/v1/steps/stp_1:run:run", NULL, {0}},
    {"POST", "/worker/v1/steps/stp_1:walk", NULL, {0}},
    {"GET", "/worker/v1/steps/stp_1/tensors/", NULL, {0}},
    {"GET", "/worker/v1/steps/stp_1/tensors/a/b", NULL, {0}},
};

static void
a_path_finds_its_method_and_its_parameters(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        const Case *one = &cases[index];
        Slice parameters[WORKER_PARAMETERS_MAX];
        const WorkerMethod *method =
            route_find(slice_from_string(one->verb), slice_from_string(one->path), parameters);
        assert_string_equal(
            method == NULL ? "none" : method->name, one->method == NULL ? "none" : one->method);
        for (int part = 0; part < WORKER_PARAMETERS_MAX && one->parameters[part] != NULL; part++) {
            assert_true(slice_equals_string(parameters[part], one->parameters[part]));
        }
    }
}

/* No file of the registry may hide another one's paths. */
static void
every_method_is_found_by_its_own_pattern(void **state)
{
    (void)state;
    assert_true(worker_method_table_count >= 11);
    for (size_t index = 0; index < worker_method_table_count; index++) {
        const WorkerMethod *method = worker_method_table[index];
        Slice parameters[WORKER_PARAMETERS_MAX];
        char path[128];
        size_t size = 0;
        for (const char *byte = method->path; *byte != '\0'; byte++) {
            if (*byte != '{' && *byte != '}') {
                path[size++] = *byte;
            }
        }
        assert_ptr_equal(
            route_find(slice_from_string(method->verb), slice_of(path, size), parameters), method);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_its_method_and_its_parameters),
        cmocka_unit_test(every_method_is_found_by_its_own_pattern),
    };
    return cmocka_run_group_tests_name("serve/route", tests, NULL, NULL);
}
