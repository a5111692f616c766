#include "shared/config/nearest.h"

#include <string.h>

static size_t
smallest(size_t first, size_t second, size_t third)
{
    const size_t smaller = first < second ? first : second;
    return smaller < third ? smaller : third;
}

/* Levenshtein's distance, one row at a time. */
static size_t
edit_distance(Slice left, Slice right)
{
    size_t row[SETTING_VARIABLE_SIZE + 1];
    for (size_t column = 0; column <= right.size; column++) {
        row[column] = column;
    }
    for (size_t line = 1; line <= left.size; line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t column = 1; column <= right.size; column++) {
            const size_t above = row[column];
            const size_t change = left.data[line - 1] == right.data[column - 1] ? 0 : 1;
            row[column] = smallest(above + 1, row[column - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[right.size];
}

bool
nearest_name(const ConfigTable *table, Slice name, char ret_nearest[SETTING_VARIABLE_SIZE])
{
    size_t best = name.size / 3 + 1;
    bool is_found = false;
    for (size_t index = 0; index < table->count; index++) {
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(&table->definitions[index], flag);
        const size_t distance = edit_distance(name, slice_from_string(flag));
        if (distance < best) {
            best = distance;
            is_found = true;
            memcpy(ret_nearest, flag, sizeof flag);
        }
    }
    return is_found;
}
