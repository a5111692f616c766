/* createTicket: a secret that opens one stream of events for a minute, for a browser's EventSource, which
 * cannot send a key. */
#include "gateway/handlers/parts.h"
#include "gateway/http/handler.h"
#include "gateway/resources/resource.h"
#include "gateway/store/tickets.h"
#include "shared/json/reader.h"

typedef struct Body {
    const char *path;
} Body;

/* Returns whether a part of the path is what that part of a route asks for: an id for its {parameter}, else
 * the same text. */
static bool
part_has_form(Slice part, Slice wanted)
{
    static const struct {
        const char *parameter;
        const char *prefix;
    } ids[] = {{"{session}", "ses"}, {"{step}", "stp"}};
    for (size_t index = 0; index < COUNT_OF(ids); index++) {
        Uuid id;
        if (slice_equals_string(wanted, ids[index].parameter)) {
            return id_from_text(ids[index].prefix, part, &id);
        }
    }
    return slice_equal(part, wanted);
}

static bool
path_has_form(Slice path, Slice route)
{
    Slice part = {0};
    Slice wanted = {0};
    bool is_alike = true;
    while (is_alike && slice_split(&route, '/', &wanted)) {
        is_alike = slice_split(&path, '/', &part) && part_has_form(part, wanted);
    }
    return is_alike && path.size == 0;
}

static Status
check_path(Call *call, Slice path)
{
    for (size_t index = 0; index < handler_table_count; index++) {
        const Handler *handler = handler_table[index];
        if (handler->takes_tickets && path_has_form(path, slice_from_string(handler->path))) {
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "'%.*s' is not the path of a stream of events: expected '/api/v1/events', or that of a session or a "
        "step "
        "with '/events' behind it",
        SLICE_PRINT(slice_part(path, 0, 256)));
}

static Status
run_create_ticket(Call *call, const Request *request, Response *response)
{
    static const JsonMember members[] = {
        {"path", JSON_STRING_COPY, .offset = offsetof(Body, path), .is_required = true},
    };
    static const JsonTable table = JSON_TABLE("a ticket", members);
    Body body = {0};
    Store *store = NULL;
    Ticket ticket;
    TRY(json_document_read(call, request->body, &table, &body));
    TRY(check_path(call, slice_from_string(body.path)));
    TRY(request_store(call, request, &store));
    TRY(tickets_create(
        call, store, request->principal.tenant, body.path, request->principal.key_id, &ticket));
    JsonWriter writer = json_writer(response_json(response));
    json_write_object_begin(&writer);
    json_member_string(&writer, "ticket", ticket.text);
    json_member_string(&writer, "path", body.path);
    json_member_time(&writer, "expires_at", ticket.expires_us);
    json_write_object_end(&writer);
    response_status(response, 201);
    response_header(response, "Cache-Control", "no-store");
    return STATUS_OK;
}

static const char *const body_types[] = {"application/json", NULL};

HANDLER(create_ticket) = {
    .operation_id = "createTicket",
    .method = "POST",
    .path = "/api/v1/tickets",
    .access = ACCESS_TENANT,
    .body_size_max = (size_t)16 << 10,
    .body_types = body_types,
    .run = run_create_ticket,
};
