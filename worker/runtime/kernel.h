/* A kernel: one way to compute one op on one device. A family of kernels is one file: a kernel.c below
 * shared/ops has the simple reference kernels that define the right result, worker/cpu/kernels has the
 * fast ones. Those of an accelerator are in its plugin: their compute() enqueues work in context->lane and
 * returns; inputs and outputs are in the accelerator's memory, but for those that the kernel wants on the
 * host (host_inputs, host_outputs).
 *
 * This header is valid C11 and C++, so that nvcc can read it.
 *
 * Life: supports() when a partition is registered → create() → prepare() → compute() once a run (in a
 * loop, once an iteration), on any thread, several at the same time → destroy(). State made by create() is
 * immutable while runs use it.
 *
 * Errors: compute() reports them with call_fail(context->call, …); the runtime adds the node's name,
 * unless the kernel blames another node (call_blame()). */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"
#include "worker/runtime/device.h"
#include "worker/runtime/element.h"

typedef struct ResourceContainer ResourceContainer;
typedef struct Library Library;
typedef struct KernelMoves KernelMoves;
typedef struct VariableVisit VariableVisit; /* variable.h */

/* Memory that was planned for the outputs of a run before it started (implemented by memory/run_memory.h). */
typedef struct PlannedMemory PlannedMemory;
struct PlannedMemory {
    /* Returns the buffer planned for an output of `size` bytes, or NULL: nothing was planned, or the bytes
     * are still in use. */
    TensorBuffer *(*take)(PlannedMemory *memory, const Node *node, uint32_t port, size_t size);

    /* Returns whether the output may take over `buffer` from an input. It may not when the plan gives the
     * same bytes to another tensor before this output ends. */
    bool (*may_pass)(
        const PlannedMemory *memory, const Node *node, uint32_t port, const TensorBuffer *buffer);
};

typedef struct KernelContext {
    Call *call;
    Device *device;        /* the node's */
    Device *host;          /* makes what host_outputs names; NULL: `device` is the host */
    DeviceLane *lane;      /* the run's, of the accelerator; NULL: the run uses none */
    uint32_t host_outputs; /* the kernel's */
    bool allows_tf32; /* float32 may be multiplied in TF32: the session asks for it, and the worker lets it */
    const Node *node;
    const void *state;            /* made by create() */
    ResourceContainer *container; /* resources of the session (resource.h); NULL: the run has no session */
    Library *library;    /* functions that the node may call (library.h), or NULL; set for start() only */
    uint32_t call_depth; /* depth of nested function calls of the run; set for start() only */
    const struct IterationTrace *trace; /* the record that the node is in (run/trace.h); NULL: the run is not
                                         * traced; set for start() only */
    uint64_t *computed_ns; /* atomic: device time of the run, to which a kernel that starts runs adds theirs;
                            * set for start() only */
    PlannedMemory *memory; /* NULL: nothing was planned */
    const MemoryAccount *account; /* the account of the run (memory_account.h), or NULL */
    const KernelMoves *moves;     /* how elements are moved in memory that the host cannot read; NULL: by the
                                   * host (worker/reference/moves.h) */
    VariableVisit *visit;         /* NULL: all variables have their elements on the host */

    /* Data inputs in order; dtype DTYPE_INVALID for an absent optional one. kernel_forward() may move an
     * input's buffer to an output. */
    Tensor *inputs;
    uint32_t input_count;

    /* The kernel fills outputs by kernel_output(), kernel_forward() or by storing a referenced tensor. An
     * output left DTYPE_INVALID is dead, which only a Switch may have. */
    Tensor *outputs;
    uint32_t output_count;
} KernelContext;

/* A computation that completes later, started by start(). Valid until kernel_complete(). */
typedef struct KernelPromise KernelPromise;
struct KernelPromise {
    KernelContext context;
    /* Set by the runtime; kernels call kernel_complete(). */
    void (*complete)(KernelPromise *promise, Status status);
    void *waiting; /* free for the kernel's use */
};

/* Tells the memory plan where a kernel's outputs come from (memory_values.h). A wrong value costs memory,
 * never a wrong result. */
typedef enum KernelSharing {
    KERNEL_MAKES, /* new memory: kernel_output() */
    /* Output 0 may reuse the memory of an input (kernel_forward()): the first one, or the second when that
     * has more elements. */
    KERNEL_FORWARDS,
    KERNEL_PASSES, /* output i is input i when both have one dtype: kernel_alias() */
    KERNEL_LENDS,  /* memory that lives on elsewhere: in a variable or a list */
} KernelSharing;

