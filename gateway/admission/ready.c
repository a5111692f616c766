/* A binary heap from place 1 on: each tenant is no further in virtual time than the two at twice its place.
 */
#include <assert.h>

#include "gateway/admission/internals.h"
#include "shared/base/memory.h"

enum { NOT_READY = 0 }; /* the heap's first place is not used */

static void
heap_set(Admission *admission, size_t place, AdmissionTenant *tenant)
{
    admission->heap[place] = tenant;
    tenant->place = place;
}

static void
heap_rise(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    while (place > 1 && admission->heap[place / 2]->virtual_time > tenant->virtual_time) {
        heap_set(admission, place, admission->heap[place / 2]);
        place /= 2;
    }
    heap_set(admission, place, tenant);
}

static void
heap_sink(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    for (size_t child = place * 2; child <= admission->heap_count; child = place * 2) {
        AdmissionTenant **children = &admission->heap[child];
        size_t least =
            child + (child < admission->heap_count && children[1]->virtual_time < children[0]->virtual_time);
        if (admission->heap[least]->virtual_time >= tenant->virtual_time) {
            break;
        }
        heap_set(admission, place, admission->heap[least]);
        place = least;
    }
    heap_set(admission, place, tenant);
}

static void
heap_remove(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    AdmissionTenant *last = admission->heap[admission->heap_count--];
    tenant->place = NOT_READY;
    if (last != tenant) {
        heap_set(admission, place, last);
        heap_rise(admission, last);
        heap_sink(admission, last);
    }
}

int64_t
ready_running_max(const Admission *admission, const AdmissionTenant *tenant)
{
    return tenant->has_terms ? tenant->running_max : !admission->is_shared;
}

bool
ready_allows_step(const Admission *admission, const AdmissionTenant *tenant)
{
    return tenant->running < ready_running_max(admission, tenant);
}

void
ready_settle(Admission *admission, AdmissionTenant *tenant)
{
    bool is_ready = tenant->returning > 0 || (tenant->waiting > 0 && ready_allows_step(admission, tenant));
    if (!is_ready && tenant->place != NOT_READY) {
        heap_remove(admission, tenant);
    } else if (is_ready) {
        if (tenant->place == NOT_READY) {
            assert(admission->heap_count + 1 < admission->heap_capacity);
            heap_set(admission, ++admission->heap_count, tenant);
        }
        heap_rise(admission, tenant);
        heap_sink(admission, tenant);
    }
}

bool
ready_make_room(Admission *admission)
{
    enum { FIRST = 16 };
    if (map_count(admission->tenants) + 2 <= admission->heap_capacity) {
        return true;
    }
    size_t capacity = admission->heap_capacity == 0 ? FIRST : admission->heap_capacity * 2;
    AdmissionTenant **heap = memory_resize(admission->heap, capacity * sizeof(AdmissionTenant *));
    if (heap == NULL) {
        return false;
    }
    admission->heap = heap;
    admission->heap_capacity = capacity;
    return true;
}

void
ready_settle_all(Admission *admission)
{
    size_t cursor = 0;
    for (size_t place = 1; place <= admission->heap_count; place++) {
        admission->heap[place]->place = NOT_READY;
    }
    admission->heap_count = 0;
    const MapEntry *entry = map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        ready_settle(admission, entry->value);
    }
}
