#include "shared/ops/lookup/table.h"

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/reference/texts.h"

/* A value's elements, or its string, at the beginning of a buffer of device memory. Behind it is room for
 * the key: the map holds the key, but it must count as device memory too. */
typedef struct Row {
    size_t size;
    char bytes[];
} Row;

struct Table {
    Resource resource;
    Mutex lock;
    Dtype key_dtype;
    Dtype value_dtype;
    Shape value_shape;
    bool is_fixed;
    bool is_filled;
    Map *rows;     /* key → TensorBuffer of a Row */
    Tensor source; /* a reference to the tensor that filled a fixed table */
    size_t name_size;
    char name[];
};

static Slice
row_value(const TensorBuffer *buffer)
{
    const Row *row = buffer->data;
    return slice_of(row->bytes, row->size);
}

static inline Table *
as_table(Resource *resource)
{
    return (Table *)(void *)resource;
}

static void
rows_free_all(Map *rows)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(rows, &cursor); entry != NULL; entry = map_next(rows, &cursor)) {
        tensor_buffer_unref(entry->value);
    }
    map_free(rows);
}

static void
table_free(Resource *resource)
{
    Table *table = as_table(resource);
    rows_free_all(table->rows);
    tensor_unref(&table->source);
    mutex_done(&table->lock);
    memory_free(table);
}

const ResourceType table_type = {.name = "a table", .free = table_free};

static Status
make_table(Call *call, const void *context, Resource **ret_resource)
{
    const TableDeclaration *declaration = context;
    Table *table = memory_new(1, sizeof *table + declaration->name.size);
    Map *rows = map_new();
    if (table == NULL || rows == NULL) {
        memory_free(table);
        map_free(rows);
        return call_fail_memory(call, "a table");
    }
    resource_init(&table->resource, &table_type);
    mutex_init(&table->lock);
    table->key_dtype = declaration->key_dtype;
    table->value_dtype = declaration->value_dtype;
    table->value_shape = declaration->value_shape;
    table->is_fixed = declaration->is_fixed;
    table->rows = rows;
    table->name_size = declaration->name.size;
    memcpy(table->name, declaration->name.data, declaration->name.size);
    *ret_resource = &table->resource;
    return STATUS_OK;
}

static Slice
table_name(const Table *table)
{
    return slice_of(table->name, table->name_size);
}

static Status
check_declared(Call *call, const Table *table, const TableDeclaration *declaration)
{
    if (table->key_dtype == declaration->key_dtype && table->value_dtype == declaration->value_dtype &&
        table->is_fixed == declaration->is_fixed &&
        shape_equal(&table->value_shape, &declaration->value_shape)) {
        return STATUS_OK;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT,
        "table '%.*s' is from %s to %s in this session, and was made otherwise than here",
        SLICE_PRINT(declaration->name), dtype_name(table->key_dtype), dtype_name(table->value_dtype));
}

Status
table_output(KernelContext *context, const TableDeclaration *declaration)
{
    ContainerEntry entry = {
        .name = declaration->name, .type = &table_type, .make = make_table, .context = declaration};
    Resource *resource = NULL;
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    Status status = check_declared(context->call, as_table(resource), declaration);
    if (status != STATUS_OK) {
        resource_unref(resource);
        return status;
    }
    return kernel_handle(context, 0, resource);
}

Status
kernel_table(KernelContext *context, Table **ret_table)
{
    Resource *resource = NULL;
    TRY(kernel_resource(context, 0, &table_type, &resource));
    *ret_table = as_table(resource);
    return STATUS_OK;
}

Dtype
table_key_dtype(const Table *table)
{
    return table->key_dtype;
}

Dtype
table_value_dtype(const Table *table)
{
    return table->value_dtype;
}

/* Returns the bytes of `count` elements, or of the one string. */
static Slice
elements_at(const Tensor *tensor, int64_t index, int64_t count)
{
    if (tensor->dtype == DTYPE_STRING) {
        return string_at(tensor, index);
    }
    size_t size = dtype_size(tensor->dtype) * (size_t)count;
    return slice_of((const char *)tensor->data + (size_t)index * size, size);
}

static int64_t
value_count(const Table *table)
{
    int64_t count = 1;
    (void)shape_element_count(&table->value_shape, &count);
    return count;
}

static Status
check_dtype(KernelContext *context, const Table *table, const char *what, Dtype dtype, Dtype expected)
{
    return dtype == expected
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s of table '%.*s' are %s, not %s", what,
                     SLICE_PRINT(table_name(table)), dtype_name(expected), dtype_name(dtype));
}

/* Computes the keys' shape followed by the value's. */
static Status
values_shape(KernelContext *context, const Table *table, const Shape *keys, Shape *ret_shape)
{
    Shape shape = *keys;
    if (keys->rank + table->value_shape.rank > SHAPE_RANK_MAX) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    for (int index = 0; index < table->value_shape.rank; index++) {
        shape.dims[shape.rank++] = table->value_shape.dims[index];
    }
    *ret_shape = shape;
    return STATUS_OK;
}

