/* CUDA's error codes as Sluice sees them: one table of classes, and the one place that takes the card out of
 * service. Some errors ("sticky") spoil the context of the whole process, so that every later call fails with
 * them: only a new process serves again.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>

#include "worker/runtime/device.h"

/* Beside CUDA's codes: the host has no memory for what describes the card's work. */
enum { CUDA_ERROR_HOST_MEMORY = -1 };

/* Returns STATUS_OK for cudaSuccess, else fails the call. `what` was being done, in words that a user may
 * read ("a Softmax kernel"). Clears the error of the calling thread, so that nobody else is blamed for it.
 * RESOURCE_EXHAUSTED: the card has no memory left. UNAVAILABLE: the card is out of service, from now on
 * at the latest. INTERNAL: CUDA refuses what it was asked for; the card serves on. */
MUST_USE Status cuda_check(Call *call, int error, const char *what);

/* Does the same for those that have no call; `error` is not cudaSuccess. `node` is the last one whose work
 * was enqueued, or empty. */
Failure cuda_failure(int error, const char *what, Slice node);

/* Takes the card out of service for an error that its work met while it ran; `node` as above. What is said
 * first stays. */
void cuda_break(int error, const char *what, Slice node);

/* Has errors counted there from now on: those that are refusals, and those that break the card; NULL: they
 * are not counted. */
void cuda_errors_count(DeviceCounts *counts);

/* Returns why the card is out of service, or NULL. The text lives as long as the process. */
const char *cuda_fault(void);
