/* The program `sluice`: a REST client for people and scripts. One run is one command.
 *
 * Threads: one; Ctrl-C cancels the Call from a signal handler.
 * Errors:  the Call's error is printed here, once; the exit code says of which kind it was. */
#pragma once

#include "gateway/cli/command.h"

/* Runs the command that the arguments name, and returns what main() returns. `input` begins behind the
 * program's name. */
ExitCode cli_run(Call *call, const ConfigInput *input);
