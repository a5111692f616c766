/* Tells the tests' CUPTI (tests/plugins/libcupti.c) of the card's work, when the plugin has loaded it.
 *
 * Threads: any; under the lock of runtime.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CardWorkKind { CARD_KERNEL, CARD_COPY, CARD_COPY_IN, CARD_COPY_OUT, CARD_FILL } CardWorkKind;

/* A piece of work that the card has done. */
typedef struct CardWork {
    uint32_t call; /* as activity_call() numbered it */
    uint32_t stream;
    CardWorkKind kind;
    uint32_t grid[3];
    uint32_t block[3];
    size_t size;       /* bytes, of no kernel */
    uint64_t captured; /* its number in a graph; 0: in none */
    uint64_t start_ns;
    uint64_t end_ns;
} CardWork;

/* Numbers a call that enqueues work; 0: nobody listens. */
uint32_t activity_call(void);
void activity_tell(const CardWork *work);

/* The tests' CUPTI's ends of these two. */
uint32_t cupti_on_cpu_call(void);
void cupti_on_cpu_work(const CardWork *work);
