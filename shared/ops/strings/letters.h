/* Upper and lower case of UTF-8 text, by Unicode's simple mappings: one letter for one, whatever the locale.
 * Latin, Greek, Cyrillic and Armenian letters; others, and bytes that are no UTF-8, stay as they are.
 * Threads: any. */
#pragma once

#include "shared/base/buffer.h"

typedef enum LetterCase { LETTERS_AS_THEY_ARE, LETTERS_LOWER, LETTERS_UPPER } LetterCase;

void letters_append(Buffer *buffer, Slice text, LetterCase letter_case);
