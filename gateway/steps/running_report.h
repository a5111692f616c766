/* The report of a loop on its synchronous steps that run for long, twice a second: lists of steps show them
 * on every gateway (gateway/store/step_list.sql), so that they can be found and cancelled. Steps that end
 * sooner cost nothing.
 *
 * Ownership: lives in its loop's struct; what it borrows outlives it.
 * Threads:   the loop's.
 * Errors:    none: a report that fails is made again. */
#pragma once

#include "gateway/steps/step_loop.h"

typedef struct RunningReport {
    const StepLoop *steps;
    Timer timer;
    Job job;             /* while is_busy */
    StepRecord *running; /* what the job writes */
    size_t count;
    bool is_busy;
} RunningReport;

void running_report_begin(RunningReport *report, const StepLoop *steps);
void running_report_end(RunningReport *report); /* when the job threads have ended */
