/* The facts that all else on a card is measured against: one line each, `fact`, its name, its value with
 * unit.
 *
 *     facts            all of them; "skipped: …" when there is no card that can be used
 *     facts libraries  the first of them: which of NVIDIA's libraries are found
 *     facts probe      ends with 0 when there is a card, else says why there is none */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/accelerator/cuda_driver.h"

enum { COPY_COUNT = 30, COPY_SIZE = 256 << 20, REASON_SIZE = 600, MIB = 1 << 20 };

typedef struct Library {
    const char *name;
    const char *file;
    const char *first; /* a file that it opens by name, and is to be found in its own folder; NULL: none */
    const char *function;
} Library;

static const Library libraries[] = {
    {"cuBLASLt", "libcublasLt.so.13", NULL, "cublasLtGetVersion"},
    {"cuDNN", "libcudnn.so.9", NULL, "cudnnGetVersion"},
    {"NVRTC", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "nvrtcVersion"},
};

static void *
open_in_folder(const char *folder, size_t folder_size, const char *file)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)folder_size, folder, file);
    return dlopen(path, RTLD_NOW);
}

/* Looks in the folders of SLUICE_CUDA_LIBRARIES, then where the loader does. */
static void *
open_library(const Library *library)
{
    const char *folder = getenv("SLUICE_CUDA_LIBRARIES");
    while (folder != NULL && *folder != '\0') {
        size_t size = strcspn(folder, ",");
        if (library->first != NULL) {
            (void)open_in_folder(folder, size, library->first);
        }
        void *found = open_in_folder(folder, size, library->file);
        if (found != NULL) {
            return found;
        }
        folder += size + (folder[size] == ',');
    }
    return dlopen(library->file, RTLD_NOW);
}

static void
write_version(const Library *library, void *opened, char *ret_text, size_t text_size)
{
    void *function = dlsym(opened, library->function);
    if (function == NULL) {
        (void)snprintf(ret_text, text_size, "found, without %s()", library->function);
    } else if (strcmp(library->name, "NVRTC") == 0) {
        int (*version)(int *major, int *minor) = NULL;
        int major = 0;
        int minor = 0;
        *(void **)(void *)&version = function;
        (void)version(&major, &minor);
        (void)snprintf(ret_text, text_size, "%d.%d", major, minor);
    } else {
        size_t (*version)(void) = NULL;
        *(void **)(void *)&version = function;
        (void)snprintf(ret_text, text_size, "%zu", version());
    }
}

static void
print_libraries(void)
{
    for (size_t index = 0; index < COUNT_OF(libraries); index++) {
        char version[128] = "not found";
        void *opened = open_library(&libraries[index]);
        if (opened != NULL) {
            write_version(&libraries[index], opened, version, sizeof version);
        }
        (void)printf("fact\t%s\t%s\n", libraries[index].name, version);
    }
}

/* Returns NULL when there is a card, else why there is none. */
static const char *
find_absence(void)
{
    static char reason[REASON_SIZE];
    Call call = {0};
    int count = 0;
    if (cuda_driver_check(&call) != STATUS_OK) {
        bool is_said = strncmp(call.error.message, "no CUDA device", strlen("no CUDA device")) == 0;
        (void)snprintf(reason, sizeof reason, "%s%s", is_said ? "" : "no CUDA device: ", call.error.message);
        return reason;
    }
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        (void)snprintf(reason, sizeof reason, "no CUDA device: cudaGetDeviceCount() says %d, %s", (int)error,
            cudaGetErrorString(error));
        return reason;
    }
    return NULL;
}

/* Ends the program when a call fails: facts that are partly wrong help nobody. */
static void
must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        (void)printf("error: %s: %d, %s\n", what, (int)error, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}

static void
print_driver(void)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*init)(void) = NULL;
    int (*get_version)(char *version, unsigned int size) = NULL;
    char version[96] = "not told";
    if (nvml != NULL) {
        *(void **)(void *)&init = dlsym(nvml, "nvmlInit_v2");
        *(void **)(void *)&get_version = dlsym(nvml, "nvmlSystemGetDriverVersion");
    }
    if (init != NULL && get_version != NULL && init() == 0) {
        (void)get_version(version, sizeof version);
    }
    (void)printf("fact\tdriver\t%s\n", version);
    int served = 0;
    int runtime = 0;
    must(cudaDriverGetVersion(&served), "the driver's version");
    must(cudaRuntimeGetVersion(&runtime), "the runtime's version");
    (void)printf("fact\tCUDA that the driver serves\t%d.%d\n", served / 1000, served % 1000 / 10);
    (void)printf("fact\tCUDA runtime\t%d.%d\n", runtime / 1000, runtime % 1000 / 10);
}