static Status
check_keys(KernelContext *context, const Table *table, const Tensor *keys)
{
    return check_dtype(context, table, "keys", keys->dtype, table->key_dtype);
}

static Status
check_rows(KernelContext *context, const Table *table, const Tensor *keys, const Tensor *values)
{
    Shape shape;
    TRY(check_keys(context, table, keys));
    TRY(check_dtype(context, table, "values", values->dtype, table->value_dtype));
    TRY(values_shape(context, table, &keys->shape, &shape));
    if (!shape_equal(&shape, &values->shape)) {
        char wanted[SHAPE_TEXT_SIZE];
        char given[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the values have shape %s, not %s",
            shape_text(&values->shape, given), shape_text(&shape, wanted));
    }
    return STATUS_OK;
}

static Status
put_row(KernelContext *context, Map *rows, Slice key, Slice value)
{
    if (map_count(rows) >= TABLE_ROW_COUNT_MAX && map_get(rows, key) == NULL) {
        return call_fail(
            context->call, STATUS_RESOURCE_EXHAUSTED, "a table of more than %d rows", TABLE_ROW_COUNT_MAX);
    }
    TensorBuffer *buffer = context->device->allocate(context->device, sizeof(Row) + value.size + key.size);
    TensorBuffer *old = map_get(rows, key);
    if (buffer == NULL || !map_put(rows, key, buffer)) {
        tensor_buffer_unref(buffer);
        return call_fail_memory(context->call, "a table's row");
    }
    Row *row = buffer->data;
    row->size = value.size;
    if (value.size > 0) {
        memcpy(row->bytes, value.data, value.size);
    }
    tensor_buffer_unref(old);
    return STATUS_OK;
}

static Status
put_rows(KernelContext *context, const Table *table, Map *rows, const Tensor *keys, const Tensor *values)
{
    int64_t count = tensor_element_count(keys);
    for (int64_t n = 0; n < count; n++) {
        TRY(put_row(context, rows, elements_at(keys, n, 1), elements_at(values, n, value_count(table))));
    }
    return STATUS_OK;
}

/* Checks that a fixed table, which is filled already, has all of these keys. */
static Status
check_filled(KernelContext *context, const Table *table, const Tensor *keys)
{
    for (int64_t n = 0; n < tensor_element_count(keys); n++) {
        if (map_get(table->rows, elements_at(keys, n, 1)) == NULL) {
            return call_fail(context->call, STATUS_FAILED_PRECONDITION,
                "table '%.*s' was filled with other keys already", SLICE_PRINT(table_name(table)));
        }
    }
    return STATUS_OK;
}

static Status
replace_all(KernelContext *context, Table *table, const Tensor *keys, const Tensor *values)
{
    Map *rows = map_new();
    if (rows == NULL) {
        return call_fail_memory(context->call, "a table");
    }
    Status status = put_rows(context, table, rows, keys, values);
    if (status != STATUS_OK) {
        rows_free_all(rows);
        return status;
    }
    rows_free_all(table->rows);
    table->rows = rows;
    table->is_filled = true;
    return STATUS_OK;
}

static Status
put_locked(KernelContext *context, Table *table, const Tensor *keys, const Tensor *values, TableChange change)
{
    if (table->is_fixed && table->is_filled && change == TABLE_REPLACE) {
        return check_filled(context, table, keys);
    }
    if (table->is_fixed && change == TABLE_INSERT) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "table '%.*s' is fixed: nothing is inserted",
            SLICE_PRINT(table_name(table)));
    }
    return change == TABLE_REPLACE ? replace_all(context, table, keys, values)
                                   : put_rows(context, table, table->rows, keys, values);
}

Status
table_put(KernelContext *context, Table *table, const Tensor *keys, const Tensor *values, TableChange change)
{
    TRY(check_rows(context, table, keys, values));
    mutex_lock(&table->lock);
    Status status = put_locked(context, table, keys, values, change);
    mutex_unlock(&table->lock);
    return status;
}

bool
table_was_filled_from(Table *table, const Tensor *source)
{
    mutex_lock(&table->lock);
    bool is_same = table->is_fixed && source->buffer != NULL && table->source.buffer == source->buffer &&
                   table->source.data == source->data && shape_equal(&table->source.shape, &source->shape);
    mutex_unlock(&table->lock);
    return is_same;
}

void
table_remember(Table *table, const Tensor *source)
{
    mutex_lock(&table->lock);
    Tensor old = table->source;
    table->source = table->is_fixed ? tensor_ref(source) : (Tensor){.dtype = DTYPE_INVALID};
    mutex_unlock(&table->lock);
    tensor_unref(&old);
}

