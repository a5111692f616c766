#include "gateway/kubernetes/endpoint_slices.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/json/reader.h"

enum {
    SLICES_MAX = 4096,
    ENDPOINTS_MAX = 1000 /* of a slice, by the API */,
    ADDRESSES_MAX = 100,
    PORTS_MAX = 100
};

/* One EndpointSlice. */
typedef struct KnownSlice {
    uint64_t list; /* the number of the list that named it last */
    size_t count;
    Endpoint endpoints[];
} KnownSlice;

struct EndpointSlices {
    Slice port;
    Map *by_name; /* name → KnownSlice */
    uint64_t list;
};

typedef struct Port {
    Slice name;
    int64_t number;
} Port;

/* Texts of "true" and "false"; empty: not said. */
typedef struct Conditions {
    Slice ready;
    Slice terminating;
} Conditions;

typedef struct EndpointItem {
    Slice *addresses;
    size_t address_count;
    Conditions conditions;
} EndpointItem;

typedef struct Metadata {
    Slice name;
    Slice resource_version;
    Slice next_page;
} Metadata;

/* An EndpointSlice; of a bookmark only its version; of an error, a Status, `code` and `message`. */
typedef struct SliceObject {
    Metadata metadata;
    Slice address_type;
    EndpointItem *endpoints;
    size_t endpoint_count;
    Port *ports;
    size_t port_count;
    int64_t code;
    Slice message;
} SliceObject;

typedef struct SliceList {
    Metadata metadata;
    SliceObject *items;
    size_t item_count;
} SliceList;

typedef struct SliceEvent {
    Slice type;
    SliceObject object;
} SliceEvent;

static const JsonMember port_members[] = {
    {"name", JSON_SLICE, .offset = offsetof(Port, name)},
    {"port", JSON_INT64, .offset = offsetof(Port, number)},
};
static const JsonTable port_table = JSON_TABLE("a port", port_members);
static const JsonList port_list = {
    .item = {.type = JSON_STRUCT, .table = &port_table},
    .item_size = sizeof(Port),
    .count_max = PORTS_MAX,
    .too_many = "an EndpointSlice has more ports than the API allows",
};
static const JsonMember condition_members[] = {
    {"ready", JSON_TEXT, .offset = offsetof(Conditions, ready)},
    {"terminating", JSON_TEXT, .offset = offsetof(Conditions, terminating)},
};
static const JsonTable condition_table = JSON_TABLE("conditions", condition_members);
static const JsonList address_list = {
    .item = {.type = JSON_SLICE},
    .item_size = sizeof(Slice),
    .count_max = ADDRESSES_MAX,
    .too_many = "an endpoint has more addresses than the API allows",
};
static const JsonMember endpoint_members[] = {
    {"addresses", JSON_LIST, .offset = offsetof(EndpointItem, addresses), .list = &address_list},
    {"conditions", JSON_STRUCT, .offset = offsetof(EndpointItem, conditions), .table = &condition_table},
};
static const JsonTable endpoint_table = JSON_TABLE("an endpoint", endpoint_members);
static const JsonList endpoint_list = {
    .item = {.type = JSON_STRUCT, .table = &endpoint_table},
    .item_size = sizeof(EndpointItem),
    .count_max = ENDPOINTS_MAX,
    .too_many = "an EndpointSlice has more endpoints than the API allows",
};
static const JsonMember metadata_members[] = {
    {"name", JSON_SLICE, .offset = offsetof(Metadata, name)},
    {"resourceVersion", JSON_SLICE, .offset = offsetof(Metadata, resource_version)},
    {"continue", JSON_SLICE, .offset = offsetof(Metadata, next_page)},
};
static const JsonTable metadata_table = JSON_TABLE("metadata", metadata_members);
static const JsonMember slice_members[] = {
    {"metadata", JSON_STRUCT, .offset = offsetof(SliceObject, metadata), .table = &metadata_table},
    {"addressType", JSON_SLICE, .offset = offsetof(SliceObject, address_type)},
    {"endpoints", JSON_LIST, .offset = offsetof(SliceObject, endpoints), .list = &endpoint_list},
    {"ports", JSON_LIST, .offset = offsetof(SliceObject, ports), .list = &port_list},
    {"code", JSON_INT64, .offset = offsetof(SliceObject, code)},
    {"message", JSON_SLICE, .offset = offsetof(SliceObject, message)},
};
static const JsonTable slice_table = JSON_TABLE("an EndpointSlice", slice_members);
static const JsonList slice_list = {
    .item = {.type = JSON_STRUCT, .table = &slice_table},
    .item_size = sizeof(SliceObject),
    .count_max = SLICES_MAX,
    .too_many = "a page has more EndpointSlices than are taken",
};
static const JsonMember list_members[] = {
    {"metadata", JSON_STRUCT, .offset = offsetof(SliceList, metadata), .table = &metadata_table},
    {"items", JSON_LIST, .offset = offsetof(SliceList, items), .list = &slice_list},
};
static const JsonTable list_table = JSON_TABLE("a list of EndpointSlices", list_members);
static const JsonMember event_members[] = {
    {"type", JSON_SLICE, .offset = offsetof(SliceEvent, type)},
    {"object", JSON_STRUCT, .offset = offsetof(SliceEvent, object), .table = &slice_table},
};
static const JsonTable event_table = JSON_TABLE("an event", event_members);
static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED, .null_is_absent = true};

