#include "shared/wire/labels.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool
labels_next(Slice *labels, Label *ret_label)
{
    Slice text;
    if (labels->size == 0 || !slice_split(labels, ',', &text)) {
        return false;
    }
    size_t equals = slice_find(text, '=');
    *ret_label = (Label){.key = slice_part(text, 0, equals), .value = slice_part(text, equals + 1, SIZE_MAX)};
    return true;
}

static bool
is_word(Slice text)
{
    bool is_ok = text.size > 0;
    for (size_t index = 0; is_ok && index < text.size; index++) {
        char letter = text.data[index];
        is_ok = isalnum((unsigned char)letter) || (letter != '\0' && strchr("._/-", letter) != NULL);
    }
    return is_ok;
}

/* Returns the value that a key has; data is NULL when it has none. */
static Slice
value_of(Slice labels, Slice key)
{
    Label label;
    while (labels_next(&labels, &label)) {
        if (slice_equal(label.key, key)) {
            return label.value;
        }
    }
    return (Slice){0};
}

Status
label_check(Call *call, const Label *label)
{
    return is_word(label->key) && is_word(label->value)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "'%.*s=%.*s' is no label: key=value is, of letters, digits and '._/-'",
                     SLICE_PRINT(slice_part(label->key, 0, LABELS_TEXT_SIZE)),
                     SLICE_PRINT(slice_part(label->value, 0, LABELS_TEXT_SIZE)));
}

Status
labels_check(Call *call, Slice labels)
{
    Slice rest = labels;
    Label label;
    if (labels.size >= LABELS_TEXT_SIZE) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "labels have %zu bytes, at most %d are possible",
            labels.size, LABELS_TEXT_SIZE - 1);
    }
    while (labels_next(&rest, &label)) {
        TRY(label_check(call, &label));
        if (value_of(rest, label.key).data != NULL) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "the label '%.*s' stands twice", SLICE_PRINT(label.key));
        }
    }
    return STATUS_OK;
}

Status
labels_drop_empty(Call *call, Slice labels, Slice *ret_labels)
{
    char *kept = arena_alloc(call->arena, labels.size + 1);
    size_t size = 0;
    Slice text;
    if (kept == NULL) {
        return call_fail_memory(call, "a worker's labels");
    }
    while (labels.size > 0 && slice_split(&labels, ',', &text)) {
        if (slice_ends_with(text, SLICE("=")) && slice_find(text, '=') > 0) {
            continue;
        }
        size +=
            (size_t)snprintf(kept + size, text.size + 2, "%s%.*s", size > 0 ? "," : "", SLICE_PRINT(text));
    }
    *ret_labels = slice_of(kept, size);
    return STATUS_OK;
}

bool
labels_have(Slice labels, Slice wanted)
{
    Label label;
    while (labels_next(&wanted, &label)) {
        Slice value = value_of(labels, label.key);
        if (value.data == NULL || !slice_equal(value, label.value)) {
            return false;
        }
    }
    return true;
}
