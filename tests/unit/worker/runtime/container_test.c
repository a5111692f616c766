/* Resources that outlast a step, and the containers that hold them. */
#include "shared/base/memory.h"
#include "tests/support/call_fixture.h"
#include "worker/runtime/resource.h"

static int alive;

static void
thing_free(Resource *resource)
{
    alive--;
    memory_free(resource);
}

static const ResourceType thing_type = {.name = "a thing", .free = thing_free};

static Status
thing_make(Call *call, const void *context, Resource **ret_resource)
{
    (void)context;
    Resource *thing = memory_new(1, sizeof *thing);
    if (thing == NULL) {
        return call_fail_memory(call, "a thing");
    }
    resource_init(thing, &thing_type);
    alive++;
    *ret_resource = thing;
    return STATUS_OK;
}

/* Returns a new reference. */
static Resource *
obtain(Call *call, ResourceContainer *container, const char *name)
{
    Resource *resource = NULL;
    ContainerEntry entry = {.name = slice_from_string(name), .type = &thing_type, .make = thing_make};
    assert_status(call, STATUS_OK, container_obtain(call, container, &entry, &resource));
    return resource;
}

static void
a_reset_drops_what_lies_in_the_named_containers_alone(void **state)
{
    static const char *const names[] = {"w", "training;w", "training;v", "kept;w", "trainingx;w"};
    Call *call = *state;
    ResourceContainer *container = container_new();
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        resource_unref(obtain(call, container, names[index]));
    }
    Slice training = SLICE("training");
    const Slice others[] = {slice_from_string(DEFAULT_CONTAINER), SLICE("nobody's"), SLICE("")};
    assert_int_equal(container_reset(container, &training, 1), 2);
    assert_int_equal(container_count(container), 3);
    assert_int_equal(container_reset(container, &training, 1), 0);
    assert_int_equal(container_reset(container, others, COUNT_OF(others)), 1);
    assert_int_equal(container_count(container), 2);
    assert_int_equal(alive, 2);
    container_unref(container);
    assert_int_equal(alive, 0);
}

static bool is_again;

static Status
thing_make_again(Call *call, const void *context, Resource **ret_resource)
{
    is_again = true;
    return thing_make(call, context, ret_resource);
}

/* Returns whether the resource of this name is made as one that existed before. */
static bool
is_made_again(Call *call, ResourceContainer *container, const char *name)
{
    Resource *resource = NULL;
    ContainerEntry entry = {.name = slice_from_string(name),
        .type = &thing_type,
        .make = thing_make,
        .make_again = thing_make_again};
    is_again = false;
    assert_status(call, STATUS_OK, container_obtain(call, container, &entry, &resource));
    resource_unref(resource);
    return is_again;
}

static void
what_was_removed_or_lost_is_made_as_such(void **state)
{
    Call *call = *state;
    ResourceContainer *container = container_new();
    Slice name = slice_from_string(DEFAULT_CONTAINER);
    assert_false(is_made_again(call, container, "w"));
    assert_int_equal(container_reset(container, &name, 1), 1);
    assert_false(is_made_again(call, container, "v"));
    assert_true(is_made_again(call, container, "w"));
    Resource *thing = obtain(call, container, "v");
    assert_true(container_remove(container, SLICE("v"), thing));
    resource_unref(thing);
    assert_true(is_made_again(call, container, "v"));
    container_mark_lost(container);
    assert_true(is_made_again(call, container, "u"));
    container_unref(container);
}

static void
who_holds_a_thing_keeps_it_and_the_next_gets_another(void **state)
{
    Call *call = *state;
    ResourceContainer *container = container_new();
    Slice name = slice_from_string(DEFAULT_CONTAINER);
    Resource *held = obtain(call, container, "w");
    assert_int_equal(container_reset(container, &name, 1), 1);
    assert_int_equal(alive, 1);
    Resource *next = obtain(call, container, "w");
    assert_ptr_not_equal(next, held);
    resource_unref(held);
    resource_unref(next);
    container_unref(container);
    assert_int_equal(alive, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_reset_drops_what_lies_in_the_named_containers_alone),
        CALL_TEST(what_was_removed_or_lost_is_made_as_such),
        CALL_TEST(who_holds_a_thing_keeps_it_and_the_next_gets_another),
    };
    return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
