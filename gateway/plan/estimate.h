/* The cost of a run as far as shapes tell it: for people who read a plan, for choosing the nearest slot, and
 * for workers, which decide what is too small for a thread of its own. An unknown dimension counts 1. */
#pragma once

#include "gateway/plan/compile.h"

/* Returns the arithmetic operations of one run of the node, with the dearest branch of a call. */
double estimate_cost(const Compile *compile, const Node *node);

/* Returns the bytes of one output. */
uint64_t estimate_bytes(const Compile *compile, const Node *node, uint32_t port);

/* Fills memory and cost of every slot. */
MUST_USE Status estimate_slots(const Compile *compile, PlanSlot *slots);
