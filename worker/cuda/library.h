/* One library of the vendor's, opened while the worker runs: a table of pointers to its functions. What is
 * missing, too old or incomplete is told in a user's words, and takes away nothing but what would use it.
 *
 * Ownership: a library that was opened stays loaded as long as the process: it has threads and handlers of
 *            its own.
 * Threads:   the one that opens the device.
 * Errors:    none: the PluginLibrary says why. */
#pragma once

#include "worker/runtime/plugin.h"

/* MAJOR × 10000 + MINOR × 100 + PATCH. */
typedef uint32_t LibraryVersion;

typedef struct LibraryFunction {
    const char *symbol;
    size_t offset; /* of its pointer in the table */
} LibraryFunction;

/* The names by which a library is found, and what is wanted of it. */
typedef struct LibraryWanted {
    const char *name;  /* "cuDNN" */
    const char *file;  /* "libcudnn.so.9" */
    const char *first; /* a file that it opens by name, and that must be loaded before it; NULL: none */
    const LibraryFunction *functions;
    size_t function_count;
    LibraryVersion oldest;
    LibraryVersion (*version)(const void *table);
} LibraryWanted;

enum { LIBRARY_VERSION_SIZE = 32, LIBRARY_REASON_SIZE = 512 };

/* The texts to which a PluginLibrary points. */
typedef struct LibraryTexts {
    char version[LIBRARY_VERSION_SIZE];
    char reason[LIBRARY_REASON_SIZE];
} LibraryTexts;

/* Looks in `folders` (with ':' between), beside the plugin, in the loader's path, in CUDA_HOME and in the
 * places of NVIDIA's packages, and fills in the table. When `reason` is not NULL in what is returned, the
 * table is of no use. The texts live as long as `texts`. */
PluginLibrary library_open(
    const LibraryWanted *wanted, const char *folders, LibraryTexts *texts, void *ret_table);
