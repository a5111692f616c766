/* Records the names of open objects, to find one that comes twice. The record is a stack: an object's
 * names lie behind those of the objects around it, and are dropped when it closes. A name is kept as its
 * offset in the text and a hash; a filter of 64 bits for each object answers most questions without a
 * comparison. */
#include <assert.h>

#include "shared/base/text.h"
#include "shared/json/scan.h"

static inline JsonLevel *
level_of(JsonScanner *scanner)
{
    return &scanner->levels[scanner->depth - 1];
}

void
json_names_begin(JsonScanner *scanner, bool is_object)
{
    JsonLevel *level = level_of(scanner);
    const JsonLevel *outer = scanner->depth > 1 ? level - 1 : NULL;
    *level = (JsonLevel){
        .is_object = is_object,
        .first_name = (uint16_t)(outer == NULL ? 0 : outer->first_name + outer->name_count),
        .first_byte = (uint16_t)(outer == NULL ? 0 : outer->first_byte + outer->byte_count),
    };
}

/* Returns up to 8 bytes as a number; 4 to 7 of them with two loads that overlap. */
static inline uint64_t
word_of(const char *bytes, size_t size)
{
    uint64_t word = 0;
    if (size >= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        return word;
    }
    if (size >= sizeof(uint32_t)) {
        uint32_t first = 0;
        uint32_t last = 0;
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + size - sizeof last, sizeof last);
        return (uint64_t)last << 32 | first;
    }
    for (size_t index = 0; index < size; index++) {
        word = word << 8 | (unsigned char)bytes[index];
    }
    return word;
}

static inline uint64_t
hash_of(Slice name)
{
    uint64_t hash = name.size;
    for (size_t start = 0; start < name.size; start += sizeof hash) {
        hash = (hash ^ word_of(name.data + start, name.size - start)) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* Compares with a recorded name, which is read again from the text: it may have escapes where `name` has
 * none. */
static bool
is_same_name(const JsonScanner *scanner, const JsonName *noted, Slice name)
{
    const char *start = scanner->start + noted->offset;
    JsonScanner again;
    json_scan_within(&again, scanner, slice_of(start, (size_t)(scanner->end - start)));
    char decoded[JSON_ESCAPED_NAMES_SIZE_MAX];
    Slice raw;
    bool has_escapes = false;
    if (!json_string_scan(&again, start, &raw, &has_escapes)) {
        return false;
    }
    Slice text = has_escapes ? slice_of(decoded, json_string_decode(raw, decoded)) : raw;
    return slice_equal(text, name);
}

static bool
is_known(const JsonScanner *scanner, const JsonLevel *level, uint32_t hash, Slice name)
{
    const JsonName *first = &scanner->names[level->first_name];
    for (const JsonName *noted = first; noted < first + level->name_count; noted++) {
        if (noted->hash == hash && is_same_name(scanner, noted, name)) {
            return true;
        }
    }
    return false;
}

/* Decodes a name with escapes to where the object's previous one lay. */
static bool
name_decode(JsonScanner *scanner, Slice raw, Slice *ret_name)
{
    JsonLevel *level = level_of(scanner);
    if (raw.size > (size_t)(JSON_ESCAPED_NAMES_SIZE_MAX - level->first_byte)) {
        return json_stop(scanner, raw.data, "a name with escapes is too long");
    }
    char *decoded = scanner->name_bytes + level->first_byte;
    size_t size = json_string_decode(raw, decoded);
    if (memchr(decoded, '\0', size) != NULL) {
        return json_stop(scanner, raw.data, "a name holds the character 0");
    }
    level->byte_count = (uint16_t)size;
    *ret_name = slice_of(decoded, size);
    return true;
}

bool
json_name_add(JsonScanner *scanner, Slice raw, bool has_escapes, Slice *ret_name)
{
    Slice name = raw;
    if (has_escapes && !name_decode(scanner, raw, &name)) {
        return false;
    }
    JsonLevel *level = level_of(scanner);
    uint64_t hash = hash_of(name);
    uint64_t filter_bit = UINT64_C(1) << (hash & 63);
    uint32_t kept_hash = (uint32_t)(hash >> 32);
    if ((level->filter & filter_bit) != 0 && is_known(scanner, level, kept_hash, name)) {
        return json_stop(scanner, raw.data, "an object has this name twice");
    }
    if (level->name_count < JSON_NAMES_COMPARED_MAX) {
        int index = level->first_name + level->name_count;
        if (index >= JSON_OPEN_NAMES_MAX) {
            return json_stop(scanner, raw.data, "objects inside each other have too many names");
        }
        scanner->names[index] =
            (JsonName){.offset = (uint32_t)(raw.data - scanner->start), .hash = kept_hash};
        level->name_count++;
        level->filter |= filter_bit;
    }
    *ret_name = name;
    return true;
}

bool
json_name_keep(JsonScanner *scanner, Arena *arena, Slice *name)
{
    assert(arena != NULL && name != NULL);
    bool is_in_text = name->data >= scanner->start && name->data < scanner->end;
    const char *kept = is_in_text ? name->data : text_copy(arena, *name);
    if (kept == NULL) {
        return json_stop_memory(scanner, "no memory left for a name");
    }
    name->data = kept;
    return true;
}