/* The facts about a node that are known before a run, for the memory plan (memory_plan.c). */
typedef struct KernelForecast {
    Call *call; /* a call for shape inference; its errors are ignored */
    Device *device;
    const void *state;
    /* Input shapes are all known, output shapes as far as inference could tell; only constants have
     * values. */
    InferContext shapes;
} KernelForecast;

/* One of a group of an accelerator's element-wise nodes. Values are numbered: first the inputs of the group,
 * then the results of its members. */
typedef struct KernelMember {
    const Node *node;
    const void *state;      /* of the node's kernel */
    const uint32_t *values; /* that the node reads, one for each input */
} KernelMember;

/* A group whose results nobody else reads but for the last one's (partition/fuse.c). */
typedef struct KernelGroup {
    const KernelMember *members; /* topological order */
    uint32_t member_count;
    const Dtype *inputs; /* dtypes of the group's inputs */
    uint32_t input_count;
} KernelGroup;

/* How an accelerator computes a group at once. No bit of the result may differ from what its nodes give one
 * by one. */
typedef struct KernelFusion {
    /* Returns whether the node may be in a group. It refuses no element, and its output has the shape to
     * which its inputs broadcast. */
    bool (*may_join)(const Node *node);

    /* Makes the state of a group's kernel, which need not be ready when this returns. NULL: the device cannot
     * compute this group at once. */
    Status (*create)(Call *call, const KernelGroup *group, void **ret_state);
    void (*destroy)(void *state);

    /* Enqueues the group's kernel and makes the output; *ret_is_done false: it is not there yet, or not for
     * these shapes, and the nodes are to be computed one by one. */
    Status (*compute)(KernelContext *context, void *state, bool *ret_is_done);
} KernelFusion;

typedef struct Kernel {
    const char *op; /* "MatMul", "onnx::Conv" */

    /* Returns whether this kernel can compute this node (dtypes, attributes). NULL: always. */
    bool (*supports)(const Node *node);

    /* Reads attributes and makes the state. NULL: no state. */
    Status (*create)(Call *call, const Node *node, void **ret_state);
    void (*destroy)(void *state);

    /* Gets the values of the constant inputs (NULL for the others) before the first run, to lay weights
     * out as the kernel wants them. The values outlive the state. NULL: not needed. */
    Status (*prepare)(
        Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state);

    Status (*compute)(KernelContext *context);

    /* Called when an input is dead (DTYPE_INVALID): all outputs will be dead, but a fused node still
     * computes those of its nodes that no dead input reaches, because they may fail. NULL: nothing to
     * compute. */
    Status (*compute_dead)(KernelContext *context);

    /* Replaces compute() in kernels that wait (barriers, queues, calls of functions): starts the work,
     * never blocks, and makes sure that kernel_complete() is called exactly once, on any thread, possibly
     * before start() returns. */
    void (*start)(KernelPromise *promise);

    /* Asks the kernel to complete soon, with any status, because the run has ended otherwise. Called at
     * most once, on any thread, possibly before start() returned or just after the promise completed; the
     * promise stays valid until cancel() returns. NULL: the kernel completes soon anyway. */
    void (*cancel)(KernelPromise *promise);

    /* Describes the node as an element function, so that it can be fused with its neighbours
     * (worker/runtime/partition/fuse.c). False: not possible for this node. NULL: never possible. A kernel
     * with an element function has no state. */
    bool (*element)(const Node *node, ElementFunction *ret_function);

    /* The same in kernels of an accelerator, whose nodes have states; they need no prepare(). NULL: never
     * possible. */
    const KernelFusion *fusion;

    /* Bit i set: input or output i is in host memory even on a device with memory of its own; bit 31: so are
     * all from the 31st on. On the host, an output's bit says that it is small and about shapes. */
    uint32_t host_inputs;
    uint32_t host_outputs;
    bool is_last_on_host; /* so is the last input, whatever its number is (the axis of ConcatV2) */

    /* Bit i set, in kernels of the host: compute() does not read the elements of input i, which may lie in
     * any memory (Shape), or only passes them on (Identity); with KERNEL_PASSES, output i lies where it does.
     */
    uint32_t any_inputs;

    /* compute() reads or changes elements of variables (variable.h). With KERNEL_LENDS it returns a
     * variable's value. */
    bool visits_variables;

    /* compute() makes, reads or changes a list of tensors by its handle. On a worker with an accelerator that
     * has a kernel for a list op of some dtype, all elements of that dtype lie there, whatever else the graph
     * asks for: what reads an element cannot know who wrote it. */
    bool handles_list;

    /* start() calls functions of the library. On a worker with an accelerator all floating inputs and outputs
     * of functions lie there, and of the nodes that call them: what is large in a function is thought to be
     * computed there. */
    bool calls_functions;

    /* Never worth handing to another thread (Identity, Shape, Reshape). The cost of other kernels is
     * measured. */
    bool is_cheap;

    KernelSharing sharing;

    /* Returns the most bytes of device memory that compute() holds at once beside inputs and outputs, with
     * all of the device's threads at work; 0: not known. NULL: given by the bits below. */
    uint64_t (*scratch)(const KernelForecast *forecast);

    /* Bit i set: while computing, the kernel holds a copy of input or output i in double precision
     * (kernel_wide_size()). */
    uint32_t wide_inputs;
    uint32_t wide_outputs;
} Kernel;

