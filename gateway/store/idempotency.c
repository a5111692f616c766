#include "gateway/store/idempotency.h"

#include <assert.h>

STATEMENT(idempotency_insert);
STATEMENT(idempotency_find);
STATEMENT(idempotency_finish);
STATEMENT(idempotency_abandon);
STATEMENT(idempotency_loosen);
STATEMENT(idempotency_expire);
STATEMENT(idempotency_return);

/* Takes the key, unless another request holds it or it has an answer: then *ret_is_fresh is false. */
static Status
take_key(Call *call, Store *store, TenantId tenant, const IdempotencyRequest *request, bool *ret_is_fresh,
    Idempotency *ret_fresh)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    Idempotency fresh = {.outcome = IDEMPOTENCY_FRESH, .owner = uuid_new()};
    values_uuid(&values, tenant.value);
    values_text(&values, request->key);
    values_digest(&values, &request->digest);
    values_uuid(&values, fresh.owner);
    values_int64(&values, (int64_t)request->held_ms);
    values_uuid(&values, request->run);
    TRY(store_query(call, store, tenant, &sql_idempotency_insert, &values, &rows));
    *ret_is_fresh = rows.count > 0;
    if (rows.count == 0) {
        return STATUS_OK;
    }
    RowReader reader = row_reader(call, &rows, 0);
    fresh.run.id = row_uuid(&reader);
    fresh.run.holds = row_int64(&reader);
    int64_t age_us = row_int64(&reader);
    TRY(row_end(call, &reader));
    fresh.run.age_us = age_us > 0 ? (uint64_t)age_us : 0;
    *ret_fresh = fresh;
    return STATUS_OK;
}

static IdempotencyOutcome
judge_key(const Sha256 *first, const Sha256 *second, int64_t http_status)
{
    if (!sha256_equal(first, second)) {
        return IDEMPOTENCY_MISMATCH;
    }
    return http_status == 0 ? IDEMPOTENCY_RUNNING : IDEMPOTENCY_REPLAY;
}

static Status
find_first(
    Call *call, Store *store, TenantId tenant, const IdempotencyRequest *request, Idempotency *ret_first)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    Idempotency first = {.outcome = IDEMPOTENCY_RUNNING};
    values_uuid(&values, tenant.value);
    values_text(&values, request->key);
    TRY(store_query(call, store, tenant, &sql_idempotency_find, &values, &rows));
    if (rows.count == 0) {
        *ret_first = first; /* abandoned at this moment: reported as still running, which the client tries
                             * again */
        return STATUS_OK;
    }
    RowReader reader = row_reader(call, &rows, 0);
    Sha256 digest = row_digest(&reader);
    first.answer.http_status = row_int64(&reader);
    first.answer.location = row_text(&reader);
    first.answer.content_type = row_text(&reader);
    first.answer.body = row_bytes(&reader);
    TRY(row_end(call, &reader));
    first.outcome = judge_key(&digest, &request->digest, first.answer.http_status);
    *ret_first = first;
    return STATUS_OK;
}

Status
idempotency_begin(Call *call, Store *store, TenantId tenant, const IdempotencyRequest *request,
    Idempotency *ret_idempotency)
{
    assert(request->key != NULL);

    bool is_fresh = false;
    TRY(take_key(call, store, tenant, request, &is_fresh, ret_idempotency));
    return is_fresh ? STATUS_OK : find_first(call, store, tenant, request, ret_idempotency);
}

Status
idempotency_finish(
    Call *call, Store *store, TenantId tenant, const char *key, Uuid owner, const IdempotencyAnswer *answer)
{
    assert(key != NULL && answer != NULL);

    Values values = {0};
    uint64_t changed = 0;
    values_uuid(&values, tenant.value);
    values_text(&values, key);
    values_uuid(&values, owner);
    values_int64(&values, answer->http_status);
    values_text(&values, answer->location);
    values_text(&values, answer->content_type);
    values_bytes(&values, answer->body);
    TRY(store_execute(call, store, tenant, &sql_idempotency_finish, &values, &changed));
    return changed == 0 ? call_fail(call, STATUS_ABORTED, "the idempotency key '%s' was taken over", key)
                        : STATUS_OK;
}

Status
idempotency_abandon(Call *call, Store *store, TenantId tenant, const char *key, Uuid owner)
{
    assert(key != NULL);

    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, key);
    values_uuid(&values, owner);
    return store_execute(call, store, tenant, &sql_idempotency_abandon, &values, NULL);
}

Status
idempotency_loosen(Call *call, Store *store, TenantId tenant, const char *key, Uuid owner)
{
    assert(key != NULL);

    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, key);
    values_uuid(&values, owner);
    return store_execute(call, store, tenant, &sql_idempotency_loosen, &values, NULL);
}

Status
idempotency_return(
    Call *call, Store *store, TenantId tenant, const char *key, Uuid owner, bool *ret_is_settled)
{
    assert(key != NULL);

    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, key);
    values_uuid(&values, owner);
    TRY(store_query(call, store, NO_TENANT, &sql_idempotency_return, &values, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    bool is_settled = row_boolean(&reader);
    TRY(row_end(call, &reader));
    *ret_is_settled = is_settled;
    return STATUS_OK;
}

Status
idempotency_expire(Call *call, Store *store, TenantId tenant, size_t count_max, uint64_t *ret_removed)
{
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_int64(&values, (int64_t)count_max);
    return store_execute(call, store, tenant, &sql_idempotency_expire, &values, ret_removed);
}
