/* The functions that nodes of a partition may call during a run (_Branch). A function is compiled when it
 * is first called: a branch that is never taken costs no kernels and no weights in their layout. The blobs
 * of its large constants are found at once, so that a missing one fails the registration, not a run.
 *
 * A body has _Arg and _Retval nodes, as a partition has. It may call any function, itself included; the
 * depth of calls and the number under way are limited, so that endless recursion is an error.
 *
 * Ownership: belongs to a partition and owns the partitions that it compiles; the devices outlive it.
 * Threads:   any. A caller waits while another thread compiles the same function.
 * Errors:    INVALID_ARGUMENT for a function that does not exist. */
#pragma once

#include "shared/base/map.h"
#include "worker/runtime/partition/partition.h"

typedef struct Library Library;

typedef struct LibraryOptions {
    DeviceSet devices;
    const BlobSource *blobs; /* source of large constants, used by library_new() only; NULL: none are here */
    /* Compiles the body of a function (compile.c); the partition keeps a reference to `body`. */
    Status (*compile_body)(Call *call, GraphDef *body, DeviceSet devices, const BlobSource *blobs,
        Library *library, Partition **ret_partition);
} LibraryOptions;

enum {
    CALL_DEPTH_MAX = 1000,       /* calls nested in each other */
    CALLS_UNDER_WAY_MAX = 16384, /* calls in all runs of a partition together */
};

/* Makes the library of `def` and keeps a reference to `def`; NULL when it has no functions. Adds the blobs
 * that are not here to `missing`; such a library must not be used. */
MUST_USE Status library_new(
    Call *call, GraphDef *def, const LibraryOptions *options, MissingBlobs *missing, Library **ret_library);
void library_free(Library *library); /* NULL is allowed */

static inline void
library_freep(Library **library)
{
    library_free(*library);
}
#define AUTO_LIBRARY CLEANUP(library_freep) Library *

/* Counts a call that begins; library_end_call() must follow. RESOURCE_EXHAUSTED when CALLS_UNDER_WAY_MAX
 * are under way: the call must not begin. */
MUST_USE Status library_begin_call(Call *call, Library *library);
void library_end_call(Library *library);

/* Returns the function's partition without a new reference: valid as long as the library. NULL: it is not
 * compiled yet, or does not exist. */
Partition *library_find(Library *library, Slice function);

/* Returns the function's partition without a new reference, compiling it first when that has not been
 * done. May take long. After a failure the next call tries again. */
MUST_USE Status library_obtain(Call *call, Library *library, Slice function, Partition **ret_partition);
