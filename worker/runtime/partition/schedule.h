/* The inside of a Partition, for the files of this directory that build and run it: flat arrays indexed by
 * the graph's node ids.
 *
 * Nodes are divided into frames: the root, and one for each loop. Running a frame takes one cell and some
 * tensor slots for each of its nodes, once for the root and once an iteration for a loop. A cell has a word
 * that counts what the node still waits for (low 32 bits) and the dead inputs it got (above); a slot is one
 * data input. Both are numbered within their frame. An edge says into which slot of which cell an output
 * goes. Constants without control inputs are no nodes of the schedule: they are put into their consumers'
 * slots when those run. */
#pragma once

#include "shared/base/mutex.h"
#include "shared/graph/frames.h"
#include "worker/runtime/kernel.h"

typedef enum ScheduleKind {
    SCHEDULE_KERNEL,
    SCHEDULE_PROMISE, /* a kernel that completes later */
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
    SCHEDULE_FORWARD, /* LoopCond: its input */
    SCHEDULE_TRIGGER, /* ControlTrigger: live whatever its inputs are */
    SCHEDULE_NOTHING, /* NoOp */
} ScheduleKind;

/* Cell and slot are those of the frame where the producer's outputs go. */
typedef struct ScheduleEdge {
    uint32_t cell;
    uint32_t slot; /* SLOT_NONE for a control edge */
    uint32_t port;
    bool is_last; /* of its port: takes the tensor instead of a reference */
    bool to_merge;
    bool is_entry; /* out of an Enter: dead, it kills a Merge at once */
} ScheduleEdge;

static const uint32_t SLOT_NONE = UINT32_MAX;

typedef struct ScheduleConstant {
    uint32_t input;
    const Tensor *value;
} ScheduleConstant;

typedef struct ScheduleNode {
    ScheduleKind kind;
    bool is_cheap; /* never handed to another thread */
    const Node *node;
    const Kernel *kernel;
    void *state;
    const Tensor *value; /* of a constant */
    uint32_t slot;       /* of its first input */
    uint32_t
        output_slot; /* where its outputs are made when they are too many for the stack, else SLOT_NONE */
    uint32_t frame;  /* where it runs */
    uint32_t cell;
    uint32_t child; /* the frame that an Enter opens */
    uint32_t index; /* of an arg or retval; within its frame of a Send or Recv, an Exit, a NextIteration; of a
                       constant Enter within the frame it opens, SLOT_NONE for one that is not */
    Slice key;      /* of a Send or Recv: "<send device>;<receive device>;<tensor>;", and in the root "0:0" */
    const ScheduleEdge *edges; /* data edges first */
    uint32_t edge_count;
    uint32_t constant_count;
    const ScheduleConstant *constants;
    uint32_t reference_count;
    const uint32_t *references; /* inputs that want the value of a variable and get its handle */
} ScheduleNode;

enum { STACK_OUTPUTS = 8, LOOP_BYTES_MAX = 64 << 20 };

typedef struct ScheduleFrame {
    Slice name;
    uint32_t number; /* among the partition's frames */
    uint32_t parent;
    uint32_t depth;
    uint32_t parallel_iterations;
    uint32_t child_index; /* among the frames of the same parent */
    uint32_t child_count;
    uint32_t cell_count;
    uint32_t slot_count;
    uint32_t *nodes;   /* by cell */
    uint64_t *initial; /* the words an iteration starts with, by cell */
    uint32_t transfer_count;
    uint32_t *receives; /* nodes */
    uint32_t receive_count;
    size_t path_size; /* bytes that the longest "<frame>:<iteration>" may take; see iteration.h */
    size_t key_size;  /* of the longest key of a transfer, with that path */
    uint32_t enter_count;
    uint32_t constant_count; /* constant Enters among them */
    uint32_t *exits;         /* nodes */
    uint32_t exit_count;
    uint32_t *nexts; /* nodes */
    uint32_t next_count;
    uint32_t *constants; /* nodes */
} ScheduleFrame;

typedef struct Partition Partition;
typedef struct Run Run;
typedef struct MemoryPlan MemoryPlan;

enum { PARTITION_PLANS_MAX = 8 };

/* Things that runs leave at their partition for the next ones. The runs make, use and free them
 * (run/run_state.c, run/run_admission.c). */
typedef struct RunPool {
    Mutex lock; /* guards the rest */
    Run *idle;
    uint32_t idle_count;
    MemoryPlan *plans[PARTITION_PLANS_MAX]; /* for feeds of different shapes */
    uint32_t next_plan;                     /* index of the one that the next replaces */
    uint64_t planning_ns;                   /* spent so far */
    void (*empty)(Partition *partition);    /* frees what is here; NULL: nothing ever was */
} RunPool;

struct Partition {
    int32_t reference_count; /* atomic */
    Arena *arena;
    Graph *graph;
    Device *device;
    ScheduleNode *nodes;
    uint32_t node_count;
    ScheduleFrame *frames; /* the root first, an outer one before those inside it */
    uint32_t frame_count;  /* 1: a static schedule, no loops */
    size_t loop_bytes_max; /* what iterations of a run may take before each loop has one at a time */
    uint32_t *roots;
    uint32_t root_count;
    uint32_t *args; /* node of each */
    uint32_t arg_count;
    uint32_t *retvals;
    uint32_t retval_count;
    uint32_t transfer_count;
    bool has_arena; /* runs share memory as the memory plan says */
    size_t constant_bytes;
    Library *library; /* what its nodes may call; NULL: nothing. A function's body has its caller's */

    uint32_t *costs;     /* atomic: moving averages in ns, COST_UNKNOWN before the first time */
    uint64_t total_cost; /* atomic: their sum, the unknown counted as COST_GUESS */
    uint32_t run_count;  /* atomic: decides which runs measure cheap nodes */
    RunPool pool;
};

static const uint32_t COST_UNKNOWN = UINT32_MAX;
enum { COST_GUESS = 300 * 1000 }; /* ns: so much that nothing unknown runs on an event loop (run.c) */

/* Makes a partition without nodes, for compile.c to fill in. One reference, the caller's. */
MUST_USE Status partition_new(Call *call, Device *device, Partition **ret_partition);
