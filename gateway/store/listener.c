#include "gateway/store/listener.h"

#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

#include "gateway/store/pipeline.h"
#include "shared/base/clock.h"

STATEMENT(listener_begin);
STATEMENT(listener_mail);
STATEMENT(listener_others);
STATEMENT(listener_present);
STATEMENT(mail_send);

/* Takes the lock first: whoever may hear of a message is found by listener_has_others(). */
Status
listener_begin(Call *call, Store *store, const char *name)
{
    assert(name != NULL);

    Values values = {0};
    values_text(&values, name);
    TRY(store_execute(call, store, NO_TENANT, &sql_listener_present, &values, NULL));
    TRY(store_execute(call, store, NO_TENANT, &sql_listener_begin, &(Values){0}, NULL));
    return store_execute(call, store, NO_TENANT, &sql_listener_mail, &(Values){0}, NULL);
}

Status
listener_has_others(Call *call, Store *store, const char *name, bool *ret_has_others)
{
    assert(name != NULL);

    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, name);
    TRY(store_query(call, store, NO_TENANT, &sql_listener_others, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    *ret_has_others = row_boolean(&reader);
    return row_end(call, &reader);
}

Status
mail_send(Call *call, Store *store, const char *text)
{
    assert(text != NULL);

    Values values = {0};
    values_text(&values, text);
    return store_execute(call, store, NO_TENANT, &sql_mail_send, &values, NULL);
}

static bool
take_hints(Store *store, const MailBox *box)
{
    bool is_woken = false;
    for (PGnotify *hint = PQnotifies(store->connection); hint != NULL; hint = PQnotifies(store->connection)) {
        bool is_mail = strcmp(hint->relname, "sluice_gateways") == 0;
        is_woken = is_woken || !is_mail;
        if (is_mail && box != NULL) {
            box->receive(box->context, hint->extra);
        }
        PQfreemem(hint);
    }
    return is_woken;
}

/* Reads from an idle connection: notifications, notices, or its end. */
static Status
read_hints(Call *call, Store *store, const MailBox *box, bool *ret_is_woken)
{
    if (PQconsumeInput(store->connection) != 1 || PQstatus(store->connection) != CONNECTION_OK) {
        store_disconnect(store);
        return call_fail(call, STATUS_UNAVAILABLE, "the connection that listens was lost");
    }
    *ret_is_woken = take_hints(store, box);
    return STATUS_OK;
}

Status
listener_wait(Call *call, Store *store, uint64_t time_ms, const MailBox *box, bool *ret_is_woken)
{
    uint64_t end_ns = clock_monotonic_ns() + time_ms * CLOCK_NS_PER_MS;
    if (store->connection == NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "nothing listens");
    }
    *ret_is_woken = take_hints(store, box);
    while (!*ret_is_woken) {
        uint64_t now_ns = clock_monotonic_ns();
        TRY(call_check(call, now_ns));
        if (now_ns >= end_ns) {
            return STATUS_OK;
        }
        uint64_t left_ms = (end_ns - now_ns) / CLOCK_NS_PER_MS + 1;
        struct pollfd socket = {.fd = PQsocket(store->connection), .events = POLLIN};
        if (poll(&socket, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms) > 0) {
            TRY(read_hints(call, store, box, ret_is_woken));
        }
    }
    return STATUS_OK;
}
