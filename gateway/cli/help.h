/* What `sluice --help` and `sluice help COMMAND` print. */
#pragma once

#include "gateway/cli/cli.h"

/* Of cli->command; of the whole program when that is NULL. */
MUST_USE Status help_write(Cli *cli);
