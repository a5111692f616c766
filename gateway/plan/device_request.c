/* A request is honoured or refused, never overruled in silence; soft placement, which a session asks for,
 * drops the parts that no worker has. Whether some worker has a GPU now is asked when slots are bound
 * (dispatch/bind.c): a plan outlives the workers of a moment. */
#include "gateway/plan/device_request.h"

#include <assert.h>

#include "gateway/plan/device_name.h"

static Status
refuse_request(const Compile *compile, const NodeDef *node, const char *reason)
{
    return call_fail(compile->call, STATUS_INVALID_ARGUMENT, "node '%.*s' asks for device '%.*s', but %s",
        SLICE_PRINT(node->name), SLICE_PRINT(node->device), reason);
}

static bool
is_of_type(const DeviceName *name, Slice type)
{
    return slice_equal_ignoring_case(name->type, type);
}

static bool
is_foreign_job(const DeviceName *name)
{
    return name->job.size > 0 && !slice_equals_string(name->job, "worker");
}

/* Returns NULL when a worker may have such a device. */
static const char *
why_no_device(const DeviceName *name)
{
    if (is_of_type(name, SLICE("GPU"))) {
        return name->id > 0 ? "the only GPU of a worker is '/device:GPU:0'" : NULL;
    }
    if (name->type.size > 0 && !is_of_type(name, SLICE("CPU"))) {
        return "workers have devices of type 'CPU' and 'GPU' only";
    }
    return name->id > 0 ? "the only CPU of a worker is '/device:CPU:0'" : NULL;
}

static const char *
why_unavailable(const DeviceName *name)
{
    if (is_foreign_job(name)) {
        return "the only job is '/job:worker'";
    }
    return name->replica > 0 ? "the only replica is '/replica:0'" : why_no_device(name);
}

/* Under soft placement a type or id that no worker has is not asked for. */
static DeviceAsk
ask_of(const DeviceName *name, bool is_soft)
{
    if (name->type.size == 0 || why_no_device(name) != NULL) {
        return DEVICE_ANY;
    }
    if (is_of_type(name, SLICE("CPU"))) {
        return DEVICE_CPU;
    }
    return is_soft ? DEVICE_GPU_OR_ANY : DEVICE_GPU;
}

Status
device_request(const Compile *compile, const NodeDef *node, DeviceRequest *ret_request)
{
    DeviceName name;
    bool is_soft = compile->request->signature->options.has_soft_placement;
    assert(node != NULL);
    if (!device_name_parse(node->device, &name)) {
        return refuse_request(
            compile, node, "a device is written '/job:worker/task:0/device:CPU:0', or a part of that");
    }
    const char *reason = why_unavailable(&name);
    if (reason != NULL && !is_soft) {
        return refuse_request(compile, node, reason);
    }
    *ret_request = (DeviceRequest){
        .task = is_foreign_job(&name) || name.task == DEVICE_PART_NONE ? PLAN_TASK_NONE : name.task,
        .device = ask_of(&name, is_soft),
    };
    return STATUS_OK;
}
