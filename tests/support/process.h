/* Sluice's programs as child processes: started on a port that the kernel chooses, ended by pid. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "shared/net/socket.h"

enum { PROCESS_ARGUMENTS_MAX = 24 };

typedef struct Process {
    pid_t pid;
    char address[ADDRESS_TEXT_SIZE]; /* the address of its line "listening on …" */
} Process;

/* Starts $OUT/`program` (build/release without OUT) with these arguments, NULL-terminated, and waits until
 * it prints "listening on …". Its standard error is copied to the test's when it fails. False when it does
 * not come up. */
bool process_start(Process *process, const char *program, const char *const *arguments);

/* Sends the signal and waits for the end; returns the exit code, or 128 + signal when one killed it.
 * SIGKILL does so after a minute. */
int process_stop(Process *process, int signal_number);

/* Runs a program to its end and returns its exit code. Standard output goes into `ret_output` when that is
 * not NULL. */
int process_run(const char *program, const char *const *arguments, char *ret_output, size_t output_size);

/* Runs a program and keeps its standard error too. Both texts are cut at their sizes. */
typedef struct ProcessOutput {
    char *out;
    size_t out_size;
    char *error;
    size_t error_size;
} ProcessOutput;
int process_capture(const char *program, const char *const *arguments, const ProcessOutput *ret_output);

/* The process that process_capture() waits for, so that another thread can signal it; 0 when there is
 * none. */
extern pid_t process_captured;

/* Sleeps between two questions about the progress of other processes. */
void pause_ms(long milliseconds);