static void
print_card(void)
{
    struct cudaDeviceProp card;
    size_t free_size = 0;
    size_t total_size = 0;
    must(cudaGetDeviceProperties(&card, 0), "the card's properties");
    must(cudaMemGetInfo(&free_size, &total_size), "the card's memory");
    (void)printf("fact\tcard\t%s\n", card.name);
    (void)printf("fact\tcompute capability\t%d.%d\n", card.major, card.minor);
    (void)printf("fact\tSMs\t%d\n", card.multiProcessorCount);
    (void)printf("fact\tL2 cache\t%.1f MiB\n", (double)card.l2CacheSize / MIB);
    (void)printf("fact\tshared memory of a block\t%zu bytes, %zu when asked for\n", card.sharedMemPerBlock,
        card.sharedMemPerBlockOptin);
    (void)printf("fact\tmemory\t%zu MiB, %zu MiB free\n", total_size / MIB, free_size / MIB);
    (void)printf("fact\tmemory bus\t%d bits\n", card.memoryBusWidth);
    (void)printf("fact\tECC\t%s\n", card.ECCEnabled ? "on" : "off");
    (void)printf("fact\tcopy engines\t%d\n", card.asyncEngineCount);
}

static int
compare_times(const void *left, const void *right)
{
    float l = *(const float *)left;
    float r = *(const float *)right;
    return (l > r) - (l < r);
}

/* Prints the median of COPY_COUNT copies; `factor`: how often each byte passes the memory that is measured.
 */
static void
print_bandwidth(const char *name, void *to, const void *from, enum cudaMemcpyKind kind, int factor)
{
    float times[COPY_COUNT];
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    must(cudaEventCreate(&begin), "an event");
    must(cudaEventCreate(&end), "an event");
    must(cudaMemcpyAsync(to, from, COPY_SIZE, kind, stream), name); /* warms up */
    for (int index = 0; index < COPY_COUNT; index++) {
        must(cudaEventRecord(begin, stream), name);
        must(cudaMemcpyAsync(to, from, COPY_SIZE, kind, stream), name);
        must(cudaEventRecord(end, stream), name);
        must(cudaEventSynchronize(end), name);
        must(cudaEventElapsedTime(&times[index], begin, end), name);
    }
    qsort(times, COPY_COUNT, sizeof times[0], compare_times);
    double seconds = (double)times[COPY_COUNT / 2] / 1e3;
    (void)printf("fact\t%s\t%.1f GB/s, median of %d copies of %d MiB\n", name,
        (double)COPY_SIZE * factor / seconds / 1e9, COPY_COUNT, COPY_SIZE / MIB);
    must(cudaEventDestroy(begin), "an event");
    must(cudaEventDestroy(end), "an event");
    must(cudaStreamDestroy(stream), "a stream");
}

static void
print_bandwidths(void)
{
    void *pinned = NULL;
    void *first = NULL;
    void *second = NULL;
    must(cudaHostAlloc(&pinned, COPY_SIZE, cudaHostAllocDefault), "pinned memory");
    must(cudaMalloc(&first, COPY_SIZE), "memory of the card");
    must(cudaMalloc(&second, COPY_SIZE), "memory of the card");
    for (size_t index = 0; index < COPY_SIZE;
         index++) { /* random bytes: constant ones may be copied faster */
        static uint32_t state = 1;
        state = state * 1664525 + 1013904223;
        ((uint8_t *)pinned)[index] = (uint8_t)(state >> 24);
    }
    print_bandwidth("host to device", first, pinned, cudaMemcpyHostToDevice, 1);
    print_bandwidth("device to host", pinned, first, cudaMemcpyDeviceToHost, 1);
    print_bandwidth("device to device, read and written", second, first, cudaMemcpyDeviceToDevice, 2);
    must(cudaFree(second), "memory of the card");
    must(cudaFree(first), "memory of the card");
    must(cudaFreeHost(pinned), "pinned memory");
}

int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "libraries") == 0) {
        print_libraries();
        return EXIT_SUCCESS;
    }
    const char *absence = find_absence();
    if (argc > 1 && strcmp(argv[1], "probe") == 0) {
        (void)printf("%s", absence == NULL ? "" : absence);
        return absence == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    print_libraries();
    if (absence != NULL) {
        (void)printf("skipped: %s\n", absence);
        return EXIT_SUCCESS;
    }
    print_driver();
    print_card();
    print_bandwidths();
    return EXIT_SUCCESS;
}
