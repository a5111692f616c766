#include "worker/cuda/libraries.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "shared/base/mutex.h"
#include "worker/cuda/library.h"

enum {
    NVRTC,
    BLAS,
    DNN,
    LIBRARY_COUNT
}; /* in the order in which they are opened: cuDNN opens the others by name */

static PluginLibrary rows[LIBRARY_COUNT];
static bool is_open;

static LibraryTexts texts[LIBRARY_COUNT];

static CudaNvrtc nvrtc;

static LibraryVersion
nvrtc_version(const void *table)
{
    const CudaNvrtc *functions = table;
    int major = 0;
    int minor = 0;
    return functions->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS
               ? 0
               : (LibraryVersion)major * 10000 + (LibraryVersion)minor * 100;
}

static PluginLibrary
open_nvrtc(const char *folders)
{
#define ROW(name) {#name, offsetof(CudaNvrtc, name)},
    static const LibraryFunction functions[] = {CUDA_NVRTC_FUNCTIONS(ROW)};
#undef ROW
    static const LibraryWanted wanted = {
        .name = "NVRTC",
        .file = "libnvrtc.so.13",
        .first = "libnvrtc-builtins.so.13.0",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .oldest = 130000,
        .version = nvrtc_version,
    };
    return library_open(&wanted, folders, &texts[NVRTC], &nvrtc);
}
/* The mathematical functions of another version may round otherwise than those of the plugin's own kernels.
 */
static PluginLibrary
require_own_version(PluginLibrary library)
{
    int major = CUDART_VERSION / 1000;
    int minor = CUDART_VERSION % 1000 / 10;
    if (library.reason == NULL && nvrtc_version(&nvrtc) != (LibraryVersion)(major * 10000 + minor * 100)) {
        (void)snprintf(texts[NVRTC].reason, sizeof texts[NVRTC].reason,
            "it is version %s, and the plugin's kernels were compiled by %d.%d: fused ones might differ",
            library.version, major, minor);
        library.reason = texts[NVRTC].reason;
    }
    return library;
}

static CudaBlas blas;

static LibraryVersion
blas_version(const void *table)
{
    return (LibraryVersion)((const CudaBlas *)table)->cublasLtGetVersion();
}

static PluginLibrary
open_blas(const char *folders)
{
#define ROW(name) {#name, offsetof(CudaBlas, name)},
    static const LibraryFunction functions[] = {CUDA_BLAS_FUNCTIONS(ROW)};
#undef ROW
    static const LibraryWanted wanted = {
        .name = "cuBLASLt",
        .file = "libcublasLt.so.13",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .oldest = 130000,
        .version = blas_version,
    };
    return library_open(&wanted, folders, &texts[BLAS], &blas);
}

static CudaDnn dnn;

static LibraryVersion
dnn_version(const void *table)
{
    return (LibraryVersion)((const CudaDnn *)table)->cudnnGetVersion();
}

static PluginLibrary
open_dnn(const char *folders)
{
#define ROW(name) {#name, offsetof(CudaDnn, name)},
    static const LibraryFunction functions[] = {CUDA_DNN_FUNCTIONS(ROW)};
#undef ROW
    static const LibraryWanted wanted = {
        .name = "cuDNN",
        .file = "libcudnn.so.9",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .oldest = 91200, /* the first for CUDA 13 */
        .version = dnn_version,
    };
    return library_open(&wanted, folders, &texts[DNN], &dnn);
}

/* cuDNN asks cuBLASLt for its version when it looks for an engine, finds it by name if it is loaded, and
 * aborts the process if it is not (seen in 9.19). */
static PluginLibrary
require_blas(PluginLibrary library)
{
    if (library.reason == NULL && rows[BLAS].reason != NULL) {
        library.reason = "it needs cuBLASLt, which cannot be used";
    }
    return library;
}

enum { FOLDERS_SIZE = 4096 };

static CudaCupti cupti;
static PluginLibrary cupti_row;
static LibraryTexts cupti_texts;
static char cupti_folders[FOLDERS_SIZE];

/* CUPTI counts its own interface: 130001 is that of CUDA 13.0. */
static LibraryVersion
cupti_version(const void *table)
{
    uint32_t version = 0;
    return ((const CudaCupti *)table)->cuptiGetVersion(&version) == CUPTI_SUCCESS ? version : 0;
}

static void
open_cupti(void)
{
#define ROW(name) {#name, offsetof(CudaCupti, name)},
    static const LibraryFunction functions[] = {CUDA_CUPTI_FUNCTIONS(ROW)};
#undef ROW
    static const LibraryWanted wanted = {
        .name = "CUPTI",
        .file = "libcupti.so.13",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .oldest = 130000,
        .version = cupti_version,
    };
    cupti_row = library_open(&wanted, cupti_folders, &cupti_texts, &cupti);
}

const CudaCupti *
cuda_cupti(const char **ret_reason)
{
    static Mutex lock = MUTEX_INITIALIZER;
    static bool was_asked;
    mutex_lock(&lock);
    if (!was_asked) {
        open_cupti();
        was_asked = true;
    }
    mutex_unlock(&lock);
    if (ret_reason != NULL) {
        *ret_reason = cupti_row.reason;
    }
    return cupti_row.reason == NULL ? &cupti : NULL;
}

void
cuda_libraries_open(const char *folders)
{
    if (is_open) {
        return;
    }
    (void)snprintf(cupti_folders, sizeof cupti_folders, "%s", folders);
    rows[NVRTC] = require_own_version(open_nvrtc(folders));
    rows[BLAS] = open_blas(folders);
    rows[DNN] = require_blas(open_dnn(folders));
    is_open = true;
}

const PluginLibrary *
cuda_libraries(size_t *ret_count)
{
    *ret_count = is_open ? LIBRARY_COUNT : 0;
    return rows;
}

/* Returns the table of a library that was opened and can be used. */
static const void *
table_of(int library, const void *table)
{
    return is_open && rows[library].reason == NULL ? table : NULL;
}

const CudaBlas *
cuda_blas(void)
{
    return table_of(BLAS, &blas);
}

const CudaDnn *
cuda_dnn(void)
{
    return table_of(DNN, &dnn);
}

const CudaNvrtc *
cuda_nvrtc(void)
{
    return table_of(NVRTC, &nvrtc);
}
