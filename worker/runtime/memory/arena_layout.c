#include "worker/runtime/memory/arena_layout.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Layout {
    Arena *arena;
    const Flow *flow;
    LayoutBuffer *buffers;
    uint32_t count;
    size_t row_words;
    /* Rows of bits; bit j of row i: every use of buffer i comes before the maker of buffer j. */
    uint64_t *ended;
    uint32_t *by_size;   /* indices of buffers, the largest first */
    uint32_t *by_offset; /* indices of the buffers laid out so far, by ascending offset */
} Layout;

static bool
has_ended(const Layout *layout, uint32_t buffer, uint32_t other)
{
    return (layout->ended[buffer * layout->row_words + other / 64] >> other % 64 & 1) != 0;
}

static bool
may_meet(const Layout *layout, uint32_t left, uint32_t right)
{
    return !has_ended(layout, left, right) && !has_ended(layout, right, left);
}

/* The uses of one buffer that are marked in the current sweep, as bits of the sweep. */
typedef struct SweptUses {
    uint32_t buffer;
    uint64_t mask;
} SweptUses;

typedef struct Ending {
    const Layout *layout;
    FlowSweep sweep;
    SweptUses *uses;
    uint32_t use_count;
} Ending;

/* Runs the sweep for the uses gathered so far and clears `ended` for each pair of buffers in which one of
 * these uses need not come before the other buffer's maker. */
static void
ending_apply(Ending *ending)
{
    const Layout *layout = ending->layout;
    flow_sweep_run(&ending->sweep);
    for (uint32_t other = 0; other < layout->count; other++) {
        uint64_t before = ending->sweep.before[layout->buffers[other].maker];
        for (uint32_t i = 0; i < ending->use_count; i++) {
            const SweptUses *uses = &ending->uses[i];
            if ((uses->mask & ~before) != 0) {
                layout->ended[uses->buffer * layout->row_words + other / 64] &= ~((uint64_t)1 << other % 64);
            }
        }
    }
    flow_sweep_clear(&ending->sweep);
    ending->use_count = 0;
}

static void
ending_add(Ending *ending, uint32_t buffer, uint32_t node)
{
    if (!flow_sweep_mark(&ending->sweep, node)) {
        ending_apply(ending);
        (void)flow_sweep_mark(&ending->sweep, node);
    }
    if (ending->use_count == 0 || ending->uses[ending->use_count - 1].buffer != buffer) {
        ending->uses[ending->use_count++] = (SweptUses){.buffer = buffer};
    }
    ending->uses[ending->use_count - 1].mask |= flow_sweep_bit(&ending->sweep, node);
}

/* Fills in `ended`. The last maker counts as a use, so that a buffer that nobody reads ends with it. */
static bool
find_ends(Layout *layout)
{
    Ending ending = {
        .layout = layout,
        .uses = arena_alloc(layout->arena, ((size_t)layout->count + 1) * sizeof *ending.uses),
    };
    size_t ended_size = layout->count * layout->row_words * sizeof *layout->ended;
    layout->ended = arena_alloc(layout->arena, ended_size + 1);
    if (ending.uses == NULL || layout->ended == NULL ||
        !flow_sweep_new(layout->arena, layout->flow, &ending.sweep)) {
        return false;
    }
    memset(layout->ended, 0xff, ended_size);
    for (uint32_t buffer = 0; buffer < layout->count; buffer++) {
        const LayoutBuffer *at = &layout->buffers[buffer];
        ending_add(&ending, buffer, at->last_maker);
        for (uint32_t i = 0; i < at->use_count; i++) {
            ending_add(&ending, buffer, at->uses[i]);
        }
    }
    ending_apply(&ending);
    return true;
}

