/* The functions that a partition's nodes call when a run comes to them (_Branch). A function is compiled when
 * it is called for the first time: a branch that is never taken has no kernels, and its weights are laid out
 * for none. Its large constants are here from the beginning, as they came.
 *
 * A body has _Arg and _Retval nodes as a partition has. It may call any function, itself too; how deep calls
 * go and how many are under way is limited, so that one that never ends is an error.
 *
 * Ownership: belongs to a partition, owns the partitions that it compiles; the device outlives it.
 * Threads:   any. Whoever calls a function that is being compiled waits for that.
 * Errors:    INVALID_ARGUMENT for a function that does not exist. */
#pragma once

#include "shared/base/map.h"
#include "worker/runtime/partition/partition.h"

typedef struct Library Library;

typedef struct LibraryOptions {
    Device *device;
    const BlobSource *blobs; /* where large constants are, while the library is made; NULL: nowhere */
    /* Makes a partition of a function's body (compile.c), which keeps a reference to `body`. */
    Status (*compile_body)(Call *call, GraphDef *body, Device *device, const BlobSource *blobs,
        Library *library, Partition **ret_partition);
} LibraryOptions;

enum {
    CALL_DEPTH_MAX = 1000,       /* calls within calls */
    CALLS_UNDER_WAY_MAX = 16384, /* of all runs of a partition */
};

/* Makes the library of `def`, to which it keeps a reference; NULL when there are no functions. Blobs that
 * are not here are added to `missing`: the library is of no use then. */
MUST_USE Status library_new(
    Call *call, GraphDef *def, const LibraryOptions *options, MissingBlobs *missing, Library **ret_library);
void library_free(Library *library); /* NULL is allowed */

static inline void
library_freep(Library **library)
{
    library_free(*library);
}
#define AUTO_LIBRARY CLEANUP(library_freep) Library *

/* Counts a call that begins; library_end_call() must follow. RESOURCE_EXHAUSTED above CALLS_UNDER_WAY_MAX:
 * the call has not begun. */
MUST_USE Status library_begin_call(Call *call, Library *library);
void library_end_call(Library *library);

/* Returns the function's partition without a reference: it lives as long as the library. NULL: not
 * compiled yet, or there is no such function. */
Partition *library_find(Library *library, Slice function);

/* Compiles it if that has not been done. May take long. A failure is not remembered. */
MUST_USE Status library_obtain(Call *call, Library *library, Slice function, Partition **ret_partition);

size_t library_size(const Library *library); /* bytes of the blobs it holds */
