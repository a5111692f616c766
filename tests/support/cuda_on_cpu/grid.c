#include "tests/support/cuda_on_cpu/grid.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { WARP_SIZE = 32, BLOCK_MAX = 1024, STACK_SIZE = 64 << 10, SHARED_MAX = 228 << 10 };

typedef struct Fiber {
    GridThread thread; /* first: grid_thread points to it */
    void *stack_pointer;
    char *stack;          /* NULL: not started, or done */
    const uint64_t *turn; /* what it waits for: to differ from `turn_seen`; NULL: for nothing */
    uint64_t turn_seen;
    bool is_done;
    void *sanitizer_fiber; /* of the thread sanitizer */
} Fiber;

typedef struct Warp {
    int lanes;
    int ready;      /* lanes that can go on */
    int at_barrier; /* lanes that wait for the whole block */
    int waiting;    /* lanes that wait for others of the warp */
    uint64_t turn;
    uint64_t slots[2][WARP_SIZE]; /* two, because nobody is two shuffles ahead of another */
} Warp;

GridThread *grid_thread;
GridBlock grid_block;

static Fiber fibers[BLOCK_MAX];
static Warp warps[BLOCK_MAX / WARP_SIZE];
static Fiber *current;
static int thread_count;
static int alive;
static int barrier_waiting;
static uint64_t barrier_turn;
static void *scheduler_stack_pointer;
static char *free_stacks[BLOCK_MAX];
static int free_stack_count;
static void (*kernel_body)(void *);
static void *kernel_arguments;
static uint64_t random_state = 1;

/* Saves the caller's registers on its stack and goes on where `to` was left: by a jump, as the processor
 * would take a return for one to its last caller, and guess wrong. */
void grid_switch(void **ret_from, void *to);
__asm__(".text\n"
        ".globl grid_switch\n"
        ".type grid_switch,@function\n"
        "grid_switch:\n"
        "  push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "  mov %rsp,(%rdi)\n"
        "  mov %rsi,%rsp\n"
        "  pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        "  pop %rcx\n jmp *%rcx\n"
        ".size grid_switch,.-grid_switch\n");

/* The sanitizers are told of every switch, since they keep shadows of the stacks. */
#if defined(__SANITIZE_ADDRESS__)
static void *scheduler_fake_stack;
static const void *scheduler_bottom;
static size_t scheduler_size;
#endif
#if defined(__SANITIZE_THREAD__)
static void *scheduler_fiber;
#endif

static void
switch_to_scheduler(bool ends)
{
    (void)ends;
#if defined(__SANITIZE_ADDRESS__)
    void *fake_stack = NULL;
    __sanitizer_start_switch_fiber(ends ? NULL : &fake_stack, scheduler_bottom, scheduler_size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(scheduler_fiber, 0);
#endif
    grid_switch(&current->stack_pointer, scheduler_stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
}

static void
switch_to_fiber(Fiber *fiber)
{
    current = fiber;
    grid_thread = &fiber->thread;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&scheduler_fake_stack, fiber->stack, STACK_SIZE);
#endif
#if defined(__SANITIZE_THREAD__)
    scheduler_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->sanitizer_fiber, 0);
#endif
    grid_switch(&scheduler_stack_pointer, fiber->stack_pointer);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(scheduler_fake_stack, NULL, NULL);
#endif
}

static void
run_fiber(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &scheduler_bottom, &scheduler_size);
#endif
    kernel_body(kernel_arguments);
    current->is_done = true;
    switch_to_scheduler(true);
    abort();
}

static char *
take_stack(void)
{
    if (free_stack_count > 0) {
        return free_stacks[--free_stack_count];
    }
    void *stack =
        mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) {
        perror("cuda_on_cpu: no stack for a thread of a block");
        abort();
    }
    return stack;
}

/* Prepares the stack as grid_switch() leaves one: six registers, and where to go on. */
static void
start_fiber(Fiber *fiber)
{
    enum { REGISTERS = 6 };
    fiber->stack = take_stack();
    void **top = (void **)(void *)(fiber->stack + STACK_SIZE);
    void (*entry)(void) = run_fiber;
    *--top = NULL; /* the return address of run_fiber(), which aligns its frame as a call does */
    --top;
    memcpy(top, &entry, sizeof entry);
    for (int i = 0; i < REGISTERS; i++) {
        *--top = NULL;
    }
    fiber->stack_pointer = top;
#if defined(__SANITIZE_THREAD__)
    fiber->sanitizer_fiber = __tsan_create_fiber(0);
#endif
}

static void
end_fiber(Fiber *fiber)
{
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(fiber->sanitizer_fiber);
#endif
    free_stacks[free_stack_count++] = fiber->stack;
    fiber->stack = NULL;
    warps[fiber->thread.warp].ready--;
    alive--;
}

static bool
may_run(const Fiber *fiber)
{
    return !fiber->is_done && (fiber->turn == NULL || *fiber->turn != fiber->turn_seen);
}

