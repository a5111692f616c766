/* The labels of a worker: what an operator says of it (zone, kind of GPU), and what a session may ask for, as
 * a text such as "zone=a,gpu=h100". Keys and values are letters, digits and "._/-"; each key stands once; the
 * order means nothing.
 *
 * Ownership: works on slices.
 * Errors:    INVALID_ARGUMENT names the label. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum { LABELS_TEXT_SIZE = 192 }; /* of a text with its zero */

/* A text that is read label by label. */
typedef struct Label {
    Slice key;
    Slice value;
} Label;

/* Takes the first label off the text; false: there is none left. */
bool labels_next(Slice *labels, Label *ret_label);

MUST_USE Status label_check(Call *call, const Label *label);
MUST_USE Status labels_check(Call *call, Slice labels);

/* Copies the labels into the call's arena, without those that stand with an empty value ("zone="): a template
 * that filled in what it knows says nothing by them. The order stays. */
MUST_USE Status labels_drop_empty(Call *call, Slice labels, Slice *ret_labels);

/* Returns whether each of the wanted labels is among these. None wanted: always. */
bool labels_have(Slice labels, Slice wanted);
