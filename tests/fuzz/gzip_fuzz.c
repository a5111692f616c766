/* Fuzzes gzip: a body is inflated within its bound or refused. Any bytes, deflated, are inflated as
 * themselves. */
#include <assert.h>

#include "shared/gzip/gzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SIZE_MAX_INFLATED = 1 << 16 };
    Call call = {0};
    AUTO_BUFFER inflated = {0};
    AUTO_BUFFER deflated = {0};
    AUTO_BUFFER same = {0};
    (void)!gzip_inflate(&call, slice_of(data, size), SIZE_MAX_INFLATED, &inflated);
    assert(inflated.size <= SIZE_MAX_INFLATED);
    bool is_deflated = gzip_deflate(&deflated, slice_of(data, size), GZIP_LEVEL_FAST);
    assert(is_deflated);
    Status status = gzip_inflate(&call, buffer_slice(&deflated), size, &same);
    assert(status == STATUS_OK && slice_equal(buffer_slice(&same), slice_of(data, size)));
    return 0;
}
