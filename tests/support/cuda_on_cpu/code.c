#include "tests/support/cuda_on_cpu/code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/runtime.h"
#include "tests/support/cuda_on_cpu/streams.h"

typedef struct Kernel Kernel;

/* A library. */
typedef struct Code {
    void *object;
    Kernel *kernels; /* that were asked for */
    CodeRun *run;
    size_t size;
} Code;

struct Kernel {
    Kernel *next;
    const Code *code;
    void *function;
};

/* The arguments of a launch: its kernel, and behind that the argument. */
typedef struct Started {
    const Kernel *kernel;
    uint64_t argument[];
} Started;

/* Opens it under a name that it has for itself: by that the loader tells what it has loaded before. */
static void *
open_object(const char *bytes, size_t size)
{
    char path[] = "/tmp/cuda_on_cpu.XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file) != 0) {
        abort();
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        fprintf(stderr, "cuda_on_cpu: %s\n", dlerror());
    }
    unlink(path);
    return object;
}

static cudaError_t
load(const char *bytes, Code *ret_code)
{
    CodeHead head;
    CodeBind *bind = NULL;
    CodeSize *size = NULL;
    memcpy(&head, bytes, sizeof head.magic);
    if (memcmp(head.magic, CODE_MAGIC, sizeof head.magic) != 0) {
        return cudaErrorInvalidKernelImage;
    }
    memcpy(&head, bytes, sizeof head);
    void *object = open_object(bytes + sizeof head, head.size);
    if (object == NULL) {
        return cudaErrorInvalidKernelImage;
    }
    *(void **)&bind = dlsym(object, CODE_BIND);
    *(void **)&size = dlsym(object, CODE_SIZE);
    *(void **)&ret_code->run = dlsym(object, CODE_RUN);
    bind(&grid_thread, &grid_block);
    ret_code->size = size();
    ret_code->object = object;
    return cudaSuccess;
}

cudaError_t
cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
    void **jit_values, unsigned jit_count, enum cudaLibraryOption *options, void **values, unsigned count)
{
    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    Code made = {0};
    cudaError_t error = runtime_enter("cudaLibraryLoadData");
    if (error == cudaSuccess) {
        error = load(code, &made);
    }
    if (error == cudaSuccess) {
        Code *kept = calloc(1, sizeof *kept);
        *kept = made;
        *library = (cudaLibrary_t)kept;
    }
    return runtime_leave(error);
}

cudaError_t
cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    cudaError_t error = runtime_enter("cudaLibraryGetKernel");
    Code *code = (Code *)library;
    void *function = dlsym(code->object, name);
    if (error == cudaSuccess && function == NULL) {
        error = cudaErrorSymbolNotFound;
    }
    if (error == cudaSuccess) {
        Kernel *made = calloc(1, sizeof *made);
        *made = (Kernel){code->kernels, code, function};
        code->kernels = made;
        *kernel = (cudaKernel_t)made;
    }
    return runtime_leave(error);
}

/* The kernels of the library must have run: one that is left would find no code. */
cudaError_t
cudaLibraryUnload(cudaLibrary_t library)
{
    cudaError_t error = runtime_enter("cudaLibraryUnload");
    Code *code = (Code *)library;
    dlclose(code->object);
    while (code->kernels != NULL) {
        Kernel *kernel = code->kernels;
        code->kernels = kernel->next;
        free(kernel);
    }
    free(code);
    return runtime_leave(error);
}

static void
run_started(void *held)
{
    Started *started = held;
    started->kernel->code->run(started->kernel->function, started->argument);
}

/* Enqueues a kernel of loaded code, of one argument; others are started by cuda_launch() (language.cuh). */
cudaError_t
cudaLaunchKernel(
    const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_size, cudaStream_t stream)
{
    const Kernel *started = kernel;
    Started *held = malloc(sizeof *held + started->code->size);
    if (held == NULL) {
        abort();
    }
    held->kernel = started;
    memcpy(held->argument, arguments[0], started->code->size);
    KernelLaunch launch = {kernel, grid, block, shared_size, run_started, held};
    return cuda_on_cpu_launch(&launch, stream);
}
