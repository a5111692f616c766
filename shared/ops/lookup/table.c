#include "shared/ops/lookup/table.h"

#include "shared/base/clock.h"
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
    bool is_filled;     /* false: nothing may be read until rows are put in with TABLE_REPLACE */
    Map *rows;          /* key → TensorBuffer of a Row */
    Tensor source;      /* a reference to the tensor that filled a fixed table */
    Tensor reserved[2]; /* references to a dense table's empty and deleted key */
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
    tensor_unref(&table->reserved[0]);
    tensor_unref(&table->reserved[1]);
    mutex_done(&table->lock);
    memory_free(table);
}

const ResourceType table_type = {.name = "a table", .free = table_free};

static Status
make_empty(Call *call, const TableDeclaration *declaration, Table **ret_table)
{
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
    table->is_filled = !declaration->is_fixed && !declaration->is_restored;
    for (size_t index = 0; declaration->reserved[0] != NULL && index < COUNT_OF(table->reserved); index++) {
        table->reserved[index] = tensor_ref(declaration->reserved[index]);
    }
    table->rows = rows;
    table->name_size = declaration->name.size;
    memcpy(table->name, declaration->name.data, declaration->name.size);
    *ret_table = table;
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

static bool
is_dense(const Table *table)
{
    return table->reserved[0].buffer != NULL;
}

static bool
is_reserved(const Table *table, Slice key)
{
    return is_dense(table) && (slice_equal(key, elements_at(&table->reserved[0], 0, 1)) ||
                                  slice_equal(key, elements_at(&table->reserved[1], 0, 1)));
}

static Status
check_unreserved(KernelContext *context, const Table *table, const Tensor *keys)
{
    int64_t count = is_dense(table) ? tensor_element_count(keys) : 0;
    for (int64_t n = 0; n < count; n++) {
        if (is_reserved(table, elements_at(keys, n, 1))) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "key %lld is the empty or the deleted key of table '%.*s'", (long long)n,
                SLICE_PRINT(table_name(table)));
        }
    }
    return STATUS_OK;
}

/* The rows of a dense table in a checkpoint are matrices, with one column for a scalar. Makes views of them
 * that have the shapes of other tables' rows. */
static void
view_buckets(const Table *table, Tensor *keys, Tensor *values)
{
    int64_t count = keys->shape.dims[0];
    bool is_matrix = keys->shape.rank == 2 && keys->shape.dims[1] == 1 && values->shape.rank == 2 &&
                     values->shape.dims[0] == count && values->shape.dims[1] == value_count(table);
    if (!is_dense(table) || !is_matrix || table->value_shape.rank >= SHAPE_RANK_MAX) {
        return;
    }
    keys->shape = shape_vector(count);
    values->shape = table->value_shape;
    values->shape.rank = table->value_shape.rank + 1;
    values->shape.dims[0] = count;
    for (int axis = 0; axis < table->value_shape.rank; axis++) {
        values->shape.dims[axis + 1] = table->value_shape.dims[axis];
    }
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
    enum { ROWS_BETWEEN_CHECKS = 4096 };
    int64_t count = tensor_element_count(keys);
    for (int64_t n = 0; n < count; n++) {
        Slice key = elements_at(keys, n, 1);
        if (n % ROWS_BETWEEN_CHECKS == 0) {
            TRY(call_check(context->call, clock_monotonic_ns()));
        }
        if (!is_reserved(table, key)) {
            TRY(put_row(context, rows, key, elements_at(values, n, value_count(table))));
        }
    }
    return STATUS_OK;
}

static Status
check_readable(KernelContext *context, const Table *table)
{
    return table->is_filled ? STATUS_OK
                            : call_fail(context->call, STATUS_FAILED_PRECONDITION,
                                  "table '%.*s' is not initialised", SLICE_PRINT(table_name(table)));
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
    if (change == TABLE_REPLACE) {
        return replace_all(context, table, keys, values);
    }
    TRY(check_readable(context, table));
    TRY(check_unreserved(context, table, keys));
    return put_rows(context, table, table->rows, keys, values);
}

Status
table_put(KernelContext *context, Table *table, const Tensor *keys, const Tensor *values, TableChange change)
{
    Tensor key_view = *keys;
    Tensor value_view = *values;
    if (change == TABLE_REPLACE) {
        view_buckets(table, &key_view, &value_view);
    }
    TRY(check_rows(context, table, &key_view, &value_view));
    mutex_lock(&table->lock);
    Status status = put_locked(context, table, &key_view, &value_view, change);
    mutex_unlock(&table->lock);
    return status;
}

/* What container_obtain() hands to those who make the table. */
typedef struct TableMaking {
    KernelContext *context;
    const TableDeclaration *declaration;
} TableMaking;

static Status
make_table(Call *call, const void *context, Resource **ret_resource)
{
    const TableMaking *making = context;
    Table *table = NULL;
    TRY(make_empty(call, making->declaration, &table));
    *ret_resource = &table->resource;
    return STATUS_OK;
}

static Status
make_first(Call *call, const void *context, Resource **ret_resource)
{
    const TableMaking *making = context;
    const TableDeclaration *declaration = making->declaration;
    Table *table = NULL;
    TRY(make_empty(call, declaration, &table));
    Status status = declaration->first_keys == NULL
                        ? STATUS_OK
                        : table_put(making->context, table, declaration->first_keys,
                              declaration->first_values, TABLE_REPLACE);
    if (status != STATUS_OK) {
        resource_unref(&table->resource);
        return status;
    }
    *ret_resource = &table->resource;
    return STATUS_OK;
}

static Status
check_reserved(Call *call, const TableDeclaration *declaration)
{
    const Tensor *empty = declaration->reserved[0];
    const Tensor *deleted = declaration->reserved[1];
    if (empty == NULL) {
        return STATUS_OK;
    }
    if (empty->shape.rank != 0 || deleted->shape.rank != 0) {
        return call_fail(call, STATUS_UNIMPLEMENTED,
            "table '%.*s': keys of a dense table are scalars here, its empty key is of rank %d and its "
            "deleted key of rank %d",
            SLICE_PRINT(declaration->name), empty->shape.rank, deleted->shape.rank);
    }
    return !slice_equal(elements_at(empty, 0, 1), elements_at(deleted, 0, 1))
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "the empty and the deleted key of table '%.*s' are the same",
                     SLICE_PRINT(declaration->name));
}

Status
table_output(KernelContext *context, const TableDeclaration *declaration)
{
    TableMaking making = {context, declaration};
    ContainerEntry entry = {.name = declaration->name,
        .type = &table_type,
        .make = make_first,
        .make_again = declaration->is_constant ? NULL : make_table,
        .context = &making};
    Resource *resource = NULL;
    TRY(check_reserved(context->call, declaration));
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    Status status = check_declared(context->call, as_table(resource), declaration);
    if (status != STATUS_OK) {
        resource_unref(resource);
        return status;
    }
    return kernel_handle(context, 0, resource);
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
    TRY(check_unreserved(context, table, keys));
    if (table->is_fixed) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "table '%.*s' is fixed: nothing is removed",
            SLICE_PRINT(table_name(table)));
    }
    mutex_lock(&table->lock);
    Status status = check_readable(context, table);
    for (int64_t n = 0; status == STATUS_OK && n < tensor_element_count(keys); n++) {
        tensor_buffer_unref(map_remove(table->rows, elements_at(keys, n, 1)));
    }
    mutex_unlock(&table->lock);
    return status;
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
    TRY(check_unreserved(context, table, keys));
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