EndpointSlices *
endpoint_slices_new(Slice port)
{
    EndpointSlices *slices = memory_new(1, sizeof *slices);
    if (slices == NULL) {
        return NULL;
    }
    slices->port = port;
    slices->by_name = map_new();
    if (slices->by_name == NULL) {
        memory_free(slices);
        return NULL;
    }
    return slices;
}

void
endpoint_slices_free(EndpointSlices *slices)
{
    size_t cursor = 0;
    if (slices == NULL) {
        return;
    }
    for (const MapEntry *entry; (entry = map_next(slices->by_name, &cursor)) != NULL;) {
        memory_free(entry->value);
    }
    map_free(slices->by_name);
    memory_free(slices);
}

void
endpoint_slices_begin(EndpointSlices *slices)
{
    slices->list++;
}

void
endpoint_slices_end(EndpointSlices *slices)
{
    size_t cursor = 0;
    for (const MapEntry *entry; (entry = map_next(slices->by_name, &cursor)) != NULL;) {
        KnownSlice *known = entry->value;
        if (known->list != slices->list) {
            (void)map_remove(slices->by_name, entry->key);
            memory_free(known);
        }
    }
}

/* Returns the number of the port that is asked for; 0: the slice does not have it. */
static int64_t
find_port(const EndpointSlices *slices, const SliceObject *object)
{
    for (size_t index = 0; index < object->port_count; index++) {
        bool is_it = slices->port.size == 0 ? object->port_count == 1
                                            : slice_equal(object->ports[index].name, slices->port);
        int64_t number = object->ports[index].number;
        if (is_it && number > 0 && number <= UINT16_MAX) {
            return number;
        }
    }
    return 0;
}

/* Returns the address of an endpoint; empty: it has none that is known here. By the API all addresses of one
 * endpoint are the same place, and the first is the one to use. */
static Slice
address_of(const EndpointItem *item)
{
    enum { HOST_MAX = ADDRESS_TEXT_SIZE - sizeof "[]:65535" };
    bool is_ok = item->address_count > 0 && item->addresses[0].size <= HOST_MAX;
    return is_ok ? item->addresses[0] : SLICE("");
}

static bool
takes_steps(const Conditions *conditions)
{
    return !slice_equals_string(conditions->ready, "false") &&
           !slice_equals_string(conditions->terminating, "true");
}

static void
fill_endpoints(KnownSlice *known, const SliceObject *object, int64_t port)
{
    bool is_v6 = slice_equals_string(object->address_type, "IPv6");
    for (size_t index = 0; index < object->endpoint_count; index++) {
        Slice host = address_of(&object->endpoints[index]);
        if (host.size > 0) {
            Endpoint *endpoint = &known->endpoints[known->count++];
            (void)snprintf(endpoint->address, sizeof endpoint->address, is_v6 ? "[%.*s]:%d" : "%.*s:%d",
                SLICE_PRINT(host), (int)port);
            endpoint->takes_steps = takes_steps(&object->endpoints[index].conditions);
        }
    }
}

