/* A lookup table that a session keeps: from keys to values, both elements of tensors. A fixed table is filled
 * once; filling it again with as many rows is no change (TensorFlow's InitializableLookupTable), so that what
 * fills it may run in every step.
 *
 * Ownership: a resource (resource.h).
 * Threads:   any; a table locks itself.
 * Errors:    FAILED_PRECONDITION for a fixed table that was never filled, or is filled anew otherwise;
 *            INVALID_ARGUMENT for keys and values of other dtypes or shapes than the table's;
 *            RESOURCE_EXHAUSTED without memory and above TABLE_ROW_COUNT_MAX rows. */
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
} TableDeclaration;

/* Output 0 becomes a handle of the session's table of this name, made when it is new. */
MUST_USE Status table_output(KernelContext *context, const TableDeclaration *declaration);

/* Of a running kernel: the table behind input 0. */
MUST_USE Status kernel_table(KernelContext *context, Table **ret_table);

Dtype table_key_dtype(const Table *table);
Dtype table_value_dtype(const Table *table);

typedef enum TableChange {
    TABLE_INSERT,  /* adds to what is there, or replaces it; not of a fixed table */
    TABLE_REPLACE, /* nothing else stays; fills a fixed one */
} TableChange;

/* One value for each key. */
MUST_USE Status table_put(
    KernelContext *context, Table *table, const Tensor *keys, const Tensor *values, TableChange change);

/* What a fixed table was filled from: whoever fills it from the same tensor again need not look at it. */
bool table_was_filled_from(Table *table, const Tensor *source);
void table_remember(Table *table, const Tensor *source);

MUST_USE Status table_remove(KernelContext *context, Table *table, const Tensor *keys);
MUST_USE Status table_size(KernelContext *context, Table *table, int64_t *ret_size);

/* Output 0: the keys' values, or for those that are not there `otherwise`: one value, or one for each key. */
MUST_USE Status table_find(KernelContext *context, Table *table, const Tensor *keys, const Tensor *otherwise);

/* Outputs 0 and 1: all keys and their values, in no particular order. */
MUST_USE Status table_export(KernelContext *context, Table *table);
