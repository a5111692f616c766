/* Programs of ours as child processes: started on a port the kernel chooses, ended by pid. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "shared/net/socket.h"

enum { PROCESS_ARGUMENTS_MAX = 24 };

typedef struct Process {
    pid_t pid;
    char address[ADDRESS_TEXT_SIZE]; /* what it said it is listening on */
} Process;

/* Starts $OUT/`program` (build/release without OUT) with these arguments, NULL-terminated, and waits until it
 * says "listening on …". Its standard error goes to ours when it fails. False when it does not come up. */
bool process_start(Process *process, const char *program, const char *const *arguments);

/* Sends the signal and waits for the end; the exit code, 128 + signal when one killed it: SIGKILL does when a
 * minute has passed. */
int process_stop(Process *process, int signal_number);

/* Runs a program to its end; its exit code. Standard output goes into `ret_output` when that is not NULL. */
int process_run(const char *program, const char *const *arguments, char *ret_output, size_t output_size);

/* The same, with what it writes to standard error. Both texts are cut at their sizes. */
typedef struct ProcessOutput {
    char *out;
    size_t out_size;
    char *error;
    size_t error_size;
} ProcessOutput;
int process_capture(const char *program, const char *const *arguments, const ProcessOutput *ret_output);

/* The process that process_capture() waits for, for another thread to signal; 0 when there is none. */
extern pid_t process_captured;

/* For what other processes do without telling: asked again and again, with this in between. */
void pause_ms(long milliseconds);
