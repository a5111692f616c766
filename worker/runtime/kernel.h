/* One way to compute one op on one device. A kernel.c in shared/ops (the simple kernels that define what
 * is right), worker/cpu/kernels (fast ones) or worker/cuda/kernels holds a family of them.
 * Read by nvcc too: valid C11 and C++.
 *
 * Life: supports() when a partition is registered → create() → prepare() → compute() once a run (in a loop,
 * once an iteration), on any thread, several at the same time → destroy(). State made by create() is
 * immutable while runs use it.
 *
 * Errors: compute() explains itself with call_fail(context->call, …); the runtime adds the node's name,
 * unless the kernel blames another node (call_blame()). */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"
#include "worker/runtime/device.h"
#include "worker/runtime/element.h"

typedef struct ResourceContainer ResourceContainer;
typedef struct Library Library;

/* Bytes that were planned for a run's outputs before it started (memory/run_memory.h has the only one). */
typedef struct PlannedMemory PlannedMemory;
struct PlannedMemory {
    /* Returns the buffer planned for an output of `size` bytes, or NULL: there is none, or its bytes are
     * still in use. */
    TensorBuffer *(*take)(PlannedMemory *memory, const Node *node, uint32_t port, size_t size);

    /* Returns whether the output may take over an input's `buffer`: bytes that were planned for other tensors
     * too must not be kept longer than the plan says. */
    bool (*may_pass)(
        const PlannedMemory *memory, const Node *node, uint32_t port, const TensorBuffer *buffer);
};

typedef struct KernelContext {
    Call *call;
    Device *device;
    const Node *node;
    const void *state;            /* what create() made */
    ResourceContainer *container; /* what the session keeps here (resource.h); NULL: the run has no session */
    Library *library;      /* of start() alone: the functions that the node may call (library.h), or NULL */
    uint32_t call_depth;   /* of start() alone: how many calls of functions the run is inside of */
    PlannedMemory *memory; /* NULL: nothing was planned */
    const MemoryAccount *account; /* the run's (memory_account.h), or NULL */

    /* Data inputs in order; dtype DTYPE_INVALID for an absent optional one. An input may be taken over for
     * the output when kernel_forward() allows it. */
    Tensor *inputs;
    uint32_t input_count;

    /* The kernel fills outputs by kernel_output(), kernel_forward() or by storing a referenced tensor. One
     * left DTYPE_INVALID is a dead output, which only a Switch may have. */
    Tensor *outputs;
    uint32_t output_count;
} KernelContext;

/* The state of a kernel that completes later. It lives until kernel_complete(). */
typedef struct KernelPromise KernelPromise;
struct KernelPromise {
    KernelContext context;
    void (*complete)(KernelPromise *promise, Status status); /* the runtime's; see kernel_complete() */
    void *waiting;                                           /* the kernel's own */
};

/* Tells the memory plan whose memory a kernel's outputs are (memory_values.h). A kernel that says it
 * wrongly costs memory, never a result. */
typedef enum KernelSharing {
    KERNEL_MAKES,    /* its own: kernel_output() */
    KERNEL_FORWARDS, /* output 0 may be an input's that ends here: kernel_forward(), of the first input, or of
                        the second when that has more elements */
    KERNEL_PASSES,   /* output i is input i, where they are of one dtype: kernel_alias() */
    KERNEL_LENDS,    /* somebody's who keeps it: a variable's, a list's */
} KernelSharing;

/* Facts that a kernel is told before a run, for the memory plan (memory_scratch.h). */
typedef struct KernelForecast {
    Call *call; /* for the ops' rules: nobody reads why one failed */
    Device *device;
    const void *state;
    InferContext shapes; /* inputs' all known, outputs' as far as rules tell; values of constants alone */
} KernelForecast;

