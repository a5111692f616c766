/* Fuzzes .safetensors files: any bytes give the weights of a graph whose placeholders they name, or an error.
 */
#include <assert.h>

#include "gateway/formats/safetensors.h"
#include "shared/formats/graphdef_json.h"
#include "tests/fuzz/graph_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model[] =
    "{\"node\":[{\"name\":\"w\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"b\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_INT64\"}}}]}";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ARENA_SIZE = 64 << 20, WEIGHT_SIZE_MIN = 16 };
    AUTO_ARENA arena = arena_new(ARENA_SIZE);
    AUTO_SKELETON skeleton = {.bytes = {0}};
    AUTO_GRAPH_DEF def = NULL;
    Call call = {.arena = arena};
    bool has_tensors = false;
    ByteSource sources[] = {byte_source_of(slice_of(model, sizeof model - 1)),
        byte_source_of(slice_of((const char *)data, size))};
    SkeletonFile files[] = {{.name = SLICE(""), .span = {&sources[0], 0, sources[0].size}},
        {.name = SLICE("m.safetensors"), .span = {&sources[1], 0, size}, .blob = 1}};
    SkeletonRequest request = {.files = files,
        .file_count = COUNT_OF(files),
        .weight_size_min = WEIGHT_SIZE_MIN,
        .size_max = 1 << 20};
    if (arena != NULL && safetensors_open(&call, files, COUNT_OF(files), &has_tensors) == STATUS_OK &&
        named_weights_of_json(&call, &request, &skeleton) == STATUS_OK) {
        Status status = graphdef_json_read(&call, buffer_slice(&skeleton.bytes), &def);
        assert(status == STATUS_OK); /* what was written can be read */
    }
    return 0;
}
