/* The form of an API key: slk_<id>_<secret>_<check>, all base62 (0-9 A-Z a-z).
 *
 *   id      12 digits, public: the key of the database's row
 *   secret  43 digits, 256 random bits: only its hash is stored
 *   check   6 digits, the CRC-32 of all before it: drops typing errors before the database is asked, and
 *           lets scanners tell a leaked key from noise. It protects nothing. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"

enum {
    API_KEY_ID_SIZE = 12 + 1,
    API_KEY_SECRET_SIZE = 43 + 1,
    API_KEY_TEXT_SIZE = sizeof "slk_" - 1 + 12 + 1 + 43 + 1 + 6 + 1,
};

typedef struct ApiKey {
    char id[API_KEY_ID_SIZE];
    char secret[API_KEY_SECRET_SIZE];
} ApiKey;

ApiKey api_key_new(void);
void api_key_to_text(const ApiKey *key, char ret_text[API_KEY_TEXT_SIZE]);

/* Reads a key; false when `text` is not exactly of the form, its check included. `ret_key` is untouched
 * then. */
bool api_key_from_text(Slice text, ApiKey *ret_key);

/* Reads a key from the user and password of Basic authentication. */
bool api_key_from_parts(Slice id, Slice secret, ApiKey *ret_key);
