/* The inside of a Partition, for the files that build and run it: flat arrays indexed by the graph's node
 * ids.
 *
 * Nodes are divided into frames: the root, and one for each loop. Each node has one cell and some tensor
 * slots in its frame; the root's exist once in a run, a loop's once in each iteration. A cell is a word
 * that counts the inputs the node still waits for (low 32 bits) and the dead inputs it has got (above); a
 * slot holds one data input. Both are numbered within their frame. An edge names the cell and the slot
 * that an output goes to. Constants without control inputs are not scheduled: they are put into their
 * consumers' slots when those run. */
#pragma once

#include "shared/base/mutex.h"
#include "shared/graph/frames.h"
#include "worker/runtime/captures.h"
#include "worker/runtime/kernel.h"
#include "worker/runtime/partition/weights.h"

typedef enum ScheduleKind {
    SCHEDULE_KERNEL,
    SCHEDULE_PROMISE, /* a kernel with start(), which completes later */
    SCHEDULE_STATIC,  /* a constant bound at compile time; never runs */
    SCHEDULE_CONST,   /* a constant that waits for control inputs, or that a Merge takes */
    SCHEDULE_ARG,
    SCHEDULE_RETVAL,
    SCHEDULE_SEND,
    SCHEDULE_RECV,
    SCHEDULE_SWITCH,
    SCHEDULE_MERGE,
    SCHEDULE_ENTER,
    SCHEDULE_EXIT,
    SCHEDULE_NEXT,
    SCHEDULE_FORWARD, /* LoopCond: passes its input on */
    SCHEDULE_TRIGGER, /* ControlTrigger: live even when its inputs are dead */
    SCHEDULE_NOTHING, /* NoOp */
} ScheduleKind;

/* `cell` and `slot` are those of the consumer, in the frame that the producer's outputs go to. */
typedef struct ScheduleEdge {
    uint32_t cell;
    uint32_t slot; /* SLOT_NONE for a control edge */
    uint32_t port;
    bool is_last; /* the last edge of its port, which moves the tensor; earlier ones add a reference */
    bool to_merge;
    /* Comes from an Enter; if dead, a Merge is dead at once, without waiting for its NextIteration. */
    bool is_entry;
} ScheduleEdge;

static const uint32_t SLOT_NONE = UINT32_MAX;

typedef struct ScheduleConstant {
    uint32_t input;
    const Tensor *value;
} ScheduleConstant;

typedef struct SchedulePart SchedulePart;

typedef struct ScheduleNode {
    ScheduleKind kind;
    bool is_cheap; /* never handed to another thread */
    const Node *node;
    const Kernel *kernel;
    Device *device;     /* computes the kernel */
    uint16_t *memories; /* by output: the memory in which it lies; NULL without an accelerator */
    uint16_t floats_in; /* of a call, or a Retval of a function: the memory of its floating inputs */
    bool is_kept;       /* on the host, because it is about shapes, though the accelerator has a kernel */
    bool lacks_kernel;  /* the host computes it only because the accelerator has no kernel for it */
    const char *reason; /* why the host computes it though there is an accelerator; NULL: nothing to say */
    void *state;
    const Tensor *value; /* value of a constant, on the host */
    Slice blob; /* the digest of the blob that the value is, in any shape, and what was made of it; empty: it
                   is none */
    const Tensor *uploaded; /* the value in the accelerator's memory; NULL: nobody reads it there */
    uint32_t slot;          /* slot of the first input; the others follow */
    /* The first slot of its outputs, when they are more than STACK_OUTPUTS; else SLOT_NONE. */
    uint32_t output_slot;
    uint32_t frame; /* the frame that it runs in */
    uint32_t cell;
    uint32_t child; /* the frame that its outputs go to: for an Enter, the loop that it opens */
    /* The number of an arg or retval; of a Send or Recv, an Exit or a NextIteration: its number within its
     * frame; of a constant Enter: its number within the loop that it opens, and SLOT_NONE for other
     * Enters. */
    uint32_t index;
    /* Rendezvous key of a Send or Recv: "<send device>;<receive device>;<tensor>;", completed by "0:0" in
     * the root and by the iteration in a loop. */
    Slice key;
    const ScheduleEdge *edges; /* data edges first */
    uint32_t edge_count;
    uint32_t constant_count;
    const ScheduleConstant *constants;
    uint32_t reference_count;
    const uint32_t *references; /* inputs that want a value and get the handle of a variable */
    SchedulePart *part;         /* that it is a member of; NULL: none */
} ScheduleNode;

/* A member of a part. Its rows of edges are copies of the node's, for runs that compute all members before
 * anything outside goes on. */
typedef struct PartMember {
    uint32_t node;
    ScheduleNode inner; /* with the edges to other members */
    ScheduleNode outer; /* with the edges that leave the part */
} PartMember;

/* A value that members read from outside of the part. */
typedef struct PartInput {
    Endpoint from;
    uint32_t slot_count;
    uint32_t *slots;
    bool is_read_on_host; /* what members enqueue, or give out on the host, depends on its elements */
} PartInput;

