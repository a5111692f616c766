/* Writes the frames of a run's answer: its outputs, how it ended, and statistics.
 *
 * Threads: the stream's loop. */
#pragma once

#include "worker/serve/method.h"

void run_answer_status(WorkerRequest *request, const WireStatus *status);
void run_answer_stats(WorkerRequest *request, const WireStats *stats);

/* Writes an output; `tensor` NULL: it is dead. */
void run_answer_output(WorkerRequest *request, uint32_t index, const Tensor *tensor);

/* Writes a whole answer: the partition of this digest is not registered here. */
void run_answer_unknown(WorkerRequest *request, Slice digest);
