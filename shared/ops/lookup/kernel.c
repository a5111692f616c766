/* Ops of lookup tables. */
#include "shared/ops/lookup/table.h"

#include "shared/base/memory.h"
#include "worker/reference/naming.h"

static bool
table_supports(const Node *node)
{
    Dtype key = node_attr_type(node, "key_dtype");
    Dtype value = node_attr_type(node, "value_dtype");
    bool holds_tensors = node_attr(node, "value_shape") != NULL;
    return (dtype_is_copyable(key) || key == DTYPE_STRING) &&
           (dtype_is_copyable(value) || (value == DTYPE_STRING && !holds_tensors));
}

/* Notes the rows that a "_Restored…" table begins with. */
static void
note_first_rows(const KernelContext *context, TableDeclaration *declaration)
{
    declaration->is_restored = true;
    declaration->is_constant = node_attr_bool(context->node, "is_constant");
    if (node_attr_int(context->node, "N") > 0) {
        declaration->first_keys = &context->inputs[0];
        declaration->first_values = &context->inputs[1];
    }
}

/* A dense table's last two inputs are its reserved keys. */
static void
note_reserved_keys(const KernelContext *context, TableDeclaration *declaration)
{
    uint32_t count = context->node->input_count;
    declaration->reserved[0] = &context->inputs[count - 2];
    declaration->reserved[1] = &context->inputs[count - 1];
}

static Status
declare_table(KernelContext *context, bool is_fixed)
{
    const Naming *naming = context->state;
    const AttrValue *shape = node_attr(context->node, "value_shape");
    TableDeclaration declaration = {
        .name = naming->name,
        .key_dtype = node_attr_type(context->node, "key_dtype"),
        .value_dtype = node_attr_type(context->node, "value_dtype"),
        .value_shape = shape == NULL || shape->value.shape.rank < 0 ? shape_scalar() : shape->value.shape,
        .is_fixed = is_fixed,
    };
    if (!shape_is_known(&declaration.value_shape)) {
        return call_fail(
            context->call, STATUS_INVALID_ARGUMENT, "the shape of a table's values is not known");
    }
    if (node_attr(context->node, "is_constant") != NULL) {
        note_first_rows(context, &declaration);
    }
    if (node_attr(context->node, "max_load_factor") != NULL) {
        note_reserved_keys(context, &declaration);
    }
    return table_output(context, &declaration);
}

static Status
fixed_compute(KernelContext *context)
{
    return declare_table(context, true);
}

static Status
mutable_compute(KernelContext *context)
{
    return declare_table(context, false);
}

static Status
insert_compute(KernelContext *context)
{
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    return table_put(context, table, &context->inputs[1], &context->inputs[2], TABLE_INSERT);
}

static Status
import_compute(KernelContext *context)
{
    const Tensor *keys = &context->inputs[1];
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    if (!table_was_filled_from(table, keys)) {
        TRY(table_put(context, table, keys, &context->inputs[2], TABLE_REPLACE));
        table_remember(table, keys);
    }
    return STATUS_OK;
}

static Status
remove_compute(KernelContext *context)
{
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    return table_remove(context, table, &context->inputs[1]);
}

static Status
find_compute(KernelContext *context)
{
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    return table_find(context, table, &context->inputs[1], &context->inputs[2]);
}

static Status
size_compute(KernelContext *context)
{
    Shape scalar = shape_scalar();
    Table *table = NULL;
    Tensor *output = NULL;
    int64_t size = 0;
    TRY(kernel_table(context, &table));
    TRY(table_size(context, table, &size));
    TRY(kernel_output(context, 0, DTYPE_INT64, &scalar, &output));
    *(int64_t *)output->data = size;
    return STATUS_OK;
}

static Status
export_compute(KernelContext *context)
{
    Table *table = NULL;
    TRY(kernel_table(context, &table));
    return table_export(context, table);
}

#define TABLE(name, function)                                                                                \
    {                                                                                                        \
        .op = (name), .supports = table_supports, .create = naming_new, .destroy = memory_free,              \
        .compute = (function), .is_cheap = true                                                              \
    }

static const Kernel lookup_kernels[] = {
    TABLE("HashTableV2", fixed_compute),
    TABLE("MutableHashTableV2", mutable_compute),
    TABLE("MutableHashTableOfTensorsV2", mutable_compute),
    TABLE("MutableDenseHashTableV2", mutable_compute),
    TABLE("_RestoredMutableHashTableV2", mutable_compute),
    TABLE("_RestoredMutableHashTableOfTensorsV2", mutable_compute),
    TABLE("_RestoredMutableDenseHashTableV2", mutable_compute),
    {.op = "InitializeTableV2", .compute = import_compute},
    {.op = "LookupTableImportV2", .compute = import_compute},
    {.op = "LookupTableInsertV2", .compute = insert_compute},
    {.op = "LookupTableRemoveV2", .compute = remove_compute},
    {.op = "LookupTableFindV2", .compute = find_compute},
    {.op = "LookupTableSizeV2", .compute = size_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "LookupTableExportV2", .compute = export_compute},
};

KERNEL_FAMILY(reference, lookup, lookup_kernels);
