/* The addresses under which workers may join. Gateways dial them from threads that must not wait, so that
 * they are numbers: no name has to be looked up. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"

/* Returns whether the text is "10.0.0.7:8471" or "[fd00::7]:8471", and one host's: neither the address that
 * stands for all of a machine's nor one of a group. */
bool worker_address_is_ok(Slice address);
