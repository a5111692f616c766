/* Scores and labels of classes, for the files that spell classifiers of ai.onnx.ml out. Private to
 * gateway/formats.
 *
 * Threads: any; one import, one thread. */
#pragma once

#include "gateway/formats/onnx_spell.h"

/* The names of classes: texts or numbers. */
typedef struct OnnxLabels {
    AttrValue list;
    size_t count;
} OnnxLabels;

/* Returns the items of a list of this kind; an empty list when there is none. */
AttrValue classical_list(const OnnxNode *node, const char *name, AttrKind kind);

/* Reads classlabels_strings, or this list of numbers. */
MUST_USE Status classical_labels(
    const OnnxImport *import, const OnnxNode *node, const char *of_numbers, OnnxLabels *ret_labels);

/* Applies post_transform to scores of several classes or targets. */
MUST_USE Status classical_transform(
    OnnxImport *import, const OnnxNode *node, Slice post_transform, Slice *scores);

/* Makes the node labels and scores: each row's label is that of its highest score. */
MUST_USE Status classical_classes(OnnxImport *import, OnnxNode *node, const OnnxLabels *labels, Slice scores);

/* The two scores of a binary classifier, made from the one that it computes, s, which is the second class's.
 */
typedef struct OnnxOneScore {
    float threshold; /* above which it is the second class */
    float whole;     /* the first one's score is whole - s */
} OnnxOneScore;

/* Makes the node labels and scores of two classes. Of what post_transform may say, ONNX Runtime applies
 * LOGISTIC alone: to -s and s. */
MUST_USE Status classical_two_classes(
    OnnxImport *import, OnnxNode *node, const OnnxLabels *labels, Slice score, OnnxOneScore rule);