typedef struct Kernel {
    const char *op; /* "MatMul", "onnx::Conv" */

    /* Returns whether this kernel can compute this node (dtypes, attributes). NULL: always. */
    bool (*supports)(const Node *node);

    /* Reads attributes, prepares weights. NULL: no state. */
    Status (*create)(Call *call, const Node *node, void **ret_state);
    void (*destroy)(void *state);

    /* Sees the values of its constant inputs (NULL for the others) before the first run, to lay weights out
     * as it wants them. They outlive the state. NULL: no need. */
    Status (*prepare)(
        Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state);

    Status (*compute)(KernelContext *context);

    /* One of the inputs is dead (DTYPE_INVALID), and so are the outputs: computes what of the node would run
     * all the same, for the errors that this may have. NULL: nothing would. */
    Status (*compute_dead)(KernelContext *context);

    /* Instead of compute(), for what waits (barriers, queues, calls of functions): begins, never blocks, and
     * sees to it that kernel_complete() is called exactly once, on any thread, perhaps before it returns. */
    void (*start)(KernelPromise *promise);

    /* The run has ended otherwise: complete soon, with any status. Comes once at most, on any thread, perhaps
     * before start() returned or when the promise has just been completed; it is there until this returns.
     * NULL: completes soon anyway. */
    void (*cancel)(KernelPromise *promise);

    /* Tells the node's element-by-element function, so that a neighbour can compute it on the way
     * (fuse.h). False: not for this node, which the kernel supports. NULL: never. Such a kernel makes no
     * state. */
    bool (*element)(const Node *node, ElementFunction *ret_function);

    /* Arguments that live in host memory on a device that is not the host: bit i stands for input or
     * output i. */
    uint32_t host_inputs;
    uint32_t host_outputs;

    /* Never worth a hand-over to another thread (Identity, Shape, Reshape). Others are measured. */
    bool is_cheap;

    KernelSharing sharing;

    /* The most bytes of the device's memory that compute() will hold at once beside inputs and outputs; on
     * several threads, with all of them at work. 0 when nobody can tell. NULL: what the bits below say. */
    uint64_t (*scratch)(const KernelForecast *forecast);

    /* Bit i set = while it computes it has a copy of input or output i as kernel_wide_size() counts. */
    uint32_t wide_inputs;
    uint32_t wide_outputs;
} Kernel;

#define KERNEL_WIDENS_ALL UINT32_MAX

typedef struct KernelFamily {
    const Kernel *kernels;
    size_t kernel_count;
    const char *file; /* the source file that defines them */
} KernelFamily;

/* Ends what start() began. When it failed, the reason is in the context's call (call_fail). */
static inline void
kernel_complete(KernelPromise *promise, Status status)
{
    promise->complete(promise, status);
}

/* Makes a new output of this dtype and shape in the device's memory. RESOURCE_EXHAUSTED with sizes. */
MUST_USE Status kernel_output(
    KernelContext *context, uint32_t index, Dtype dtype, const Shape *shape, Tensor **ret_output);

/* kernel_forward() and kernel_alias() take the reference that inputs[input] holds: its elements stay readable
 * through the input until compute() returns, its buffer is NULL then. */

/* The output takes over input `input`'s buffer when nobody else holds it and the byte sizes are equal (the
 * shapes may differ); a new one otherwise. For element-wise kernels. */
MUST_USE Status kernel_forward(KernelContext *context, uint32_t input, uint32_t index, Dtype dtype,
    const Shape *shape, Tensor **ret_output);

/* The output is the input's elements under another shape (Identity, Reshape, Squeeze): no copy. */
void kernel_alias(KernelContext *context, uint32_t input, uint32_t index, const Shape *shape);

/* Reads an integer input (any integer dtype) of at most `capacity` elements: axes, shapes, paddings. */
MUST_USE Status kernel_input_ints(
    KernelContext *context, uint32_t input, int64_t *ret_values, size_t capacity, size_t *ret_count);

/* Bytes of these inputs (bit i set = input i) and outputs in double, complex numbers in complex128. */
uint64_t kernel_wide_size(const KernelForecast *forecast, uint32_t inputs, uint32_t outputs);

/* The kernel for a node on the CPU: the first fast one (worker/cpu/kernels) that supports it, else the
 * reference; NULL when there is none. */
const Kernel *kernel_find(const Node *node);

/* The reference's: for what a fast kernel finds out only when it computes. NULL when there is none. */
const Kernel *kernel_find_reference(const Node *node);

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
