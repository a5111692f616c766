#include "tests/bundle/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/tensor/half.h"
#include "worker/cuda/libraries.h"

enum { FOLDERS_SIZE = 1 << 14 };

void
library_must(int error, const char *what)
{
    if (error != 0) {
        (void)printf("error: %s: %d\n", what, error);
        exit(EXIT_FAILURE);
    }
}

void
library_open_all(void)
{
    static char folders[FOLDERS_SIZE];
    const char *told = getenv("SLUICE_CUDA_LIBRARIES");
    (void)snprintf(folders, sizeof folders, "%s", told == NULL ? "" : told);
    for (char *at = folders; (at = strchr(at, ',')) != NULL;) {
        *at = ':';
    }
    cuda_libraries_open(folders);
}

void
library_print_skipped(const char *name)
{
    size_t count = 0;
    const PluginLibrary *libraries = cuda_libraries(&count);
    for (size_t index = 0; index < count; index++) {
        if (strcmp(libraries[index].name, name) == 0) {
            (void)printf("skipped: no %s: %s\n", name, libraries[index].reason);
        }
    }
}

void *
library_draw(CudaType type, size_t count)
{
    size_t size = type == CUDA_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
    void *host = malloc(count * size);
    void *card = NULL;
    uint64_t drawn = 1;
    library_must(host == NULL, "memory of the host");
    for (size_t index = 0; index < count; index++) {
        drawn = drawn * 6364136223846793005U + 1442695040888963407U;
        float number = (float)(int32_t)(drawn >> 32) / (float)(1U << 31);
        if (type == CUDA_FLOAT32) {
            ((float *)host)[index] = number;
        } else {
            ((uint16_t *)host)[index] =
                type == CUDA_FLOAT16 ? half_from_float(number) : bfloat16_from_float(number);
        }
    }
    library_must((int)cudaMalloc(&card, count * size), "memory of the card");
    library_must((int)cudaMemcpy(card, host, count * size, cudaMemcpyHostToDevice), "a copy");
    free(host);
    return card;
}
