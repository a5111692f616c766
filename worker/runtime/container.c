
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/runtime/resource.h"

struct ResourceContainer {
    int32_t reference_count; /* atomic */
    Mutex lock;
    Map *resources; /* name → Resource */
    Map *removed;   /* set of the names whose resource was removed; such a name has no first value any more */
    bool is_lost;   /* every name counts as removed */
    uint64_t made_ns;
};

ResourceContainer *
container_new(void)
{
    ResourceContainer *container = memory_new(1, sizeof *container);
    Map *resources = map_new();
    Map *removed = map_new();
    if (container == NULL || resources == NULL || removed == NULL) {
        memory_free(container);
        map_free(resources);
        map_free(removed);
        return NULL;
    }
    mutex_init(&container->lock);
    container->made_ns = clock_monotonic_ns();
    container->reference_count = 1;
    container->resources = resources;
    container->removed = removed;
    return container;
}

ResourceContainer *
container_ref(ResourceContainer *container)
{
    reference_count_add(&container->reference_count);
    return container;
}

void
container_unref(ResourceContainer *container)
{
    size_t cursor = 0;
    if (container == NULL || !reference_count_drop(&container->reference_count)) {
        return;
    }
    for (const MapEntry *entry = map_next(container->resources, &cursor); entry != NULL;
         entry = map_next(container->resources, &cursor)) {
        resource_unref(entry->value);
    }
    map_free(container->resources);
    map_free(container->removed);
    mutex_done(&container->lock);
    memory_free(container);
}

void
container_mark_lost(ResourceContainer *container)
{
    mutex_lock(&container->lock);
    container->is_lost = true;
    mutex_unlock(&container->lock);
}

bool
container_lost_since(ResourceContainer *container, uint64_t since_ns)
{
    mutex_lock(&container->lock);
    bool is_lost = container->is_lost && container->made_ns > since_ns;
    mutex_unlock(&container->lock);
    return is_lost;
}

/* Removes the name and remembers that it was removed. When there is no memory to remember it, every name
 * counts as removed: a variable without a value is better than one that silently begins anew. */
static Resource *
take_out(ResourceContainer *container, Slice name)
{
    container->is_lost = !map_put(container->removed, name, container) || container->is_lost;
    return map_remove(container->resources, name);
}

size_t
container_count(ResourceContainer *container)
{
    mutex_lock(&container->lock);
    size_t count = map_count(container->resources);
    mutex_unlock(&container->lock);
    return count;
}

static Status
make_resource(
    Call *call, const ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource)
{
    bool is_again = container->is_lost || map_get(container->removed, entry->name) != NULL;
    return is_again && entry->make_again != NULL ? entry->make_again(call, entry->context, ret_resource)
                                                 : entry->make(call, entry->context, ret_resource);
}

static Status
insert_resource(
    Call *call, const ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource)
{
    Map *resources = container->resources;
    Resource *resource = NULL;
    if (map_count(resources) >= CONTAINER_RESOURCE_COUNT_MAX) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "the session keeps %d variables already",
            CONTAINER_RESOURCE_COUNT_MAX);
    }
    TRY(make_resource(call, container, entry, &resource));
    if (!map_put(resources, entry->name, resource)) {
        resource_unref(resource);
        return call_fail_memory(call, "what a session keeps");
    }
    *ret_resource = resource;
    return STATUS_OK;
}

static Status
find_or_make(
    Call *call, const ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource)
{
    Resource *resource = map_get(container->resources, entry->name);
    if (resource == NULL) {
        TRY(insert_resource(call, container, entry, &resource));
    }
    if (resource->type != entry->type) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is %s in this session, not %s",
            SLICE_PRINT(entry->name), resource->type->name, entry->type->name);
    }
    *ret_resource = resource_ref(resource);
    return STATUS_OK;
}

Status
container_obtain(
    Call *call, ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource)
{
    if (container == NULL) {
        return call_fail(call, STATUS_FAILED_PRECONDITION, "'%.*s' needs a session that keeps it",
            SLICE_PRINT(entry->name));
    }
    mutex_lock(&container->lock);
    Status status = find_or_make(call, container, entry, ret_resource);
    mutex_unlock(&container->lock);
    return status;
}

const char DEFAULT_CONTAINER[] = "localhost";

static bool
is_among(Slice resource, const Slice *names, size_t count)
{
    size_t end = slice_find(resource, ';');
    bool is_named = end < resource.size;
    Slice container = is_named ? slice_part(resource, 0, end) : slice_from_string(DEFAULT_CONTAINER);
    for (size_t index = 0; index < count; index++) {
        if (slice_equal(container, names[index])) {
            return true;
        }
    }
    return false;
}

size_t
container_reset(ResourceContainer *container, const Slice *names, size_t count)
{
    size_t cursor = 0;
    size_t removed = 0;
    mutex_lock(&container->lock);
    for (const MapEntry *entry = map_next(container->resources, &cursor); entry != NULL;
         entry = map_next(container->resources, &cursor)) {
        Resource *resource = entry->value;
        if (is_among(entry->key, names, count)) {
            (void)take_out(container, entry->key);
            resource_unref(resource);
            removed++;
        }
    }
    mutex_unlock(&container->lock);
    return removed;
}

bool
container_remove(ResourceContainer *container, Slice name, const Resource *resource)
{
    mutex_lock(&container->lock);
    bool is_there = map_get(container->resources, name) == resource;
    Resource *removed = is_there ? take_out(container, name) : NULL;
    mutex_unlock(&container->lock);
    resource_unref(removed);
    return removed != NULL;
}