#define KERNEL_WIDENS_ALL UINT32_MAX

typedef struct KernelFamily {
    const Kernel *kernels;
    size_t kernel_count;
    const char *file;
} KernelFamily;

/* Returns the bit for an input or output (host_outputs, any_inputs). */
static inline bool
kernel_bit(uint32_t bits, uint32_t index)
{
    return (bits >> (index < 31 ? index : 31) & 1) != 0;
}

/* Returns whether the kernel wants this input of the node on the host. */
static inline bool
kernel_wants_host(const Kernel *kernel, const Node *node, uint32_t input)
{
    return kernel_bit(kernel->host_inputs, input) ||
           (kernel->is_last_on_host && input + 1 == node->input_count);
}

/* Completes what start() began. After a failure, the reason is in the call of the context (call_fail). */
static inline void
kernel_complete(KernelPromise *promise, Status status)
{
    promise->complete(promise, status);
}

/* Makes output `index` with new memory of the device. RESOURCE_EXHAUSTED, with the sizes in the message. */
MUST_USE Status kernel_output(
    KernelContext *context, uint32_t index, Dtype dtype, const Shape *shape, Tensor **ret_output);

/* kernel_forward() and kernel_alias() take the reference that inputs[input] holds: its buffer becomes
 * NULL, its elements stay readable until compute() returns. */

/* Makes an output from the buffer of an input when nobody else holds that buffer and the byte sizes are
 * equal (the shapes may differ); else with new memory. For element-wise kernels. */
MUST_USE Status kernel_forward(KernelContext *context, uint32_t input, uint32_t index, Dtype dtype,
    const Shape *shape, Tensor **ret_output);

/* Makes an output from the elements of an input under another shape (Identity, Reshape, Squeeze), without
 * a copy. */
void kernel_alias(KernelContext *context, uint32_t input, uint32_t index, const Shape *shape);

/* Reads an integer input (any integer dtype) of at most `capacity` elements: axes, shapes, paddings. */
MUST_USE Status kernel_input_ints(
    KernelContext *context, uint32_t input, int64_t *ret_values, size_t capacity, size_t *ret_count);

/* Returns how many bytes the chosen inputs and outputs (bit i: number i) take in double precision, complex
 * ones in complex128. */
uint64_t kernel_wide_size(const KernelForecast *forecast, uint32_t inputs, uint32_t outputs);

/* Returns the kernel for a node on the device: the first that supports it, in the order of registration; on
 * the host, fast ones (worker/cpu/kernels) before the reference kernel. NULL when there is none. */
const Kernel *kernel_find(const Device *device, const Node *node);

/* Returns the op's first reference kernel, whatever nodes it supports: its inputs and outputs on the host are
 * the op's. NULL when there is none. */
const Kernel *kernel_reference(Slice op);

/* Adds the kernels of an accelerator of this type. Called before the first partition is compiled. The
 * families live as long as the process, or until kernel_unregister(). */
MUST_USE Status kernel_register(
    Call *call, const char *type, const KernelFamily *const *families, size_t family_count);
void kernel_unregister(const char *type);

/* Returns the reference kernel, for a fast kernel that learns only from its inputs that it cannot compute
 * a node. NULL when there is none. */
const Kernel *kernel_find_reference(const Node *node);

/* Returns the fast kernel that the host has for a node; NULL when only a reference kernel computes it. */
const Kernel *kernel_find_fast(const Node *node);

#ifdef __cplusplus
#define KERNEL_FAMILY(prefix, name, table)                                                                   \
    extern "C" {                                                                                             \
    extern const KernelFamily prefix##_##name;                                                               \
    }                                                                                                        \
    const KernelFamily prefix##_##name = {(table), COUNT_OF(table), __FILE__}
#else
#define KERNEL_FAMILY(prefix, name, table)                                                                   \
    extern const KernelFamily prefix##_##name;                                                               \
    const KernelFamily prefix##_##name = {                                                                   \
        .kernels = (table), .kernel_count = COUNT_OF(table), .file = __FILE__}

extern const KernelFamily *const reference_table[];
extern const size_t reference_table_count;
extern const KernelFamily *const cpu_kernels_table[];
extern const size_t cpu_kernels_table_count;
#endif
