#include "worker/cuda/fusion/compile.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "shared/base/memory.h"
#include "worker/cuda/fusion/source.h"

enum { LOG_SHOWN = 400, ARCHITECTURE_SIZE = 48 };

/* As nvcc has them for the kernels of single nodes (tools/mk/cuda_plugin.mk): equal bits depend on it. */
static const char *const options[] = {
    "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};

/* Says what NVRTC says of the program. */
static Status
fail_program(Call *call, const CudaNvrtc *nvrtc, nvrtcProgram program, nvrtcResult result)
{
    size_t size = 0;
    if (nvrtc->nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) {
        return call_fail(call, STATUS_INTERNAL, "NVRTC: %s", nvrtc->nvrtcGetErrorString(result));
    }
    char *text = memory_new(size + 1, 1);
    if (text == NULL) {
        return call_fail_memory(call, "what NVRTC says");
    }
    (void)nvrtc->nvrtcGetProgramLog(program, text);
    Status status = call_fail(
        call, STATUS_INTERNAL, "NVRTC: %s: %.*s", nvrtc->nvrtcGetErrorString(result), (int)LOG_SHOWN, text);
    memory_free(text);
    return status;
}

static Status
take_code(Call *call, const CudaNvrtc *nvrtc, nvrtcProgram program, Buffer *ret_code)
{
    size_t size = 0;
    nvrtcResult result = nvrtc->nvrtcGetCUBINSize(program, &size);
    char *room = result != NVRTC_SUCCESS ? NULL : buffer_reserve(ret_code, size);
    if (room == NULL) {
        return result == NVRTC_SUCCESS ? call_fail_memory(call, "the code of a kernel")
                                       : fail_program(call, nvrtc, program, result);
    }
    result = nvrtc->nvrtcGetCUBIN(program, room);
    if (result != NVRTC_SUCCESS) {
        return fail_program(call, nvrtc, program, result);
    }
    buffer_grow(ret_code, size);
    return STATUS_OK;
}

Status
fusion_compile(
    Call *call, const CudaNvrtc *nvrtc, const char *source, const char *architecture, Buffer *ret_code)
{
    char target[ARCHITECTURE_SIZE];
    const char *all[COUNT_OF(options) + 1] = {target};
    nvrtcProgram program = NULL;
    (void)snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    memcpy(all + 1, options, sizeof options);
    nvrtcResult result = nvrtc->nvrtcCreateProgram(
        &program, source, FUSION_KERNEL ".cu", fusion_header_count, fusion_headers, fusion_header_names);
    if (result != NVRTC_SUCCESS) {
        return call_fail(call, STATUS_INTERNAL, "NVRTC: %s", nvrtc->nvrtcGetErrorString(result));
    }
    result = nvrtc->nvrtcCompileProgram(program, (int)COUNT_OF(all), all);
    Status status = result == NVRTC_SUCCESS ? take_code(call, nvrtc, program, ret_code)
                                            : fail_program(call, nvrtc, program, result);
    (void)nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

static void
add_text(Sha256 *chain, const char *text)
{
    Sha256 links[2] = {*chain};
    sha256(slice_from_string(text), &links[1]);
    sha256(slice_of(links, sizeof links), chain);
}

void
fusion_key(
    const CudaNvrtc *nvrtc, const char *source, const char *architecture, char ret_key[SHA256_HEX_SIZE])
{
    Sha256 chain = {0};
    char versions[64];
    int major = 0;
    int minor = 0;
    (void)nvrtc->nvrtcVersion(&major, &minor);
    (void)snprintf(versions, sizeof versions, "%d.%d %d", major, minor, CUDART_VERSION);
    add_text(&chain, versions);
    add_text(&chain, architecture);
    for (size_t index = 0; index < COUNT_OF(options); index++) {
        add_text(&chain, options[index]);
    }
    for (int index = 0; index < fusion_header_count; index++) {
        add_text(&chain, fusion_headers[index]);
    }
    add_text(&chain, source);
    sha256_to_hex(&chain, ret_key);
}
