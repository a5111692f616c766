#include "gateway/cli/session.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/cli/api.h"
#include "gateway/cli/list.h"
#include "shared/json/writer.h"

const char sessions_path[] = "/api/v1/sessions?page_size=1000";

typedef struct Search {
    const char *name;
    char id[ID_TEXT_SIZE];    /* empty until the session is found */
    char other[ID_TEXT_SIZE]; /* another one of the same name; else empty */
} Search;

static Status
search_item(Call *call, void *context, Slice json)
{
    typedef struct SessionName {
        Slice id;
        Slice name;
    } SessionName;
    static const JsonMember members[] = {
        {"id", JSON_SLICE, .offset = offsetof(SessionName, id)},
        {"name", JSON_SLICE, .offset = offsetof(SessionName, name)},
    };
    Search *search = context;
    SessionName found = {0};
    if (search->other[0] != '\0') {
        return STATUS_OK;
    }
    TRY(reply_read(call, json, members, COUNT_OF(members), &found));
    if (slice_equals_string(found.name, search->name)) {
        char *id = search->id[0] == '\0' ? search->id : search->other;
        (void)snprintf(id, ID_TEXT_SIZE, "%.*s", SLICE_PRINT(found.id));
    }
    return STATUS_OK;
}

static Status
search_page(Cli *cli, Search *search, Buffer *token)
{
    AUTO_REPLY reply = {0};
    TRY(list_page(cli, sessions_path, token, &reply));
    return reply_each(cli->call, buffer_slice(&reply.body), "sessions", search_item, search);
}

static Status
search_run(Cli *cli, Search *search)
{
    AUTO_BUFFER token = {0};
    do {
        TRY(search_page(cli, search, &token));
    } while (search->other[0] == '\0' && token.size > 0);
    return search->other[0] == '\0'
               ? STATUS_OK
               : call_fail(cli->call, STATUS_FAILED_PRECONDITION,
                     "there are several sessions '%s', such as %s and %s: name one by its id", search->name,
                     search->id, search->other);
}

/* Searches the list for the session of this name; the id is empty when there is none. FAILED_PRECONDITION
 * when there are several. */
static Status
session_search(Cli *cli, const char *session, char ret_id[ID_TEXT_SIZE])
{
    Search search = {.name = session};
    Uuid uuid;
    if (id_from_text("ses", slice_from_string(session), &uuid)) {
        (void)snprintf(search.id, sizeof search.id, "%s", session);
    } else {
        TRY(search_run(cli, &search));
    }
    memcpy(ret_id, search.id, sizeof search.id);
    return STATUS_OK;
}

static Status
missing_fail(const Cli *cli, const char *session)
{
    return call_fail(
        cli->call, STATUS_NOT_FOUND, "there is no session '%s': 'sluice session create' makes one", session);
}

Status
session_find(Cli *cli, const char *session, char ret_id[ID_TEXT_SIZE])
{
    assert(session != NULL);
    TRY(session_search(cli, session, ret_id));
    return ret_id[0] == '\0' ? missing_fail(cli, session) : STATUS_OK;
}

Status
session_make(Cli *cli, const char *name, const char *options, HttpClientResponse *ret_reply)
{
    AUTO_BUFFER body = {0};
    JsonWriter writer = json_writer(&body);
    json_write_object_begin(&writer);
    json_member_string(&writer, "name", name);
    json_write_name(&writer, "options");
    json_write_raw(&writer, slice_from_string(options));
    json_write_object_end(&writer);
    if (!buffer_is_ok(&body)) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {.method = "POST", .path = "/api/v1/sessions", .body = buffer_slice(&body)};
    return api_send(cli, &request, ret_reply);
}

static Status
make_default(Cli *cli, const char *name, char ret_id[ID_TEXT_SIZE])
{
    AUTO_REPLY reply = {0};
    Slice id = {0};
    TRY(session_make(cli, name, "{}", &reply));
    TRY(reply_text(cli->call, buffer_slice(&reply.body), "id", &id));
    (void)snprintf(ret_id, ID_TEXT_SIZE, "%.*s", SLICE_PRINT(id));
    return STATUS_OK;
}

Status
session_resolve(Cli *cli, bool may_make, char ret_id[ID_TEXT_SIZE])
{
    assert(cli->config != NULL);
    const char *name = config_string(cli->config, "session");
    TRY(session_search(cli, name, ret_id));
    if (ret_id[0] != '\0') {
        return STATUS_OK;
    }
    return may_make && !config_is_set(cli->config, "session") ? make_default(cli, name, ret_id)
                                                              : missing_fail(cli, name);
}
