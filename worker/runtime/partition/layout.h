/* How images come to have their channels last though their author has them first: which nodes can compute so,
 * and what becomes of them then (layout_rules.c); which of them are to (layout_choice.c); how the graph is
 * rewritten (layout.c).
 *
 * Threads: one. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* What becomes of an input of a node that is turned around. */
typedef enum LayoutRole {
    LAYOUT_KEPT,    /* nothing: it is no image */
    LAYOUT_IMAGE,   /* its producer is turned around too, or it is transposed for all readers that are */
    LAYOUT_FILTER,  /* [outputs, inputs, space…] becomes [outputs, space…, inputs] */
    LAYOUT_FILTER2, /* so does [space…, inputs, outputs], as TensorFlow has it */
    LAYOUT_ALIGNED, /* an operand without the image's batch: [channels, space…] becomes [space…, channels] */
} LayoutRole;

/* A partition before it has devices, and what is known of its shapes, by node and port. */
typedef struct LayoutGraph {
    const Partition *partition;
    const Shape *const *shapes;
} LayoutGraph;

typedef struct LayoutRule {
    const char *op; /* NULL: whatever is element-wise */
    LayoutRole (*role)(const LayoutGraph *graph, const Node *node, uint32_t input);
    /* Returns whether this node can be turned around; the rank of its image is known. NULL: always. */
    bool (*may_turn)(const LayoutGraph *graph, const Node *node);
    /* Makes the node one for channels that are last. NULL: Node.is_channels_last says all. */
    Status (*turn)(Call *call, const LayoutGraph *graph, Node *node);
    bool is_convolution;
    bool is_transpose; /* between both layouts: turned around, it moves nothing */
} LayoutRule;

/* Returns the rule by which a node can be turned around; NULL: it cannot. */
const LayoutRule *layout_rule(const LayoutGraph *graph, const Node *node);

/* Returns whether the author has the channels of a convolution last already: of the node's inputs only the
 * filter changes, which the accelerator's library wants as [outputs, space…, inputs]. */
bool layout_is_filter_alone(const LayoutRule *rule, const Node *node);

/* Returns whether the node is a convolution that may have something to gain. */
bool layout_is_convolution(const Node *node);

/* Returns what is known of the image that a convolution reads from its filter; rank -1: nothing. */
Shape layout_image(const LayoutGraph *graph, const Node *node);

/* Returns whether an output of a node that is turned around is an image with its channels last. */
bool layout_makes_image(const LayoutGraph *graph, const LayoutRule *rule, Endpoint output);

/* Fills in where each dimension comes from. */
typedef enum LayoutOrder {
    LAYOUT_TO_FIRST,
    LAYOUT_TO_LAST,
    LAYOUT_TO_LAST_ALIGNED,
    LAYOUT_OF_FILTER2
} LayoutOrder;
void layout_permutation(LayoutOrder order, int rank, int64_t *ret_axes);

static inline const Shape *
layout_shape(const LayoutGraph *graph, Endpoint from)
{
    return &graph->shapes[from.node][from.port];
}

/* Returns the rank of a node's first output, which is that of all its images; -1: not known. */
static inline int
layout_rank(const LayoutGraph *graph, const Node *node)
{
    return graph->shapes[node->id][0].rank;
}

typedef struct LayoutReader {
    uint32_t node;
    uint32_t input;
} LayoutReader;

typedef struct Layouts {
    Call *call;
    Arena *arena; /* for what is needed here only */
    Partition *partition;
    LayoutGraph graph;
    const LayoutRule **rules; /* by node: NULL, it cannot be turned around */
    bool *is_turned;          /* by node */
    bool *makes_image;        /* by node: its first output is turned with it */
    uint32_t *input_starts;   /* by node: the number of its first input */
    uint8_t *roles;           /* by number of an input: a LayoutRole */
    uint32_t *owns;          /* by number of an input: the node that transposes it for this reader; 0: none */
    uint32_t *output_starts; /* by node: the number of its first output */
    uint32_t *transposed;    /* by number of an output: the node that gives its other layout; 0: none */
    uint32_t *reader_starts; /* by number of an output: where its readers begin */
    LayoutReader *readers;
    uint32_t *regions; /* by node: another node of its region, or itself */
    uint32_t first;    /* id of the first node that is added */
    uint32_t count;
} Layouts;

static inline const Node *
layout_node(const Layouts *layouts, uint32_t id)
{
    return &layouts->partition->graph->nodes[id];
}

static inline uint32_t
layout_number(const Layouts *layouts, Endpoint output)
{
    return layouts->output_starts[output.node] + output.port;
}

/* Returns whether an output is made with its channels last, and is an image. */
static inline bool
layout_is_image(const Layouts *layouts, Endpoint output)
{
    return layouts->is_turned[output.node] && layouts->makes_image[output.node] && output.port == 0;
}

/* Returns whether an input wants its channels last. */
static inline bool
layout_reads_image(const Layouts *layouts, LayoutReader reader)
{
    return layouts->is_turned[reader.node] &&
           layouts->roles[layouts->input_starts[reader.node] + reader.input] == LAYOUT_IMAGE;
}

/* Returns whether an output is read in the layout in which it is not made. */
bool layout_needs_transpose(const Layouts *layouts, Endpoint output);

/* Chooses which nodes are turned around (layout_choice.c). RESOURCE_EXHAUSTED. */
MUST_USE Status layout_choose(Layouts *layouts);
