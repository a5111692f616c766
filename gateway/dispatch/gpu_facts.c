#include "gateway/dispatch/gpu_facts.h"

#include <assert.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/text.h"

enum { FACTS_ARENA_SIZE_MAX = 1 << 18 };

const WireDevice *
gpu_of_worker(const WireWorker *worker)
{
    for (size_t index = 0; index < worker->device_count; index++) {
        if (slice_equals_string(worker->devices[index].type, "GPU")) {
            return &worker->devices[index];
        }
    }
    return NULL;
}

static bool
are_equal_libraries(const WireDevice *left, const WireDevice *right)
{
    bool is_equal = left->library_count == right->library_count;
    for (size_t index = 0; is_equal && index < left->library_count; index++) {
        const WireLibrary *first = &left->libraries[index];
        const WireLibrary *second = &right->libraries[index];
        is_equal = slice_equal(first->name, second->name) && slice_equal(first->version, second->version) &&
                   slice_equal(first->reason, second->reason);
    }
    return is_equal;
}

static bool
tells_the_same(const GpuFacts *known, const WireWorker *worker)
{
    const WireDevice *left = known->device;
    const WireDevice *right = gpu_of_worker(worker);
    if (left == NULL || right == NULL) {
        return left == right && slice_equal(known->absence, worker->no_gpu);
    }
    return slice_equal(left->card, right->card) && slice_equal(left->driver, right->driver) &&
           slice_equal(left->fault, right->fault) && are_equal_libraries(left, right);
}

/* Returns false without memory. */
static bool
own_text(Arena *arena, Slice *text)
{
    text->data = text_copy(arena, *text);
    return text->data != NULL;
}

/* Returns a copy of what a page of the REST API shows; NULL without memory. */
static const WireDevice *
copy_device(Arena *arena, const WireDevice *told)
{
    WireDevice *device = arena_alloc(arena, sizeof *device);
    WireLibrary *libraries = arena_alloc(arena, (told->library_count + 1) * sizeof *libraries);
    if (device == NULL || libraries == NULL) {
        return NULL;
    }
    *device = (WireDevice){.card = told->card,
        .driver = told->driver,
        .fault = told->fault,
        .libraries = libraries,
        .library_count = told->library_count};
    bool is_ok =
        own_text(arena, &device->card) && own_text(arena, &device->driver) && own_text(arena, &device->fault);
    for (size_t index = 0; is_ok && index < told->library_count; index++) {
        libraries[index] = told->libraries[index];
        is_ok = own_text(arena, &libraries[index].name) && own_text(arena, &libraries[index].version) &&
                own_text(arena, &libraries[index].reason);
    }
    return is_ok ? device : NULL;
}

static GpuFacts *
facts_new(const WireWorker *worker)
{
    const WireDevice *told = gpu_of_worker(worker);
    AUTO_ARENA arena = arena_new(FACTS_ARENA_SIZE_MAX);
    GpuFacts *facts = arena == NULL ? NULL : arena_alloc(arena, sizeof *facts);
    if (facts == NULL) {
        return NULL;
    }
    *facts = (GpuFacts){.reference_count = 1, .absence = worker->no_gpu};
    facts->device = told == NULL ? NULL : copy_device(arena, told);
    if ((told != NULL && facts->device == NULL) || !own_text(arena, &facts->absence)) {
        return NULL;
    }
    facts->arena = TAKE(arena);
    return facts;
}

GpuFacts *
gpu_facts_obtain(GpuFacts *known, const WireWorker *worker)
{
    if (gpu_of_worker(worker) == NULL && worker->no_gpu.size == 0) {
        return NULL;
    }
    return known != NULL && tells_the_same(known, worker) ? gpu_facts_ref(known) : facts_new(worker);
}

GpuFacts *
gpu_facts_ref(GpuFacts *facts)
{
    if (facts != NULL) {
        reference_count_add(&facts->reference_count);
    }
    return facts;
}

void
gpu_facts_unref(GpuFacts *facts)
{
    if (facts != NULL && reference_count_drop(&facts->reference_count)) {
        arena_free(facts->arena);
    }
}

Slice
gpu_facts_why_not(const GpuFacts *facts)
{
    if (gpu_facts_have_card(facts)) {
        return facts->device->fault;
    }
    return facts != NULL && facts->absence.size > 0 ? facts->absence : SLICE("no GPU");
}
