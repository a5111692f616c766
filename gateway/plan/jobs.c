/* Jobs that devices name: a graph of a cluster of several jobs ("ps", "chief", "worker") finds its tasks
 * among the workers. They are numbered as TensorFlow's ClusterSpec writes them down: jobs by name, each with
 * its tasks in order. The whole graph counts, not what a step needs of it, so that each step finds the same
 * numbers. */
#include <assert.h>
#include <stdlib.h>

#include "gateway/plan/device_name.h"
#include "gateway/plan/stages.h"

static Job *
find_job(const Compile *compile, Slice name)
{
    for (size_t index = 0; index < compile->job_count; index++) {
        if (slice_equal(compile->jobs[index].name, name)) {
            return &compile->jobs[index];
        }
    }
    return NULL;
}

const Job *
compile_find_job(const Compile *compile, Slice name)
{
    return find_job(compile, name);
}

enum { JOBS_MAX = 64 };

static Status
note_device(Compile *compile, const NodeDef *node)
{
    DeviceName name;
    bool is_named = node->device.size > 0 && device_name_parse(node->device, &name) && name.job.size > 0 &&
                    !slice_equals_string(name.job, JOB_LOCALHOST);
    if (!is_named) {
        return STATUS_OK;
    }
    Job *job = find_job(compile, name.job);
    if (job == NULL && compile->job_count == JOBS_MAX) {
        return call_fail(
            compile->call, STATUS_INVALID_ARGUMENT, "the graph's devices name more than %d jobs", JOBS_MAX);
    }
    if (job == NULL) {
        job = &compile->jobs[compile->job_count++];
        *job = (Job){.name = name.job, .task_count = 1};
    }
    job->task_count = name.task >= job->task_count ? (int64_t)name.task + 1 : job->task_count;
    return STATUS_OK;
}

static int
compare_jobs(const void *left, const void *right)
{
    return slice_compare(((const Job *)left)->name, ((const Job *)right)->name);
}

static Status
note_devices(Compile *compile, const NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        TRY(note_device(compile, &nodes[index]));
    }
    return STATUS_OK;
}

Status
find_jobs(Compile *compile)
{
    const GraphDef *def = compile->source->def;
    compile->jobs = compile_alloc(compile, JOBS_MAX, sizeof *compile->jobs);
    if (compile->jobs == NULL) {
        return compile_no_memory(compile);
    }
    TRY(note_devices(compile, def->nodes, def->node_count));
    for (size_t index = 0; index < def->function_count; index++) {
        TRY(note_devices(compile, def->functions[index].nodes, def->functions[index].node_count));
    }
    qsort(compile->jobs, compile->job_count, sizeof *compile->jobs, compare_jobs);
    for (size_t index = 1; index < compile->job_count; index++) {
        compile->jobs[index].first = compile->jobs[index - 1].first + compile->jobs[index - 1].task_count;
    }
    return STATUS_OK;
}
