/* A lookup table that a session keeps: from keys to values, both elements of tensors. A fixed table is
 * filled once. Filling it again with the same keys changes nothing (TensorFlow's
 * InitializableLookupTable), so that its initialiser may run in every step.
 *
 * A restored table begins with the rows of a model's checkpoint. Where these did not come, or were lost with
 * what steps had made of them, it waits until rows replace them: it never begins empty.
 *
 * A dense table (TensorFlow's MutableDenseHashTable) has an empty and a deleted key. A checkpoint has its
 * rows as buckets, in which these stand for no row; other changes refuse them.
 *
 * Ownership: a resource (resource.h).
 * Threads:   any; a table locks itself.
 * Errors:    FAILED_PRECONDITION for a fixed or restored table that was never filled, and for a fixed one
 * that is filled again with other keys; INVALID_ARGUMENT for keys and values of other dtypes or shapes than
 * the table's, and for the empty and the deleted key; RESOURCE_EXHAUSTED without memory and above
 * TABLE_ROW_COUNT_MAX rows. */
#pragma once

#include "worker/runtime/resource.h"

enum { TABLE_ROW_COUNT_MAX = 1 << 24 };

typedef struct Table Table;

extern const ResourceType table_type;

typedef struct TableDeclaration {
    Slice name;
    Dtype key_dtype;
    Dtype value_dtype;
    Shape value_shape; /* of one value */
    bool is_fixed;
    bool is_restored;
    bool is_constant;           /* of a restored table: begins with its rows again after it was lost */
    const Tensor *first_keys;   /* NULL: the rows did not come with the model */
    const Tensor *first_values; /* with first_keys */
    const Tensor *reserved[2];  /* the empty and the deleted key; NULL: the table is not dense */
} TableDeclaration;

/* Makes output 0 a handle of the session's table of this name, which is created when new. INVALID_ARGUMENT
 * for reserved keys that are no scalars or are the same. */
MUST_USE Status table_output(KernelContext *context, const TableDeclaration *declaration);

/* Returns the table behind input 0 of a running kernel. */
MUST_USE Status kernel_table(KernelContext *context, Table **ret_table);

Dtype table_key_dtype(const Table *table);
Dtype table_value_dtype(const Table *table);

typedef enum TableChange {
    TABLE_INSERT,  /* adds rows or replaces them; not for a fixed table */
    TABLE_REPLACE, /* removes all other rows; fills a fixed table */
} TableChange;

/* Writes rows: one value for each key. */
MUST_USE Status table_put(
    KernelContext *context, Table *table, const Tensor *keys, const Tensor *values, TableChange change);

/* A fixed table remembers the tensor that filled it: filling it from the same tensor again needs no look
 * at the rows. */
bool table_was_filled_from(Table *table, const Tensor *source);
void table_remember(Table *table, const Tensor *source);

MUST_USE Status table_remove(KernelContext *context, Table *table, const Tensor *keys);
MUST_USE Status table_size(KernelContext *context, Table *table, int64_t *ret_size);

/* Makes output 0 from the keys' values. Missing keys get `otherwise`: one value, or one for each key. */
MUST_USE Status table_find(KernelContext *context, Table *table, const Tensor *keys, const Tensor *otherwise);

/* Makes outputs 0 and 1 from all keys and their values, in no particular order. */
MUST_USE Status table_export(KernelContext *context, Table *table);
