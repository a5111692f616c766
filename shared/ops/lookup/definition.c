/* Lookup tables, kept by a session. "_Restored…" is a table whose rows are in a model's checkpoint. N is 1,
 * and `keys` and `values` are the rows that it begins with; or N is 0, since they did not come with the
 * model: nothing reads the table until they are imported. With `is_constant` nothing but that import changes
 * the table, so that it begins with its rows again when it is lost with its worker. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* A key and a value for each row; their number is known only when it runs. */
static Status
infer_export(Call *call, InferContext *context)
{
    (void)call;
    context->outputs[0] = shape_of_rank(1);
    return STATUS_OK;
}

#define TABLE_OP(name, flags, inputs, attributes)                                                            \
    OP(name "!(" inputs ")->(table_handle:resource) {container:string=, shared_name:string=, "               \
            "use_node_name_sharing:bool=false, key_dtype:type, value_dtype:type" attributes "}",             \
        OP_KEEPS_STATE | (flags), infer_scalar)

#define TABLE(name, inputs, attributes) TABLE_OP(name, 0, inputs, attributes)

#define ROWS "keys:N*key_dtype, values:N*value_dtype"
#define RESTORED_TABLE(name, inputs, attributes)                                                             \
    TABLE_OP("_Restored" name, OP_INTERNAL, ROWS inputs, attributes ", N:int, is_constant:bool=false")

#define OF_TENSORS ", value_shape:shape=unk"
#define EMPTY_AND_DELETED "empty_key:key_dtype, deleted_key:key_dtype"
#define DENSE ", value_shape:shape=unk, initial_num_buckets:int=131072, max_load_factor:float=0.8"

static const OpDefinition lookup_ops[] = {
    TABLE("HashTableV2", "", ""),
    TABLE("MutableHashTableV2", "", ""),
    TABLE("MutableHashTableOfTensorsV2", "", OF_TENSORS),
    TABLE("MutableDenseHashTableV2", EMPTY_AND_DELETED, DENSE),
    RESTORED_TABLE("MutableHashTableV2", "", ""),
    RESTORED_TABLE("MutableHashTableOfTensorsV2", "", OF_TENSORS),
    RESTORED_TABLE("MutableDenseHashTableV2", ", " EMPTY_AND_DELETED, DENSE),
    OP("InitializeTableV2!(table_handle:resource, keys:Tkey, values:Tval)->() {Tkey:type, Tval:type}", 0,
        infer_unknown),
    OP("InitializeTableFromTextFileV2!(table_handle:resource, filename:string)->() {key_index:int, "
       "value_index:int, vocab_size:int=-1, delimiter:string=\\t, ~offset:int=0}",
        0, infer_unknown),
    OP("LookupTableImportV2!(table_handle:resource, keys:Tin, values:Tout)->() {Tin:type, Tout:type}", 0,
        infer_unknown),
    OP("LookupTableInsertV2!(table_handle:resource, keys:Tin, values:Tout)->() {Tin:type, Tout:type}", 0,
        infer_unknown),
    OP("LookupTableRemoveV2!(table_handle:resource, keys:Tin)->() {Tin:type}", 0, infer_unknown),
    OP("LookupTableFindV2!(table_handle:resource, keys:Tin, default_value:Tout)->(values:Tout) {Tin:type, "
       "Tout:type}",
        0, infer_unknown),
    OP("LookupTableSizeV2!(table_handle:resource)->(size:int64) {}", 0, infer_scalar),
    OP("LookupTableExportV2!(table_handle:resource)->(keys:Tkeys, values:Tvalues) {Tkeys:type, Tvalues:type}",
        0, infer_export),
};

OP_FAMILY(lookup, lookup_ops);
