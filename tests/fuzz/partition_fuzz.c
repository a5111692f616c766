/* Fuzzes partitions as a gateway registers them, in JSON: one is compiled or refused, and a compiled one,
 * fed with zeros, runs to an end. A blob exists when its name is long enough. */
#include "shared/formats/graphdef_json.h"
#include "tests/fuzz/partition_once.h"
#include "worker/runtime/partition/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_SIZE_MAX = 64 << 20, BLOB_SIZE = 64 };

static TensorBuffer *
find_blob(void *context, Slice sha256)
{
    (void)context;
    TensorBuffer *blob = sha256.size > 4 ? tensor_buffer_new(BLOB_SIZE) : NULL;
    if (blob != NULL) {
        memset(blob->data, 0, BLOB_SIZE);
    }
    return blob;
}

/* Makes two elements: enough to have a first and a last. */
static Tensor
zeros(Dtype dtype)
{
    Shape shape = shape_vector(2);
    const Slice texts[] = {SLICE(""), SLICE("")};
    Tensor tensor = {0};
    bool is_made = dtype == DTYPE_STRING      ? tensor_new_strings(&shape, texts, &tensor)
                   : dtype_is_copyable(dtype) ? tensor_new(dtype, &shape, &tensor)
                                              : true;
    assert(is_made);
    if (dtype_is_copyable(dtype)) {
        memset(tensor.data, 0, tensor_byte_size(&tensor));
    }
    return tensor;
}

static void
run(Device *device, Partition *partition)
{
    Tensor args[ONCE_ARGS_MAX] = {0};
    uint32_t count = partition_arg_count(partition);
    OnceRun once = {.device = device};
    if (count > ONCE_ARGS_MAX) {
        return;
    }
    for (uint32_t index = 0; index < count; index++) {
        args[index] = zeros(partition_arg_dtype(partition, index));
    }
    once_run(&once, partition, args, count);
    for (uint32_t index = 0; index < count; index++) {
        tensor_unref(&args[index]);
    }
}

static void
compile(Call *call, GraphDef *def)
{
    Device *device = once_device();
    BlobSource blobs = {.find = find_blob};
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    Status status = partition_compile(call, def, device_alone(device), &blobs, &missing, &partition);
    assert((status == STATUS_FAILED_PRECONDITION) == (missing.count > 0));
    if (status == STATUS_OK) {
        run(device, partition);
    } else {
        assert(call->error.message[0] != '\0' && partition == NULL);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    AUTO_GRAPH_DEF def = NULL;
    assert(arena != NULL);
    if (graphdef_json_read(&call, slice_of(data, size), &def) == STATUS_OK) {
        compile(&call, def);
        once_assert_no_memory(once_device());
    }
    return 0;
}
