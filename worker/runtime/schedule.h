/* The inside of a Partition, for the files of this directory that build and run it: flat arrays indexed by
 * the graph's node ids.
 *
 * A run keeps one word and some tensor slots for each node. The word counts what the node still waits for
 * (low 32 bits) and the dead inputs it got (above); a slot is one data input. An edge says into which slot of
 * which node an output goes. Constants without control inputs are no nodes of the schedule: they are put into
 * their consumers' slots when those run. */
#pragma once

#include <pthread.h>

#include "worker/runtime/kernel.h"
#include "worker/runtime/partition.h"

typedef enum ScheduleKind {
    SCHEDULE_KERNEL,
    SCHEDULE_STATIC, /* a constant bound at compile time; never runs */
    SCHEDULE_CONST,  /* a constant that waits for control inputs, or that a Merge takes */
    SCHEDULE_ARG,
    SCHEDULE_RETVAL,
    SCHEDULE_SEND,
    SCHEDULE_RECV,
    SCHEDULE_SWITCH,
    SCHEDULE_MERGE,
    SCHEDULE_TRIGGER, /* ControlTrigger: live whatever its inputs are */
    SCHEDULE_NOTHING, /* NoOp */
} ScheduleKind;

typedef struct ScheduleEdge {
    uint32_t node;
    uint32_t slot; /* SLOT_NONE for a control edge */
    uint32_t port;
    bool is_last; /* of its port: takes the tensor instead of a reference */
    bool to_merge;
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
    uint32_t index;  /* of an arg or retval; of a Send or Recv among them */
    const ScheduleEdge *edges; /* data edges first */
    uint32_t edge_count;
    uint32_t constant_count;
    const ScheduleConstant *constants;
} ScheduleNode;

enum { STACK_OUTPUTS = 8 };

typedef struct Run Run;

struct Partition {
    int32_t reference_count; /* atomic */
    Arena *arena;
    Graph *graph;
    Device *device;
    ScheduleNode *nodes;
    uint32_t node_count;
    uint32_t scheduled_count; /* without SCHEDULE_STATIC */
    uint64_t *initial;        /* the words a run starts with */
    uint32_t *roots;
    uint32_t root_count;
    uint32_t slot_count;
    uint32_t *args; /* node of each */
    uint32_t arg_count;
    uint32_t *retvals;
    uint32_t retval_count;
    uint32_t *receives; /* nodes */
    uint32_t receive_count;
    Slice *keys; /* of each transfer in the root frame, by ScheduleNode.index */
    uint32_t transfer_count;
    size_t constant_bytes;

    uint32_t *costs;     /* atomic: moving averages in ns, COST_UNKNOWN before the first time */
    uint64_t total_cost; /* atomic: their sum, the unknown counted as COST_GUESS */
    uint32_t run_count;  /* atomic: decides which runs measure cheap nodes */
    pthread_mutex_t lock;
    Run *idle; /* under the lock */
    uint32_t idle_count;
};

static const uint32_t COST_UNKNOWN = UINT32_MAX;
enum { COST_GUESS = 100 * 1000 }; /* ns */

/* Fills in slots, edges, counts and roots from the nodes' kinds. RESOURCE_EXHAUSTED past the arena. */
MUST_USE Status schedule_build(Call *call, Partition *partition);

/* Fills in the keys of all transfers in the root frame: "<send device>;<receive device>;<tensor>;0:0". */
MUST_USE Status schedule_keys(Call *call, Partition *partition);
