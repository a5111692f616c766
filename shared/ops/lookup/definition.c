/* Lookup tables, kept by a session. */
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

#define TABLE(name, attributes)                                                                              \
    OP(name "!()->(table_handle:resource) {container:string=, shared_name:string=, "                         \
            "use_node_name_sharing:bool=false, key_dtype:type, value_dtype:type" attributes "}",             \
        OP_KEEPS_STATE, infer_scalar)

static const OpDefinition lookup_ops[] = {
    TABLE("HashTableV2", ""),
    TABLE("MutableHashTableV2", ""),
    TABLE("MutableHashTableOfTensorsV2", ", value_shape:shape=unk"),
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
