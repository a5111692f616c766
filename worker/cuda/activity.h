/* What CUPTI tells of the card's work: kernels, copies and fills with their times, for the runs that are
 * traced. CUPTI is one for the process: it collects while any run is traced, and each record goes to the run
 * whose number was pushed on the thread that enqueued the work. Records come in buffers, in any order.
 *
 * Ownership: what is taken is the caller's.
 * Threads:   any.
 * Errors:    reasons in a user's words; the run is then traced without CUPTI. */
#pragma once

#include "worker/runtime/device.h"

enum { CUDA_ACTIVITY_REASON_SIZE = 160 };

/* Begins to collect for one more run. False: CUPTI cannot be used, for the reason that is written. */
MUST_USE bool cuda_activity_begin(char ret_reason[CUDA_ACTIVITY_REASON_SIZE], uint32_t *ret_version);

/* Ends it. What no run has taken is forgotten behind the last one. */
void cuda_activity_end(void);

/* Surround what this thread enqueues for a traced run: its number (at least 1), and a mark of trace.h. */
void cuda_activity_push(uint32_t run, uint64_t mark);
void cuda_activity_pop(void);

/* Returns a clock that the records' times are of, in ns. */
uint64_t cuda_activity_clock_ns(void);

/* Fetches what has come for the run, whose work has ended; times are of CUPTI's clock. The list is made by
 * memory_new(); NULL: there is none. */
DeviceActivity *cuda_activity_take(uint32_t run, size_t *ret_count);

/* Returns how many records of any run were lost so far. */
uint64_t cuda_activity_lost_count(void);
