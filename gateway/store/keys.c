#include "gateway/store/keys.h"

#include <assert.h>

STATEMENT(key_insert);
STATEMENT(key_find);
STATEMENT(key_list);
STATEMENT(key_revoke);

Sha256
key_hash(const ApiKey *key, Slice pepper)
{
    Sha256 hash;
    hmac_sha256(pepper, slice_from_string(key->secret), &hash);
    return hash;
}

bool
key_matches(const KeyRecord *record, const ApiKey *key, Slice pepper)
{
    static const Sha256 nobody;
    Sha256 hash = key_hash(key, pepper);
    bool is_equal = sha256_equal(record == NULL ? &nobody : &record->hash, &hash);
    return is_equal && record != NULL;
}

Status
keys_create(Call *call, Store *store, TenantId tenant, const ApiKey *key, Slice pepper, const KeyInfo *info)
{
    assert(info->name != NULL && info->scopes != NULL);

    Sha256 hash = key_hash(key, pepper);
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, key->id);
    values_text(&values, info->name);
    values_digest(&values, &hash);
    values_text(&values, info->scopes);
    if (info->expires_us == 0) {
        values_null(&values);
    } else {
        values_int64(&values, (int64_t)info->expires_us);
    }
    return store_execute(call, store, tenant, &sql_key_insert, &values, NULL);
}

static Status
read_record(Call *call, const Rows *rows, size_t row, size_t count, size_t *ret_index, KeyRecord *ret_record)
{
    RowReader reader = row_reader(call, rows, row);
    KeyRecord record;
    int64_t number = row_int64(&reader);
    record.tenant.value = row_uuid(&reader);
    record.tenant_name = row_text(&reader);
    record.hash = row_digest(&reader);
    record.scopes = row_text(&reader);
    record.expires_us = row_time_us(&reader);
    record.requests_per_second = row_int64(&reader);
    TRY(row_end(call, &reader));
    assert(number >= 1 && (size_t)number <= count);
    *ret_index = (size_t)number - 1;
    *ret_record = record;
    return STATUS_OK;
}

Status
keys_verify(Call *call, Store *store, Slice pepper, KeyCheck *checks, size_t count)
{
    AUTO_SQL_ARRAY ids = sql_array(SQL_TEXT);
    AUTO_ROWS rows = {0};
    Values values = {0};
    for (size_t index = 0; index < count; index++) {
        checks[index].record = (KeyRecord){0};
        sql_array_text(&ids, checks[index].key.id);
    }
    if (!values_array(&values, &ids)) {
        return call_fail_memory(call, "keys to be looked up");
    }
    TRY(store_query(call, store, NO_TENANT, &sql_key_find, &values, &rows));
    for (size_t row = 0; row < rows.count; row++) {
        size_t index = 0;
        KeyRecord record;
        TRY(read_record(call, &rows, row, count, &index, &record));
        checks[index].record = record;
    }
    for (size_t index = 0; index < count; index++) {
        const KeyRecord *record = checks[index].record.scopes == NULL ? NULL : &checks[index].record;
        checks[index].is_valid = key_matches(record, &checks[index].key, pepper);
    }
    return STATUS_OK;
}

static Status
read_info(Call *call, const Rows *rows, size_t row, KeyInfo *ret_info)
{
    RowReader reader = row_reader(call, rows, row);
    ret_info->id = row_text(&reader);
    ret_info->name = row_text(&reader);
    ret_info->scopes = row_text(&reader);
    ret_info->created_us = row_time_us(&reader);
    ret_info->expires_us = row_time_us(&reader);
    ret_info->revoked_us = row_time_us(&reader);
    return row_end(call, &reader);
}

Status
keys_list(Call *call, Store *store, TenantId tenant, KeyList *ret_list)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_uuid(&values, tenant.value);
    TRY(store_query(call, store, tenant, &sql_key_list, &values, &rows));
    KeyList list = {.count = rows.count};
    list.items = arena_alloc(call->arena, (rows.count + 1) * sizeof *list.items);
    if (list.items == NULL) {
        return call_fail_memory(call, "a list of keys");
    }
    for (size_t index = 0; index < rows.count; index++) {
        TRY(read_info(call, &rows, index, &list.items[index]));
    }
    *ret_list = list;
    return STATUS_OK;
}

Status
keys_revoke(Call *call, Store *store, TenantId tenant, const char *key_id)
{
    assert(key_id != NULL);

    uint64_t changed = 0;
    Values values = {0};
    values_uuid(&values, tenant.value);
    values_text(&values, key_id);
    TRY(store_execute(call, store, tenant, &sql_key_revoke, &values, &changed));
    return changed == 0 ? call_fail(call, STATUS_NOT_FOUND, "there is no key '%s'", key_id) : STATUS_OK;
}
