/* Compiles graphs written down in a test (graph_literals.h) for a CPU device of its own and runs them. */
#pragma once

#include "worker/cpu/device.h"
#include "worker/runtime/partition/schedule.h"
#include "worker/runtime/run/run.h"

typedef struct RunFixture {
    Call call; /* with an arena */
    Device *device;
} RunFixture;

void fixture_begin(RunFixture *fixture, int thread_count);

/* Gives the device back; every buffer must be back before. */
void fixture_end(RunFixture *fixture);

/* A text that does not compile fails the test. */
Partition *fixture_compile(RunFixture *fixture, const char *text);

enum { OUTCOME_OUTPUTS_MAX = 8 };

/* The same with one of the worker's passes off. */
Partition *fixture_compile_without(RunFixture *fixture, const char *text, const char *pass);

/* What a run gave; outputs by index. */
typedef struct RunOutcome {
    Status code;
    char message[1024];
    char node[64];
    RunStats stats;
    Tensor outputs[OUTCOME_OUTPUTS_MAX];
    bool is_dead[OUTCOME_OUTPUTS_MAX];
    int output_count; /* atomic */
    int done_count;   /* atomic */
} RunOutcome;

/* Callbacks that fill an outcome in. */
RunCallbacks outcome_callbacks(RunOutcome *outcome);
void outcome_wait(const RunOutcome *outcome); /* until on_done() came */
void outcome_clear(RunOutcome *outcome);      /* gives the outputs back */

/* Starts a run, waits for its end. The args are taken. `rendezvous` may be NULL. */
void fixture_run(RunFixture *fixture, Partition *partition, Rendezvous *rendezvous, Tensor *args,
    uint32_t arg_count, RunOutcome *outcome);

/* Tensors in the device's memory. */
Tensor fixture_floats(RunFixture *fixture, const Shape *shape, const float *values);
Tensor fixture_vector(RunFixture *fixture, int64_t size, float value);
/* Whole numbers from -3 to 3, so small that sums of a few thousand products are exact. */
Tensor fixture_numbers(RunFixture *fixture, const Shape *shape, int seed);
float tensor_float(const Tensor *tensor, int64_t index);

uint64_t fixture_memory_in_use(const RunFixture *fixture);

/* Comes back when a device of one thread has done all it was given, and what that gave it in turn. */
void fixture_await_thread(const RunFixture *fixture);

/* The node of this name, which a fast kernel computes and not the reference one. */
const ScheduleNode *fixture_fast_node(const Partition *partition, const char *name);

/* Runs a partition twice with the same feeds, so that caches count too: its output 0 must be what the
 * reference kernel of this node, whose inputs the feeds are, makes of them. Gives the inputs back. */
void fixture_expect_reference(
    RunFixture *fixture, Partition *partition, uint32_t node, Tensor *inputs, uint32_t input_count);

/* Keeps the first output in `expected`; every later one must have the same bits. */
void assert_same_bits(Tensor *expected, const Tensor *output);

/* A fast kernel ran the node: its one output must be the reference kernel's, bit for bit. */
void fixture_assert_as_reference(
    RunFixture *fixture, const ScheduleNode *node, Tensor *inputs, const Tensor *output);
