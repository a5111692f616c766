#include "gateway/store/tickets.h"

#include <assert.h>

#include "shared/base/random.h"
#include "shared/crypto/hex.h"

STATEMENT(ticket_insert);
STATEMENT(ticket_find);

static void
draw_text(char ret_text[TICKET_TEXT_SIZE])
{
    unsigned char secret[SHA256_SIZE];
    random_bytes(secret, sizeof secret);
    hex_encode(slice_of(secret, sizeof secret), ret_text);
}

Status
tickets_create(
    Call *call, Store *store, TenantId tenant, const char *path, const char *key_id, Ticket *ret_ticket)
{
    assert(path != NULL && key_id != NULL);

    AUTO_ROWS rows = {0};
    Values values = {0};
    Ticket ticket;
    Sha256 hash;
    draw_text(ticket.text);
    sha256(slice_from_string(ticket.text), &hash);
    values_uuid(&values, tenant.value);
    values_digest(&values, &hash);
    values_text(&values, path);
    values_text(&values, key_id[0] == '\0' ? NULL : key_id);
    values_int64(&values, TICKET_TIME_S);
    values_int64(&values, TICKETS_MAX);
    TRY(store_query(call, store, tenant, &sql_ticket_insert, &values, &rows));
    if (rows.count == 0) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "the tenant has %d tickets that are still valid: they are over within %d s", TICKETS_MAX,
            TICKET_TIME_S);
    }
    RowReader reader = row_reader(call, &rows, 0);
    ticket.expires_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    *ret_ticket = ticket;
    return STATUS_OK;
}

static Status
read_ticket(Call *call, const Rows *rows, size_t row, TicketCheck *checks, size_t count)
{
    RowReader reader = row_reader(call, rows, row);
    int64_t number = row_int64(&reader);
    assert(number >= 1 && (size_t)number <= count);
    TicketCheck *check = &checks[number - 1];
    check->record.tenant.value = row_uuid(&reader);
    check->record.tenant_name = row_text(&reader);
    check->record.path = row_text(&reader);
    check->record.key_id = row_text(&reader);
    check->record.requests_per_second = row_int64(&reader);
    check->record.key_expires_us = row_time_us(&reader);
    TRY(row_end(call, &reader));
    check->is_valid = true;
    return STATUS_OK;
}

Status
tickets_verify(Call *call, Store *store, TicketCheck *checks, size_t count)
{
    AUTO_SQL_ARRAY hashes = sql_array(SQL_BYTES);
    AUTO_ROWS rows = {0};
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        Sha256 hash;
        sha256(checks[index].text, &hash);
        checks[index].is_valid = false;
        sql_array_bytes(&hashes, slice_of(hash.bytes, sizeof hash.bytes));
    }
    if (!values_array(&values, &hashes)) {
        return call_fail_memory(call, "tickets to be looked up");
    }
    TRY(store_query(call, store, NO_TENANT, &sql_ticket_find, &values, &rows));
    for (size_t row = 0; row < rows.count; row++) {
        TRY(read_ticket(call, &rows, row, checks, count));
    }
    return STATUS_OK;
}
