#include "shared/base/random.h"

#include <assert.h>
#include <sys/random.h>

enum { POOL_SIZE = 256 };

/* Random bytes that one system call has fetched: small requests are cut from its end, each byte is given
 * out once. */
static _Thread_local unsigned char pool[POOL_SIZE];
static _Thread_local size_t pool_left;

static void
fill_from_kernel(unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = getrandom(bytes, size, 0);
        assert(got > 0);
        bytes += got;
        size -= (size_t)got;
    }
}

void
random_bytes(void *ret_bytes, size_t size)
{
    unsigned char *bytes = ret_bytes;
    if (size > POOL_SIZE) {
        fill_from_kernel(bytes, size);
        return;
    }
    if (size > pool_left) {
        fill_from_kernel(pool, POOL_SIZE);
        pool_left = POOL_SIZE;
    }
    for (size_t index = 0; index < size; index++) {
        bytes[index] = pool[--pool_left];
        pool[pool_left] = 0;
    }
}

uint64_t
random_uint64(void)
{
    uint64_t value = 0;
    random_bytes(&value, sizeof value);
    return value;
}

uint64_t
random_nonzero_uint64(void)
{
    uint64_t value = 0;
    while (value == 0) {
        value = random_uint64();
    }
    return value;
}
