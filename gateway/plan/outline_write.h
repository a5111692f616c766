/* How outlining writes: what its files share. Texts and lists go into the memory of the graph that is made;
 * what finds no memory is noted, and asked for once, at the end.
 *
 * Inside gateway/plan. */
#pragma once

#include "gateway/plan/outline.h"

typedef struct Home {
    Buffer nodes;   /* NodeDef[]; of the graph, its calls alone */
    Map *constants; /* copied into it, by id */
} Home;

typedef struct Writing {
    Outline *outline;
    const Graph *graph; /* as it was */
    GraphDef *def;
    Home *homes;
    NodeDef *plain; /* of each node that stays in the graph */
    bool *is_plain;
    bool *is_read; /* in the graph */
    bool *has_data_readers;
    uint32_t *output_ports; /* of each Merge of a call */
    FunctionDef *functions;
    uint32_t function_count;
    bool has_no_memory;
} Writing;

/* --- Pieces (outline_read.c) ------------------------------------------------------------------------------
 */

Slice outline_text(Writing *writing, const char *made); /* NULL: there was no memory */
void *outline_alloc(Writing *writing, size_t count, size_t size);
void outline_append(Writing *writing, uint32_t home, const NodeDef *def);

/* A Switch of a branching that is called: it goes. */
bool is_dropped_switch(const Writing *writing, uint32_t id);
/* A Merge of one: it becomes an output of the call. */
bool is_call_output(const Writing *writing, uint32_t id);
/* In a branch, the Identity that runs when the branch does. */
bool is_pivot(const Writing *writing, uint32_t id);
uint32_t node_home(const Writing *writing, uint32_t id);

typedef struct Reading {
    uint32_t home;
    const Endpoint *inputs;
    uint32_t input_count;
    const uint32_t *controls;
    uint32_t control_count;
} Reading;

/* The node's inputs, as they are named in its home. */
void outline_inputs(Writing *writing, const Reading *reading, NodeDef *def);

/* --- Calls (outline_call.c) -------------------------------------------------------------------------------
 */

uint32_t candidate_output_count(const Candidate *candidate);
uint32_t candidate_output(const Candidate *candidate, uint32_t index); /* its Merge */

/* The functions of the branching's branches, and the node that calls them. */
void write_call(Writing *writing, uint32_t branching);
