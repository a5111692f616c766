/* Functions for the files that spell operators out: an operator outside of ONNX's own becomes nodes of ONNX
 * or of TensorFlow. A node of several keeps its name for the last one; the others are emitted in front
 * of it, named below it. Private to gateway/formats.
 *
 * Threads: any; one import, one thread.
 * Errors:  INVALID_ARGUMENT for a node that breaks its operator's rules; UNIMPLEMENTED for a form that cannot
 *          be spelled out. */
#pragma once

#include "gateway/formats/onnx_import.h"

/* The function that spells out one operator; `argument` and `count` are passed to it. */
typedef struct OnnxSpelling {
    const char *type; /* "com.microsoft::Gelu" */
    Status (*spell_out)(OnnxImport *import, OnnxNode *node, const char *argument, size_t count);
    const char *argument;
    size_t count;
} OnnxSpelling;

typedef struct OnnxSpellings {
    const OnnxSpelling *rows;
    size_t count;
} OnnxSpellings;

extern const OnnxSpellings onnx_contrib_spellings;
extern const OnnxSpellings onnx_attention_spellings;
extern const OnnxSpellings onnx_classical_spellings;
extern const OnnxSpellings onnx_label_spellings;
extern const OnnxSpellings onnx_quantised_spellings;
extern const OnnxSpellings onnx_random_spellings;
extern const OnnxSpellings onnx_trees_spellings;

/* Returns the endpoint of an input; "" for an absent one. */
Slice spell_input(const OnnxNode *node, size_t position);
bool spell_has(const OnnxNode *node, size_t position);

/* Return an attribute's value; `otherwise` when the node has none of that kind. */
int64_t spell_int(const OnnxNode *node, const char *name, int64_t otherwise);
float spell_float(const OnnxNode *node, const char *name, float otherwise);
Slice spell_text(const OnnxNode *node, const char *name); /* "" */
/* Reads a list of floats; returns how many there are, of which at most `capacity` are read. */
size_t spell_numbers(const OnnxNode *node, const char *name, float *ret_numbers, size_t capacity);

/* Attributes of nodes that are emitted. */
Attr spell_int_attr(const char *name, int64_t number);
Attr spell_type_attr(const char *name, Dtype dtype);
Attr spell_text_attr(const char *name, Slice text);

/* Fails with UNIMPLEMENTED: "<what> cannot be imported". */
MUST_USE Status spell_refuse(const OnnxImport *import, const char *what);

/* Fails unless the node has at least `least` inputs, and none behind its first `most`. */
MUST_USE Status spell_check_inputs(const OnnxImport *import, const OnnxNode *node, size_t least, size_t most);
/* Fails for an output behind the first ones. */
MUST_USE Status spell_check_outputs(const OnnxImport *import, const OnnxNode *node, size_t most);

/* Emits a node of ONNX's own domain, named after its type. */
MUST_USE Status spell_emit(OnnxImport *import, const OnnxNode *whole, const char *type, Slice *inputs,
    size_t input_count, Slice *ret_name);
MUST_USE Status spell_pair(
    OnnxImport *import, const OnnxNode *whole, const char *type, Slice left, Slice right, Slice *ret_name);
/* Emits a node with one input and one attribute. */
MUST_USE Status spell_with(
    OnnxImport *import, const OnnxNode *whole, const char *type, Slice input, Attr attr, Slice *ret_name);
/* Emits a Cast to float32. */
MUST_USE Status spell_floats(OnnxImport *import, const OnnxNode *whole, Slice input, Slice *ret_floats);
/* Emits a node whose op has TensorFlow's name, or one of ours. Types that its inputs do not tell are those of
 * `_type_of`, of its first input unless it names another endpoint; there is room for that attribute. */
MUST_USE Status spell_foreign(
    OnnxImport *import, const OnnxNode *whole, const char *part, OnnxNode *node, Slice *ret_name);

/* Emit constants: a vector of int64, a scalar float32. */
MUST_USE Status spell_ints(OnnxImport *import, const OnnxNode *whole, const char *part, const int64_t *values,
    size_t count, Slice *ret_name);
MUST_USE Status spell_number(
    OnnxImport *import, const OnnxNode *whole, const char *part, float number, Slice *ret_name);
/* Emits a scalar of the dtype of `like`. */
MUST_USE Status spell_number_like(
    OnnxImport *import, const OnnxNode *whole, const char *part, float number, Slice like, Slice *ret_name);

/* Returns the endpoint of another output of a node. */
MUST_USE Status spell_port(OnnxImport *import, Slice name, int port, Slice *ret_endpoint);

/* Turns the node into one of ONNX's, without attributes, whose inputs are these: at most ONNX_NODE_ROOM more
 * than it was made with. */
void spell_become(OnnxNode *node, const char *type, const Slice *inputs, size_t input_count);
/* Turns the node into one that hands these endpoints, one to three, on as its outputs; 0
 * counts as one. */
void spell_outputs(OnnxNode *node, const Slice *endpoints, size_t count);