static int
compare_sizes(const void *left, const void *right, void *context)
{
    const Layout *layout = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    uint64_t size_a = layout->buffers[a].size;
    uint64_t size_b = layout->buffers[b].size;
    if (size_a != size_b) {
        return size_a > size_b ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* Returns the offset of the smallest gap that is large enough between buffers that may live at the same
 * time as this one, or the end of the last of them when no gap is (best fit). */
static uint64_t
find_offset(const Layout *layout, uint32_t buffer, uint32_t laid_out_count)
{
    uint64_t size = layout->buffers[buffer].size;
    uint64_t end = 0;
    uint64_t best = UINT64_MAX;
    uint64_t best_gap = UINT64_MAX;
    for (uint32_t i = 0; i < laid_out_count; i++) {
        const LayoutBuffer *other = &layout->buffers[layout->by_offset[i]];
        if (!may_meet(layout, buffer, layout->by_offset[i])) {
            continue;
        }
        if (other->offset > end && other->offset - end >= size && other->offset - end < best_gap) {
            best = end;
            best_gap = other->offset - end;
        }
        uint64_t other_end = other->offset + other->size;
        end = other_end > end ? other_end : end;
    }
    return best == UINT64_MAX ? end : best;
}

static uint64_t
assign_offsets(Layout *layout)
{
    uint64_t size = 0;
    for (uint32_t count = 0; count < layout->count; count++) {
        uint32_t buffer = layout->by_size[count];
        LayoutBuffer *at = &layout->buffers[buffer];
        at->offset = find_offset(layout, buffer, count);
        size = at->offset + at->size > size ? at->offset + at->size : size;
        uint32_t index = count;
        for (; index > 0 && layout->buffers[layout->by_offset[index - 1]].offset > at->offset; index--) {
            layout->by_offset[index] = layout->by_offset[index - 1];
        }
        layout->by_offset[index] = buffer;
    }
    return size;
}

/* A range of bytes, and the latest buffer (in the order of makers) that lies on it. */
typedef struct Owned {
    uint64_t begin;
    uint64_t end;
    uint32_t buffer;
} Owned;

typedef struct Owners {
    Owned *list; /* by ascending address, without overlaps */
    uint32_t count;
    Owned *next; /* the list that take_over() builds; then the two are swapped */
    /* Buffers that had bytes of the newest one just before it; a buffer that was split may be there twice. */
    uint32_t *former;
    uint32_t former_count;
} Owners;

static void
take_over(Owners *owners, uint32_t buffer, uint64_t begin, uint64_t end)
{
    uint32_t count = 0;
    owners->former_count = 0;
    for (uint32_t i = 0; i < owners->count; i++) {
        const Owned *owned = &owners->list[i];
        if (owned->begin < begin) {
            owners->next[count++] = (Owned){.begin = owned->begin,
                .end = owned->end < begin ? owned->end : begin,
                .buffer = owned->buffer};
        }
        if (owned->begin < end && owned->end > begin) {
            owners->former[owners->former_count++] = owned->buffer;
        }
    }
    owners->next[count++] = (Owned){.begin = begin, .end = end, .buffer = buffer};
    for (uint32_t i = 0; i < owners->count; i++) {
        const Owned *owned = &owners->list[i];
        if (owned->end > end) {
            owners->next[count++] = (Owned){
                .begin = owned->begin > end ? owned->begin : end, .end = owned->end, .buffer = owned->buffer};
        }
    }
    Owned *before = owners->list;
    owners->list = owners->next;
    owners->next = before;
    owners->count = count;
}

static bool
find_former(const Layout *layout)
{
    /* A new buffer adds its own range and may split one other in two: at most two ranges more for each. */
    size_t owned_max = (size_t)layout->count * 2 + 1;
    Owners owners = {
        .list = arena_alloc(layout->arena, owned_max * sizeof *owners.list),
        .next = arena_alloc(layout->arena, owned_max * sizeof *owners.next),
        .former = arena_alloc(layout->arena, owned_max * sizeof *owners.former),
    };
    if (owners.list == NULL || owners.next == NULL || owners.former == NULL) {
        return false;
    }
    for (uint32_t buffer = 0; buffer < layout->count; buffer++) {
        LayoutBuffer *at = &layout->buffers[buffer];
        take_over(&owners, buffer, at->offset, at->offset + at->size);
        uint32_t *former = arena_alloc(layout->arena, (owners.former_count + 1) * sizeof *former);
        if (former == NULL) {
            return false;
        }
        memcpy(former, owners.former, owners.former_count * sizeof *former);
        at->former = former;
        at->former_count = owners.former_count;
    }
    return true;
}

bool
arena_layout(Arena *arena, const Flow *flow, LayoutBuffer *buffers, uint32_t count, uint64_t *ret_size)
{
    assert(count <= LAYOUT_BUFFERS_MAX);
    Layout layout = {.arena = arena,
        .flow = flow,
        .buffers = buffers,
        .count = count,
        .row_words = (count + 63) / 64,
        .by_size = arena_alloc(arena, (count + 1) * sizeof *layout.by_size),
        .by_offset = arena_alloc(arena, (count + 1) * sizeof *layout.by_offset)};
    if (layout.by_size == NULL || layout.by_offset == NULL || !find_ends(&layout)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        layout.by_size[i] = i;
    }
    qsort_r(layout.by_size, count, sizeof *layout.by_size, compare_sizes, &layout);
    *ret_size = assign_offsets(&layout);
    return find_former(&layout);
}
