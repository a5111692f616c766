/* The part of NVRTC 13 that is used, declared as in NVIDIA's nvrtc.h, so that the plugin can be built without
 * it: the library itself is only ever opened while the worker runs (libraries.h). */
#pragma once

#include <stddef.h>

/* NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's */

typedef enum {
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_OUT_OF_MEMORY = 1,
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_PROGRAM = 4,
    NVRTC_ERROR_COMPILATION = 6,
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
} nvrtcResult;

typedef struct _nvrtcProgram *nvrtcProgram;

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options);
nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int header_count,
    const char *const *headers, const char *const *header_names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size);
const char *nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size);
nvrtcResult nvrtcVersion(int *major, int *minor);

/* NOLINTEND(readability-identifier-naming) */
