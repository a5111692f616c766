/* Fuzzes what a Kubernetes API says of EndpointSlices: each line of the input is an event, and the whole of
 * it a page of a list. */
#include <assert.h>

#include "gateway/kubernetes/endpoint_slices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_endpoints(const EndpointSlices *slices)
{
    AUTO_BUFFER endpoints = {0};
    bool is_collected = endpoint_slices_collect(slices, &endpoints);
    assert(is_collected);
    const Endpoint *items = (const Endpoint *)(const void *)endpoints.data;
    for (size_t index = 0; index < endpoints.size / sizeof *items; index++) {
        assert(slice_find_last(slice_from_string(items[index].address), ':') > 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(16 << 20);
    Call call = {.arena = arena};
    EndpointSlices *slices = endpoint_slices_new(SLICE("h2c"));
    SliceNews news;
    Slice line;
    assert(slices != NULL);
    for (Slice rest = slice_of(data, size); size > 0 && slice_split(&rest, '\n', &line);) {
        (void)!endpoint_slices_read_event(&call, slices, line, &news);
    }
    check_endpoints(slices);
    endpoint_slices_begin(slices);
    if (size > 0 && endpoint_slices_read_page(&call, slices, slice_of(data, size), &news) == STATUS_OK) {
        endpoint_slices_end(slices);
    }
    check_endpoints(slices);
    endpoint_slices_free(slices);
    return 0;
}
