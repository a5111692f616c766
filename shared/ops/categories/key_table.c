#include "shared/ops/categories/key_table.h"

#include <math.h>

#include "worker/reference/cast.h"
#include "worker/reference/scratch.h"
#include "worker/reference/texts.h"

bool
key_table_support(Dtype dtype)
{
    return dtype == DTYPE_STRING || dtype_is_integer(dtype) || dtype_is_floating(dtype) ||
           dtype == DTYPE_BOOL;
}

/* Writes 8 bytes that are equal for equal numbers. */
static void
write_number(const Tensor *tensor, int64_t n, void *ret_bytes)
{
    const char *element = (const char *)tensor->data + (size_t)n * dtype_size(tensor->dtype);
    if (!dtype_is_floating(tensor->dtype)) {
        cast_elements(tensor->dtype, element, DTYPE_INT64, ret_bytes, 1);
        return;
    }
    double value = 0;
    cast_elements(tensor->dtype, element, DTYPE_FLOAT64, &value, 1);
    value = isnan(value) ? (double)NAN : value == 0 ? 0 : value;
    memcpy(ret_bytes, &value, sizeof value);
}

static Slice
key_of(const Tensor *tensor, int64_t n, void *bytes)
{
    if (tensor->dtype == DTYPE_STRING) {
        return string_at(tensor, n);
    }
    write_number(tensor, n, bytes);
    return slice_of(bytes, sizeof(int64_t));
}

Status
key_table_begin(KernelContext *context, const Tensor *list, KeyTable *ret_table)
{
    int64_t count = tensor_element_count(list);
    ret_table->by_key = map_new();
    if (ret_table->by_key == NULL) {
        return call_fail_memory(context->call, "a table of keys");
    }
    TRY(scratch_bytes(context, count, sizeof(int64_t), &ret_table->places));
    int64_t *places = ret_table->places.data;
    for (int64_t n = 0; n < count; n++) {
        int64_t bytes = 0;
        places[n] = n;
        if (!map_put(ret_table->by_key, key_of(list, n, &bytes), &places[n])) {
            return call_fail_memory(context->call, "a table of keys");
        }
    }
    return STATUS_OK;
}

void
key_table_done(KeyTable *table)
{
    map_free(table->by_key);
    tensor_unref(&table->places);
}

int64_t
key_table_find(const KeyTable *table, const Tensor *tensor, int64_t n)
{
    int64_t bytes = 0;
    const int64_t *place = map_get(table->by_key, key_of(tensor, n, &bytes));
    return place == NULL ? -1 : *place;
}
