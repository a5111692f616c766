/* The device that a node's author asks for. A request is honoured or refused, never overruled in silence;
 * soft placement, which a session asks for, drops the parts that no worker has. */
#include <assert.h>

#include "gateway/plan/device_name.h"
#include "gateway/plan/placement.h"

static Status
refuse_request(const Compile *compile, const Node *node, const char *reason)
{
    return call_fail(compile->call, STATUS_INVALID_ARGUMENT, "node '%.*s' asks for device '%.*s', but %s",
        SLICE_PRINT(node->name), SLICE_PRINT(node->def->device), reason);
}

/* Returns NULL when workers have such a device. */
static const char *
why_unavailable(const DeviceName *name)
{
    if (name->job.size > 0 && !slice_equals_string(name->job, "worker")) {
        return "the only job is '/job:worker'";
    }
    if (name->replica > 0) {
        return "the only replica is '/replica:0'";
    }
    if (name->type.size > 0 && !slice_equal_ignoring_case(name->type, SLICE("CPU"))) {
        return "workers have devices of type 'CPU' only";
    }
    return name->id > 0 ? "the only device of a worker is '/device:CPU:0'" : NULL;
}

Status
device_request(const Compile *compile, const Node *node, int32_t *ret_task)
{
    DeviceName name;
    assert(node != NULL);
    if (!device_name_parse(node->def->device, &name)) {
        return refuse_request(
            compile, node, "a device is written '/job:worker/task:0/device:CPU:0', or a part of that");
    }
    const char *reason = why_unavailable(&name);
    if (reason != NULL && !compile->request->signature->options.has_soft_placement) {
        return refuse_request(compile, node, reason);
    }
    bool is_foreign = name.job.size > 0 && !slice_equals_string(name.job, "worker");
    *ret_task = is_foreign || name.task == DEVICE_PART_NONE ? PLAN_TASK_NONE : name.task;
    return STATUS_OK;
}
