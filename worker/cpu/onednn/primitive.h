/* One oneDNN primitive made ready for use from many threads at once: each execution has memory objects of its
 * own, kept for the next one. Its code is generated when it runs for the first time, which takes
 * milliseconds; what it needs can be asked before. oneDNN runs with one thread here, at creation and
 * execution alike: who wants more cuts the work into tiles by shape (the bits must not depend on the number
 * of threads).
 *
 * Ownership: a Primitive owns its oneDNN objects; the bytes belong to the caller.
 * Threads:   primitive_run() any, several at once.
 * Errors:    oneDNN's codes as ours, with the name of what failed; leaves give the code itself. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "shared/base/call.h"
#include "worker/runtime/device.h"

typedef struct Primitive Primitive;

enum { PRIMITIVE_ARGUMENTS_MAX = 6 };

/* The engine of this process: the CPU. NULL when oneDNN has none. */
dnnl_engine_t onednn_engine(void);

/* To be called before any use of oneDNN on a thread. */
void onednn_single_thread(void);

/* OK, or the failure of `what`. */
MUST_USE Status onednn_status(Call *call, dnnl_status_t status, const char *what);

/* From an operation descriptor (dnnl_matmul_desc_t, …). `attributes` may be NULL; the scratchpad mode is set
 * here. `arguments` are DNNL_ARG_* in the order in which primitive_run() gets their bytes. */
typedef struct PrimitiveOptions {
    const_dnnl_op_desc_t operation;
    dnnl_primitive_attr_t attributes;
    int arguments[PRIMITIVE_ARGUMENTS_MAX];
    int argument_count;
} PrimitiveOptions;

MUST_USE Status primitive_new(Call *call, const PrimitiveOptions *options, Primitive **ret_primitive);
void primitive_free(Primitive *primitive); /* NULL is allowed */

/* Whether oneDNN has nothing but its reference for it, which is hundreds of times slower. */
bool primitive_is_slow(const Primitive *primitive);

/* Bytes that an execution takes from the device. */
size_t primitive_scratch(const Primitive *primitive);

/* How the bytes of an argument have to lie. */
const dnnl_memory_desc_t *primitive_layout(const Primitive *primitive, int argument);

/* Bytes that lie in a layout that is chosen by oneDNN (prepacked weights). */
typedef struct Packed Packed;

/* Lays `data`, which lies as `from` says, out as `to` says. */
MUST_USE Status packed_new(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed);
/* As packed_new(), for all runs of a partition: counted to none of them (memory_account.h). */
MUST_USE Status packed_new_shared(Call *call, Device *device, const dnnl_memory_desc_t *from,
    const void *data, const dnnl_memory_desc_t *to, Packed **ret_packed);
void packed_free(Packed *packed); /* NULL is allowed */
const dnnl_memory_desc_t *packed_layout(const Packed *packed);

/* Bytes of one argument: plain ones, or packed ones. */
typedef struct PrimitiveData {
    const void *data;
    const Packed *packed; /* when not NULL, instead of data */
} PrimitiveData;

/* Scratch memory comes from the device; dnnl_out_of_memory when it has none. A code, not a Status: tiles run
 * on threads that share one Call; whoever started them says it with onednn_status(). */
MUST_USE dnnl_status_t primitive_run(Primitive *primitive, Device *device, const PrimitiveData *data);
