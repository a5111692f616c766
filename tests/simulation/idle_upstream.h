/* The functions of shared/upstream that have nothing to do when all of a call leaves at once and no worker
 * computes with what it is sent: its tensors, its window, its queue, its pace. A fake of the upstream defines
 * the others. */
#pragma once

#include "shared/upstream/upstream.h"
