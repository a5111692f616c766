#include "gateway/workers/worker_pages.h"

#include <stdio.h>
#include <string.h>

#include "gateway/workers/worker_json.h"

/* The position of an item in the list: what page tokens hold. */
typedef struct Position {
    int32_t task;
    uint32_t device; /* the index in its worker; of a worker itself 0 */
    char address[ADDRESS_TEXT_SIZE];
} Position;

/* A page that is being written. */
typedef struct PoolPage {
    JsonWriter writer;
    size_t room;    /* for so many items more */
    bool has_after; /* only items behind `after` are written */
    Position after;
    Position last; /* of the items that were written */
    bool is_cut;   /* an item found no room */
} PoolPage;

static int
position_compare(const Position *left, const Position *right)
{
    int tasks = (left->task > right->task) - (left->task < right->task);
    int addresses = strcmp(left->address, right->address);
    int devices = (left->device > right->device) - (left->device < right->device);
    return tasks != 0 ? tasks : addresses != 0 ? addresses : devices;
}

/* Returns whether the item there belongs to the page, and notes that it is written. */
static bool
page_takes(PoolPage *page, const Position *position)
{
    bool is_behind = !page->has_after || position_compare(position, &page->after) > 0;
    if (!is_behind || page->room == 0) {
        page->is_cut = page->is_cut || is_behind;
        return false;
    }
    page->room--;
    page->last = *position;
    return true;
}

static Position
position_of(const WorkerInfo *worker)
{
    Position position = {.task = worker->task};
    (void)snprintf(position.address, sizeof position.address, "%s", worker->address);
    return position;
}

static void
write_worker(PoolPage *page, const WorkerInfo *worker, const WorkerDevice *devices)
{
    Position position = position_of(worker);
    if (page_takes(page, &position)) {
        worker_write(&page->writer, worker, devices);
    }
}

static void
write_devices(PoolPage *page, const WorkerInfo *worker, const WorkerDevice *devices)
{
    Position position = position_of(worker);
    for (size_t index = 0; index < worker->device_count; index++) {
        position.device = (uint32_t)index;
        if (page_takes(page, &position)) {
            worker_write_device(&page->writer, worker, &devices[index]);
        }
    }
}

static Status
page_read(Call *call, const Request *request, const Limits *limits, PoolPage *ret_page)
{
    static const char *const parameters[] = {"page_size", "page_token", NULL};
    PageQuery query;
    TRY(request_query_allow(call, request, parameters));
    TRY(page_parse(call, request, &query));
    PoolPage page = {.room = query.size < limits->page_size ? query.size : (size_t)limits->page_size};
    if (query.after.size == sizeof page.after) {
        memcpy(&page.after, query.after.data, sizeof page.after);
        page.has_after = true;
    }
    bool is_text = memchr(page.after.address, '\0', sizeof page.after.address) != NULL;
    if (!is_text || (query.after.size != 0 && !page.has_after)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "page_token is none of ours");
    }
    *ret_page = page;
    return STATUS_OK;
}

typedef struct PageKind {
    const char *member; /* of the answer: the list */
    bool has_epoch;     /* stands in front of the list */
    void (*write)(PoolPage *page, const WorkerInfo *worker, const WorkerDevice *devices);
} PageKind;

static JsonWriter
begin_page(Response *response, const PageKind *kind, const Roster *roster)
{
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    if (kind->has_epoch) {
        json_member_int64(&writer, "epoch", roster->epoch);
    }
    json_write_name(&writer, kind->member);
    json_write_array_begin(&writer);
    return writer;
}

static Status
answer_page(Call *call, const Request *request, Response *response, Directory *directory,
    const Limits *limits, const PageKind *kind)
{
    PoolPage page;
    TRY(page_read(call, request, limits, &page));
    Roster *roster = directory_take(directory);
    page.writer = begin_page(response, kind, roster);
    for (size_t index = 0; index < roster->count && !page.is_cut; index++) {
        kind->write(&page, &roster->workers[index], roster_devices(roster, &roster->workers[index]));
    }
    roster_unref(roster);
    paging_end_at(call, request, response, &page.writer,
        page.is_cut ? slice_of(&page.last, sizeof page.last) : (Slice){0});
    return STATUS_OK;
}

Status
workers_answer(
    Call *call, const Request *request, Response *response, Directory *directory, const Limits *limits)
{
    static const PageKind kind = {.member = "workers", .has_epoch = true, .write = write_worker};
    return answer_page(call, request, response, directory, limits, &kind);
}

Status
devices_answer(
    Call *call, const Request *request, Response *response, Directory *directory, const Limits *limits)
{
    static const PageKind kind = {.member = "devices", .write = write_devices};
    return answer_page(call, request, response, directory, limits, &kind);
}