static void
resume_fiber(Fiber *fiber)
{
    if (fiber->stack == NULL) {
        start_fiber(fiber);
    }
    switch_to_fiber(fiber);
    if (fiber->is_done) {
        end_fiber(fiber);
    }
}

static void
wait_for_turn(const uint64_t *turn, uint64_t seen)
{
    Fiber *fiber = current;
    fiber->turn = turn;
    fiber->turn_seen = seen;
    warps[fiber->thread.warp].ready--;
    switch_to_scheduler(false);
    fiber->turn = NULL;
}

static void
release_block(void)
{
    for (int warp = 0; warp * WARP_SIZE < thread_count; warp++) {
        warps[warp].ready += warps[warp].at_barrier;
        warps[warp].at_barrier = 0;
    }
}

void
grid_barrier(void)
{
    uint64_t seen = barrier_turn;
    if (++barrier_waiting == thread_count) { /* as CUDA has it: not those that have not ended yet */
        barrier_waiting = 0;
        barrier_turn++;
        release_block();
    } else {
        warps[grid_thread->warp].at_barrier++;
        wait_for_turn(&barrier_turn, seen);
    }
}

void
grid_warp_barrier(unsigned mask)
{
    Warp *warp = &warps[grid_thread->warp];
    uint64_t seen = warp->turn;
    int wanted = mask == UINT32_MAX ? warp->lanes : __builtin_popcount(mask);
    if (++warp->waiting == wanted) {
        warp->ready += warp->waiting - 1;
        warp->waiting = 0;
        warp->turn++;
    } else {
        wait_for_turn(&warp->turn, seen);
    }
}

uint64_t
grid_shuffle(unsigned mask, uint64_t bits, int from_lane)
{
    Warp *warp = &warps[grid_thread->warp];
    uint64_t *slots = warp->slots[warp->turn & 1];
    slots[grid_thread->lane] = bits;
    grid_warp_barrier(mask);
    return slots[from_lane & (WARP_SIZE - 1)];
}

/* Draws one of the warps that can go on; -1: there is none. */
static int
draw_warp(void)
{
    int ready[BLOCK_MAX / WARP_SIZE];
    size_t count = 0;
    for (int warp = 0; warp * WARP_SIZE < thread_count; warp++) {
        if (warps[warp].ready > 0) {
            ready[count++] = warp;
        }
    }
    return count == 0 ? -1 : ready[grid_random(count)];
}

static void
run_warp(int warp)
{
    Fiber *fiber = &fibers[warp * WARP_SIZE];
    int lanes = warps[warp].lanes;
    int lane = (int)grid_random((uint64_t)lanes);
    while (warps[warp].ready > 0) {
        if (may_run(&fiber[lane])) {
            resume_fiber(&fiber[lane]);
        }
        lane = lane + 1 == lanes ? 0 : lane + 1;
    }
}

static void
prepare_block(uint3 index)
{
    dim3 size = grid_block.size;
    grid_block.index = index;
    thread_count = (int)(size.x * size.y * size.z);
    assert(thread_count <= BLOCK_MAX);
    alive = thread_count;
    barrier_waiting = 0;
    memset(warps, 0, sizeof warps);
    for (int i = 0; i < thread_count; i++) {
        unsigned at = (unsigned)i;
        fibers[i] = (Fiber){
            .thread = {.index = {at % size.x, at / size.x % size.y, at / (size.x * size.y)},
                .lane = i % WARP_SIZE,
                .warp = i / WARP_SIZE},
        };
        warps[i / WARP_SIZE].lanes++;
        warps[i / WARP_SIZE].ready++;
    }
}

static void
run_block(uint3 index)
{
    prepare_block(index);
    while (alive > 0) {
        int warp = draw_warp();
        if (warp < 0) {
            fprintf(stderr,
                "cuda_on_cpu: block (%u,%u,%u) hangs: %d of its threads wait at a barrier that not all "
                "reach\n",
                index.x, index.y, index.z, alive);
            abort();
        }
        run_warp(warp);
    }
}

void
grid_run(dim3 grid, dim3 block, size_t shared_size, void (*body)(void *arguments), void *arguments)
{
    static _Alignas(256) unsigned char shared[SHARED_MAX];
    assert(shared_size <= sizeof shared);
    kernel_body = body;
    kernel_arguments = arguments;
    grid_block = (GridBlock){.size = block, .grid = grid, .dynamic_shared = shared};
    for (unsigned z = 0; z < grid.z; z++) {
        for (unsigned y = 0; y < grid.y; y++) {
            for (unsigned x = 0; x < grid.x; x++) {
                memset(shared, 0xff, shared_size); /* NaN, as no kernel may read what it has not written */
                run_block((uint3){x, y, z});
            }
        }
    }
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t
grid_random(uint64_t bound)
{
    random_state += 0x9e3779b97f4a7c15U;
    uint64_t mixed = random_state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return (mixed ^ (mixed >> 31)) % bound;
}

void
grid_seed(uint64_t seed)
{
    random_state = seed;
}