static Status
put_slice(Call *call, EndpointSlices *slices, const SliceObject *object)
{
    bool is_ip = slice_equals_string(object->address_type, "IPv4") ||
                 slice_equals_string(object->address_type, "IPv6");
    int64_t port = is_ip ? find_port(slices, object) : 0;
    size_t count = port > 0 ? object->endpoint_count : 0;
    KnownSlice *known = memory_new(1, sizeof *known + count * sizeof(Endpoint));
    KnownSlice *before = map_get(slices->by_name, object->metadata.name);
    if (known == NULL || !map_put(slices->by_name, object->metadata.name, known)) {
        memory_free(known);
        return call_fail_memory(call, "an EndpointSlice");
    }
    memory_free(before);
    known->list = slices->list;
    if (count > 0) {
        fill_endpoints(known, object, port);
    }
    return STATUS_OK;
}

static void
drop_slice(EndpointSlices *slices, const SliceObject *object)
{
    memory_free(map_remove(slices->by_name, object->metadata.name));
}

Status
endpoint_slices_read_page(Call *call, EndpointSlices *slices, Slice page, SliceNews *ret_news)
{
    SliceList list = {0};
    TRY(json_stream_read(call, page, &dialect, &list_table, &list));
    for (size_t index = 0; index < list.item_count; index++) {
        TRY(put_slice(call, slices, &list.items[index]));
    }
    *ret_news =
        (SliceNews){.resource_version = list.metadata.resource_version, .next_page = list.metadata.next_page};
    return STATUS_OK;
}

Status
endpoint_slices_read_event(Call *call, EndpointSlices *slices, Slice line, SliceNews *ret_news)
{
    SliceEvent event = {0};
    TRY(json_stream_read(call, line, &dialect, &event_table, &event));
    SliceNews news = {.resource_version = event.object.metadata.resource_version};
    if (slice_equals_string(event.type, "ERROR")) {
        news = (SliceNews){.is_error = true, .code = event.object.code, .message = event.object.message};
    } else if (slice_equals_string(event.type, "DELETED")) {
        drop_slice(slices, &event.object);
    } else if (slice_equals_string(event.type, "ADDED") || slice_equals_string(event.type, "MODIFIED")) {
        TRY(put_slice(call, slices, &event.object));
    } else if (!slice_equals_string(event.type, "BOOKMARK")) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an event is of the unknown type '%.*s'",
            SLICE_PRINT(slice_part(event.type, 0, 32)));
    }
    *ret_news = news;
    return STATUS_OK;
}

static size_t
count_endpoints(const EndpointSlices *slices)
{
    size_t cursor = 0;
    size_t count = 0;
    for (const MapEntry *entry; (entry = map_next(slices->by_name, &cursor)) != NULL;) {
        count += ((const KnownSlice *)entry->value)->count;
    }
    return count;
}

/* Appends the endpoint, for which there is room, or tells the one of the same address that it takes steps
 * after all. */
static bool
collect_endpoint(const Endpoint *endpoint, Map *places, Buffer *endpoints)
{
    Slice address = slice_from_string(endpoint->address);
    Endpoint *known = map_get(places, address);
    if (known != NULL) {
        known->takes_steps = known->takes_steps || endpoint->takes_steps;
        return true;
    }
    known = (Endpoint *)(void *)(endpoints->data + endpoints->size);
    *known = *endpoint;
    buffer_grow(endpoints, sizeof *endpoint);
    return map_put(places, address, known);
}

bool
endpoint_slices_collect(const EndpointSlices *slices, Buffer *endpoints)
{
    assert(endpoints->size == 0);

    AUTO_MAP places = map_new(); /* address → its Endpoint in the buffer, which does not move any more */
    size_t cursor = 0;
    size_t count = count_endpoints(slices);
    bool is_ok =
        places != NULL && (count == 0 || buffer_reserve(endpoints, count * sizeof(Endpoint)) != NULL);
    for (const MapEntry *entry; is_ok && (entry = map_next(slices->by_name, &cursor)) != NULL;) {
        const KnownSlice *known = entry->value;
        for (size_t index = 0; is_ok && index < known->count; index++) {
            is_ok = collect_endpoint(&known->endpoints[index], places, endpoints);
        }
    }
    return is_ok;
}
