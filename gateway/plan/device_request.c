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

/* Returns the number of a task among all workers. Tasks keep their numbers where the graph names one job or
 * none; those of several jobs follow each other. A job alone means its first task then. "localhost" is the
 * program itself, wherever it runs. */
static int64_t
task_of(const Compile *compile, const DeviceName *name)
{
    const Job *job = compile->job_count > 1 ? compile_find_job(compile, name->job) : NULL;
    if (slice_equals_string(name->job, JOB_LOCALHOST) || (name->task == DEVICE_PART_NONE && job == NULL)) {
        return PLAN_TASK_NONE;
    }
    int64_t first = job == NULL ? 0 : job->first;
    return name->task == DEVICE_PART_NONE ? first : first + name->task;
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
    int64_t task = task_of(compile, &name);
    if (task > INT32_MAX) {
        return refuse_request(compile, node, "the jobs of the graph have too many tasks");
    }
    *ret_request = (DeviceRequest){.task = (int32_t)task, .device = ask_of(&name, is_soft)};
    return STATUS_OK;
}
