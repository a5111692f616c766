/* Finds elements in a list: labels, categories, words. Numbers are equal by value: 0 equals -0, and NaN
 * equals NaN.
 *
 * Ownership: key_table_done() frees what key_table_begin() took, also after it failed.
 * Threads:   one at a time; readers may share them.
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "shared/base/map.h"
#include "worker/runtime/kernel.h"

typedef struct KeyTable {
    Map *by_key;   /* a string, or the 8 bytes of a number → its position */
    Tensor places; /* the positions, int64 */
} KeyTable;

bool key_table_support(Dtype dtype); /* strings and real numbers */

/* Makes a table of a list; of equal elements it has the last one. */
MUST_USE Status key_table_begin(KernelContext *context, const Tensor *list, KeyTable *ret_table);
void key_table_done(KeyTable *table);
#define AUTO_KEY_TABLE CLEANUP(key_table_done) KeyTable

/* Returns where element n of a tensor is in the list; -1: nowhere. */
int64_t key_table_find(const KeyTable *table, const Tensor *tensor, int64_t n);
