/* Fuzzes partitions as a gateway registers them, in JSON: one is compiled or refused, and a compiled one,
 * fed with zeros, runs to an end; on the CPU alone, and with a test device beside it. A blob exists when its
 * name is long enough. */
#include "shared/formats/graphdef_json.h"
#include "tests/fuzz/partition_once.h"
#include "tests/support/test_device.h"
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

/* Returns the CPU and a test device, which lives as long as the process. */
static DeviceSet
accelerated_devices(Call *call)
{
    static Device *accelerator;
    if (accelerator == NULL) {
        TestDeviceOptions options = {.host = once_device()};
        size_t count = 0;
        const KernelFamily *const *families = test_device_families(&count);
        bool is_made = test_device_open(call, &options, &accelerator) == STATUS_OK &&
                       kernel_register(call, accelerator->type, families, count) == STATUS_OK;
        assert(is_made);
    }
    return (DeviceSet){.host = once_device(), .accelerator = accelerator};
}

static void
compile(Call *call, GraphDef *def, DeviceSet devices)
{
    BlobSource blobs = {.find = find_blob};
    AUTO_PARTITION partition = NULL;
    MissingBlobs missing = {0};
    Status status = partition_compile(call, def, devices, &blobs, &missing, &partition);
    assert((status == STATUS_FAILED_PRECONDITION) == (missing.count > 0));
    if (status == STATUS_OK) {
        run(devices.host, partition);
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
        Call again = {.arena = arena};
        compile(&call, def, device_alone(once_device()));
        once_assert_no_memory(once_device());
        compile(&again, def, accelerated_devices(&again));
        once_assert_no_memory(once_device());
    }
    return 0;
}