Status
table_remove(KernelContext *context, Table *table, const Tensor *keys)
{
    TRY(check_keys(context, table, keys));
    if (table->is_fixed) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "table '%.*s' is fixed: nothing is removed",
            SLICE_PRINT(table_name(table)));
    }
    mutex_lock(&table->lock);
    for (int64_t n = 0; n < tensor_element_count(keys); n++) {
        tensor_buffer_unref(map_remove(table->rows, elements_at(keys, n, 1)));
    }
    mutex_unlock(&table->lock);
    return STATUS_OK;
}

static Status
check_readable(KernelContext *context, const Table *table)
{
    return !table->is_fixed || table->is_filled
               ? STATUS_OK
               : call_fail(context->call, STATUS_FAILED_PRECONDITION, "table '%.*s' is not initialised",
                     SLICE_PRINT(table_name(table)));
}

static Status
size_locked(KernelContext *context, const Table *table, int64_t *ret_size)
{
    TRY(check_readable(context, table));
    *ret_size = (int64_t)map_count(table->rows);
    return STATUS_OK;
}

Status
table_size(KernelContext *context, Table *table, int64_t *ret_size)
{
    mutex_lock(&table->lock);
    Status status = size_locked(context, table, ret_size);
    mutex_unlock(&table->lock);
    return status;
}

/* Values written one after the other into an output: strings, or elements. */
typedef struct Values {
    Texts texts;
    Tensor *elements;
    size_t written;
} Values;

static void
values_done(Values *values)
{
    texts_done(&values->texts);
}
#define AUTO_VALUES CLEANUP(values_done) Values

static Status
values_begin(KernelContext *context, uint32_t index, Dtype dtype, const Shape *shape, Values *ret_values)
{
    *ret_values = (Values){.written = 0};
    return dtype == DTYPE_STRING ? texts_begin(context, shape, &ret_values->texts)
                                 : kernel_output(context, index, dtype, shape, &ret_values->elements);
}

static void
values_add(Values *values, Slice value)
{
    if (values->elements == NULL) {
        buffer_append_slice(&values->texts.bytes, value);
        texts_next(&values->texts);
    } else if (value.size > 0) {
        memcpy((char *)values->elements->data + values->written, value.data, value.size);
        values->written += value.size;
    }
}

static Status
values_finish(KernelContext *context, uint32_t index, Values *values)
{
    return values->elements == NULL ? texts_finish(context, index, &values->texts) : STATUS_OK;
}

static Status
find_locked(KernelContext *context, const Table *table, const Tensor *keys, const Tensor *otherwise,
    bool is_one_for_all)
{
    int64_t count = value_count(table);
    AUTO_VALUES values = {0};
    Shape shape;
    TRY(check_readable(context, table));
    TRY(values_shape(context, table, &keys->shape, &shape));
    TRY(values_begin(context, 0, table->value_dtype, &shape, &values));
    for (int64_t n = 0; n < tensor_element_count(keys); n++) {
        const TensorBuffer *row = map_get(table->rows, elements_at(keys, n, 1));
        values_add(
            &values, row != NULL ? row_value(row) : elements_at(otherwise, is_one_for_all ? 0 : n, count));
    }
    return values_finish(context, 0, &values);
}

Status
table_find(KernelContext *context, Table *table, const Tensor *keys, const Tensor *otherwise)
{
    bool is_one_for_all = tensor_element_count(otherwise) == value_count(table);
    TRY(check_keys(context, table, keys));
    TRY(check_dtype(context, table, "values", otherwise->dtype, table->value_dtype));
    if (!is_one_for_all) {
        TRY(check_rows(context, table, keys, otherwise));
    }
    mutex_lock(&table->lock);
    Status status = find_locked(context, table, keys, otherwise, is_one_for_all);
    mutex_unlock(&table->lock);
    return status;
}

static Status
export_locked(KernelContext *context, const Table *table)
{
    AUTO_VALUES keys = {0};
    AUTO_VALUES values = {0};
    Shape vector = shape_vector((int64_t)map_count(table->rows));
    Shape shape;
    size_t cursor = 0;
    const Dtype *dtypes = context->node->output_dtypes;
    TRY(check_readable(context, table));
    TRY(check_dtype(context, table, "keys", dtypes[0], table->key_dtype));
    TRY(check_dtype(context, table, "values", dtypes[1], table->value_dtype));
    TRY(values_shape(context, table, &vector, &shape));
    TRY(values_begin(context, 0, table->key_dtype, &vector, &keys));
    TRY(values_begin(context, 1, table->value_dtype, &shape, &values));
    for (const MapEntry *entry = map_next(table->rows, &cursor); entry != NULL;
         entry = map_next(table->rows, &cursor)) {
        values_add(&keys, entry->key);
        values_add(&values, row_value(entry->value));
    }
    TRY(values_finish(context, 0, &keys));
    return values_finish(context, 1, &values);
}

Status
table_export(KernelContext *context, Table *table)
{
    mutex_lock(&table->lock);
    Status status = export_locked(context, table);
    mutex_unlock(&table->lock);
    return status;
}
