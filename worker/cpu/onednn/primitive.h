/* One oneDNN primitive, ready for use from many threads at once: each execution has memory objects of its
 * own, kept for the next one. Its code is generated when it runs for the first time, which takes
 * milliseconds; what it needs can be asked before. oneDNN runs with one thread here, at creation and
 * execution alike: callers cut the work into tiles by shape instead, as the bits must not depend on the
 * number of threads.
 *
 * Ownership: a Primitive owns its oneDNN objects; the bytes belong to the caller.
 * Threads:   primitive_run() on any thread, several at once.
 * Errors:    oneDNN's codes become a Status that names what failed; functions that run in tiles return the
 * code. */
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "shared/base/call.h"
#include "worker/runtime/device.h"

typedef struct Primitive Primitive;

enum { PRIMITIVE_ARGUMENTS_MAX = 6 };

/* Returns the engine of this process, the CPU; NULL when oneDNN has none. */
dnnl_engine_t onednn_engine(void);

/* Called on each thread before it uses oneDNN. */
void onednn_single_thread(void);

/* Returns OK, or the failure of `what`. */
MUST_USE Status onednn_status(Call *call, dnnl_status_t status, const char *what);

/* `operation` is an operation descriptor (dnnl_matmul_desc_t, …). `attributes` may be NULL; the scratchpad
 * mode is set here. `arguments` are DNNL_ARG_* in the order in which primitive_run() gets their bytes. */
typedef struct PrimitiveOptions {
    const_dnnl_op_desc_t operation;
    dnnl_primitive_attr_t attributes;
    int arguments[PRIMITIVE_ARGUMENTS_MAX];
    int argument_count;
} PrimitiveOptions;

MUST_USE Status primitive_new(Call *call, const PrimitiveOptions *options, Primitive **ret_primitive);
void primitive_free(Primitive *primitive); /* NULL is allowed */

/* Returns whether oneDNN has only its reference implementation for it, which is hundreds of times slower. */
bool primitive_is_slow(const Primitive *primitive);

/* Returns the bytes that an execution takes from the device. */
size_t primitive_scratch(const Primitive *primitive);

/* Returns the layout that the bytes of an argument must have. */
const dnnl_memory_desc_t *primitive_layout(const Primitive *primitive, int argument);

/* Bytes in a layout that oneDNN has chosen (prepacked weights). */
typedef struct Packed Packed;

/* Copies `data`, in the layout `from`, to the layout `to`. */
MUST_USE Status packed_new(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed);
/* Does as packed_new(), for all runs of a partition: the bytes are counted to none of them
 * (memory_account.h). */
MUST_USE Status packed_new_shared(Call *call, Device *device, const dnnl_memory_desc_t *from,
    const void *data, const dnnl_memory_desc_t *to, Packed **ret_packed);
void packed_free(Packed *packed); /* NULL is allowed */
const dnnl_memory_desc_t *packed_layout(const Packed *packed);

/* The bytes of one argument, plain or packed. */
typedef struct PrimitiveData {
    const void *data;
    const Packed *packed; /* used instead of `data` when it is not NULL */
} PrimitiveData;

/* Runs the primitive. Scratch memory comes from the device; dnnl_out_of_memory when it has none. It
 * returns a code, not a Status, because tiles run on threads that share one Call; the caller that started
 * them reports it with onednn_status(). */
MUST_USE dnnl_status_t primitive_run(Primitive *primitive, Device *device, const PrimitiveData *data);
