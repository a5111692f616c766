/* Graphs written down in a test (graph_literals.h), compiled for a CPU device of their own and run. */
#pragma once

#include "tests/support/test_device.h"
#include "worker/cpu/device.h"
#include "worker/runtime/partition/schedule.h"
#include "worker/runtime/run/run.h"

typedef struct RunFixture {
    Call call; /* with an arena */
    Device *device;
    Device *accelerator; /* a test device (test_device.h); NULL: there is none */
} RunFixture;

void fixture_begin(RunFixture *fixture, int thread_count);

/* Open and close a test device whose kernels are registered. accelerator_end() takes NULL too. */
void accelerator_begin(Call *call, const TestDeviceOptions *options, Device **ret_device);
void accelerator_end(Device *device);

/* Lets a test device capture parts of graphs, as few as one kernel, but few at a time: they have to make room
 * for others. */
enum { FIXTURE_GRAPHS_MAX = 4 };
void accelerator_capture(Device *device);

/* Begins a fixture with a test device beside the CPU, which is given all nodes that it can compute. */
void fixture_begin_accelerated(RunFixture *fixture, int thread_count);

/* Does the same with a test device that captures (accelerator_capture()). `options` may be NULL. */
void fixture_begin_capturing(RunFixture *fixture, int thread_count, const TestDeviceOptions *options);

/* Returns the devices that graphs are compiled for. */
DeviceSet fixture_devices(const RunFixture *fixture);

/* Frees the devices; every buffer must have been freed before. */
void fixture_end(RunFixture *fixture);

/* Compiles a text; one that does not compile fails the test. */
Partition *fixture_compile(RunFixture *fixture, const char *text);

enum { OUTCOME_OUTPUTS_MAX = 8 };

/* Compiles a text with one of the worker's passes off. */
Partition *fixture_compile_without(RunFixture *fixture, const char *text, const char *pass);

/* A run's end; outputs by index. */
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

/* Returns callbacks that fill an outcome in. */
RunCallbacks outcome_callbacks(RunOutcome *outcome);
void outcome_wait(const RunOutcome *outcome); /* until on_done() has come */
void outcome_clear(RunOutcome *outcome);      /* releases the outputs */

/* Starts a run and waits for its end. Takes the args. `rendezvous` may be NULL. */
void fixture_run(RunFixture *fixture, Partition *partition, Rendezvous *rendezvous, Tensor *args,
    uint32_t arg_count, RunOutcome *outcome);

/* Return tensors in the device's memory. */
Tensor fixture_floats(RunFixture *fixture, const Shape *shape, const float *values);
Tensor fixture_vector(RunFixture *fixture, int64_t size, float value);
/* Returns a tensor of whole numbers from -3 to 3, so small that sums of a few thousand products are exact. */
Tensor fixture_numbers(RunFixture *fixture, const Shape *shape, int seed);
float tensor_float(const Tensor *tensor, int64_t index);

uint64_t fixture_memory_in_use(const RunFixture *fixture);

/* Waits until a device of one thread has done all its work, and the work that this has given it in turn. */
void fixture_await_thread(const RunFixture *fixture);

/* Returns the node of this name, which a fast kernel computes and not the reference one. */
const ScheduleNode *fixture_fast_node(const Partition *partition, const char *name);

/* Runs a partition twice with the same feeds, so that caches count too: its output 0 must be the result of
 * the reference kernel of this node, whose inputs are the feeds. Releases the inputs. */
void fixture_expect_reference(
    RunFixture *fixture, Partition *partition, uint32_t node, Tensor *inputs, uint32_t input_count);

/* Keeps the first output in `expected`; every later one must have the same bits. */
void assert_same_bits(Tensor *expected, const Tensor *output);

/* Checks the one output of a node that a fast kernel ran against the reference kernel's, bit for bit. */
void fixture_assert_as_reference(
    RunFixture *fixture, const ScheduleNode *node, Tensor *inputs, const Tensor *output);
