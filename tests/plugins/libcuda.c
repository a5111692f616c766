/* A stub of NVIDIA's driver, libcuda.so.1: it says what the environment tells it to. */
#include <stdlib.h>

__attribute__((visibility("default"))) int cuInit(unsigned int flags);
__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);
__attribute__((visibility("default"))) int cuGetErrorString(int error, const char **text);

static int
number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text == NULL ? otherwise : atoi(text);
}

int
cuInit(unsigned int flags)
{
    (void)flags;
    return number_of("STUB_CUDA_INIT", 0);
}

int
cuDriverGetVersion(int *version)
{
    *version = number_of("STUB_CUDA_VERSION", 13000);
    return 0;
}

int
cuGetErrorString(int error, const char **text)
{
    *text = getenv("STUB_CUDA_TEXT");
    return error;
}