/* A value of a member that is read outside of the part. */
typedef struct PartOutput {
    uint32_t member;
    uint32_t port;
} PartOutput;

/* Nodes of one frame that run as one, in the order of the graph, when all that they read from outside has
 * come: the accelerator's, with those between them that are about shapes or only pass values on. They all
 * wait for the same feeds and peers, and are dead together (parts.c).
 *
 * The first member's cell counts the edges from outside of the part; the cells of the others never come to
 * zero. */
struct SchedulePart {
    SchedulePart *next;
    PartMember *members;
    uint32_t member_count;
    uint32_t launch_count; /* members that the accelerator computes */
    PartInput *inputs;
    uint32_t input_count;
    PartOutput *outputs;
    uint32_t output_count;
    CaptureSite site;
};

enum { STACK_OUTPUTS = 8, LOOP_BYTES_MAX = 64 << 20 };

typedef struct ScheduleFrame {
    Slice name;
    uint32_t number; /* index in the partition's frames */
    uint32_t parent;
    uint32_t depth;
    uint32_t parallel_iterations;
    uint32_t child_index; /* index among the frames of the same parent */
    uint32_t child_count;
    uint32_t cell_count;
    uint32_t slot_count;
    uint32_t *nodes;   /* node of each cell */
    uint64_t *initial; /* word that an iteration starts with, for each cell */
    uint32_t transfer_count;
    uint32_t *receives;
    uint32_t receive_count;
    size_t path_size; /* bytes of the longest "<frame>:<iteration>" path (iteration.h) */
    size_t key_size;  /* bytes of the longest key of a transfer, path included */
    uint32_t enter_count;
    uint32_t constant_count; /* Enters with is_constant */
    uint32_t *exits;
    uint32_t exit_count;
    uint32_t *nexts;
    uint32_t next_count;
    uint32_t *constants; /* constant Enter nodes */
} ScheduleFrame;

typedef struct Partition Partition;
typedef struct Run Run;
typedef struct MemoryPlan MemoryPlan;

enum { PARTITION_PLANS_MAX = 8 };

/* Objects that a run leaves with its partition for later runs. Only runs make, use and free them
 * (run/run_state.c, run/run_admission.c). */
typedef struct RunPool {
    Mutex lock; /* guards all members */
    Run *idle;
    uint32_t idle_count;
    MemoryPlan *plans[PARTITION_PLANS_MAX]; /* plans for feeds of different shapes */
    uint32_t next_plan;                     /* index of the plan that the next one replaces */
    uint64_t planning_ns;                   /* time spent on planning so far */
    void (*empty)(Partition *partition);    /* frees all that is in the pool; NULL: it was never used */
} RunPool;

struct Partition {
    int32_t reference_count; /* atomic */
    Arena *arena;
    Graph *graph;
    Device *device;      /* the host: runs nodes, and computes those that are not the accelerator's */
    Device *accelerator; /* NULL: no node is the accelerator's */
    Device *visited;     /* the worker's accelerator, in whose memory variables may lie; NULL: it has none */
    Weights *weights;    /* where its blobs lie in the accelerator's memory; NULL: it shares none */
    uint64_t tenant;     /* whose it is, as in memory_account.h; 0: not known */
    ScheduleNode *nodes;
    uint32_t node_count;
    SchedulePart *parts; /* NULL: each node runs alone */
    Captures
        *captures; /* the accelerator's, which keeps what was captured of the parts; NULL: there are none */
    ScheduleFrame *frames; /* the root first, each loop before the loops inside it */
    uint32_t frame_count;  /* 1: no loops */
    /* Bytes of a run's iterations above which each loop runs one iteration at a time. */
    size_t loop_bytes_max;
    uint32_t *roots;
    uint32_t root_count;
    uint32_t *args; /* node of each arg, by its index */
    uint32_t arg_count;
    uint32_t *retvals;
    uint32_t retval_count;
    uint32_t transfer_count;
    bool has_arena;        /* runs plan their memory (memory_plan.h) */
    bool allows_tf32;      /* so does the worker's accelerator (KernelContext) */
    bool is_function;      /* the body of one: a run of it is a call */
    size_t constant_bytes; /* of its own: blobs are their source's */
    /* Functions that its nodes may call; NULL: none. The body of a function shares the library of its
     * caller. */
    Library *library;

    /* Atomic, by node: moving average in ns; before the first measurement COST_UNKNOWN, or COST_DEAD once it
     * was dead in a run. */
    uint32_t *costs;
    uint64_t
        total_cost; /* atomic: the sum of `costs`, with COST_GUESS for the unknown ones, 0 for dead ones */
    uint32_t run_count; /* atomic: runs started; every so many, a run measures its fast nodes too */
    RunPool pool;
};

static const uint32_t COST_UNKNOWN = UINT32_MAX;
static const uint32_t COST_DEAD = UINT32_MAX - 1;
enum { COST_GUESS = 300 * 1000 }; /* ns: more than any run may cost that starts on an event loop (run.c) */

/* Makes a partition without nodes, for compile.c to fill in; one reference, owned by the caller. */
MUST_USE Status partition_new(Call *call, DeviceSet devices, Partition **ret_partition);
