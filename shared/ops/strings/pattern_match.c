/* Runs a pattern's program on a text: all threads read the same character, in the order of their precedence,
 * and of those that stand at one instruction only the first goes on. */
#include "shared/base/memory.h"
#include "shared/base/utf8.h"
#include "shared/ops/strings/pattern.h"
#include "shared/ops/strings/pattern_program.h"

typedef struct Thread {
    uint32_t at;  /* the instruction that reads next */
    size_t begin; /* of its match */
} Thread;

typedef struct Threads {
    Thread *items;
    size_t count;
} Threads;

enum { STEP_WORK = 8 }; /* nanoseconds that a thread takes for a character, about */

struct PatternRoom {
    Threads current;
    Threads next;
    uint64_t *marks; /* the turn in which an instruction was reached */
    uint64_t turn;
    uint32_t *stack;
    size_t size;      /* instructions */
    const Call *call; /* NULL: none is watched */
    uint64_t work;
};

PatternRoom *
pattern_room_new(const Pattern *pattern)
{
    PatternRoom *room = memory_new(1, sizeof *room);
    size_t size = pattern_size(pattern);
    if (room == NULL) {
        return NULL;
    }
    room->size = size;
    room->current.items = memory_new(size, sizeof(Thread));
    room->next.items = memory_new(size, sizeof(Thread));
    room->marks = memory_new(size, sizeof *room->marks);
    room->stack = memory_new(2 * size, sizeof *room->stack);
    if (room->current.items == NULL || room->next.items == NULL || room->marks == NULL ||
        room->stack == NULL) {
        pattern_room_free(room);
        return NULL;
    }
    return room;
}

void
pattern_room_watch(PatternRoom *room, const Call *call)
{
    room->call = call;
}

void
pattern_room_free(PatternRoom *room)
{
    if (room != NULL) {
        memory_free(room->current.items);
        memory_free(room->next.items);
        memory_free(room->marks);
        memory_free(room->stack);
        memory_free(room);
    }
}

/* One character of a text, and where it ends; bytes that are no UTF-8 are one replacement character each. */
typedef struct Place {
    Slice text;
    size_t at;
    size_t end;
    uint32_t character;
} Place;

static Place
place_at(Slice text, size_t at)
{
    enum { REPLACEMENT = 0xfffd };
    Place place = {.text = text, .at = at, .end = at + 1, .character = REPLACEMENT};
    size_t size = at < text.size ? utf8_character_size(text.data + at, text.data + text.size) : 0;
    if (size > 0) {
        place.end = at + size;
        place.character = utf8_decode(text.data + at, size);
    }
    return place;
}

static bool
is_word(Slice text, size_t at)
{
    char byte = at < text.size ? text.data[at] : ' ';
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte == '_';
}

/* Returns whether a place is one that an instruction asks for. */
static bool
is_place(InstructionKind kind, const Place *place)
{
    bool is_boundary =
        (place->at > 0 && is_word(place->text, place->at - 1)) != is_word(place->text, place->at);
    return kind == AT_BEGIN           ? place->at == 0
           : kind == AT_END           ? place->at >= place->text.size
           : kind == AT_WORD_BOUNDARY ? is_boundary
                                      : !is_boundary;
}

/* Adds the threads that a thread at this instruction becomes before it reads; each instruction once a
 * turn. */
static void
add_threads(const Pattern *pattern, PatternRoom *room, const Place *place, Thread thread, Threads *threads)
{
    const Instruction *code = pattern_code(pattern);
    size_t depth = 0;
    room->stack[depth++] = thread.at;
    while (depth > 0) {
        uint32_t at = room->stack[--depth];
        const Instruction *instruction = &code[at];
        if (room->marks[at] == room->turn) {
            continue;
        }
        room->marks[at] = room->turn;
        if (instruction->kind == SPLIT) {
            room->stack[depth++] = at + (uint32_t)instruction->second;
            room->stack[depth++] = at + (uint32_t)instruction->first;
        } else if (instruction->kind == JUMP) {
            room->stack[depth++] = at + (uint32_t)instruction->first;
        } else if (instruction->kind == READ_CLASS || instruction->kind == MATCHED) {
            threads->items[threads->count++] = (Thread){.at = at, .begin = thread.begin};
        } else if (is_place(instruction->kind, place)) {
            room->stack[depth++] = at + 1;
        }
    }
}

static bool
reads(const Pattern *pattern, const Instruction *instruction, uint32_t character)
{
    const CharacterRange *ranges = (const CharacterRange *)(const void *)pattern->ranges.data;
    for (int32_t n = 0; n < instruction->second; n++) {
        const CharacterRange *range = &ranges[instruction->first + n];
        if (character >= range->first && character <= range->last) {
            return !instruction->is_negated;
        }
    }
    return instruction->is_negated;
}

typedef struct Search {
    bool is_whole; /* the match is the whole text */
    bool is_found;
    size_t begin;
    size_t end;
} Search;

/* Has all threads read a character; a thread that has matched ends those behind it. */
static void
read_character(const Pattern *pattern, PatternRoom *room, const Place *place, Search *search)
{
    const Instruction *code = pattern_code(pattern);
    Place next = place_at(place->text, place->end);
    room->turn++;
    room->next.count = 0;
    for (size_t n = 0; n < room->current.count; n++) {
        Thread thread = room->current.items[n];
        const Instruction *instruction = &code[thread.at];
        bool is_end = place->at >= place->text.size;
        if (instruction->kind == MATCHED && (is_end || !search->is_whole)) {
            *search = (Search){
                .is_whole = search->is_whole, .is_found = true, .begin = thread.begin, .end = place->at};
            break;
        }
        if (instruction->kind == READ_CLASS && !is_end && reads(pattern, instruction, place->character)) {
            thread.at++;
            add_threads(pattern, room, &next, thread, &room->next);
        }
    }
}

static void
search_text(const Pattern *pattern, Slice text, size_t from, PatternRoom *room, Search *search)
{
    room->current.count = 0;
    room->turn++;
    for (size_t at = from; at <= text.size;) {
        Place place = place_at(text, at);
        bool may_begin = !search->is_found && (at == from || !search->is_whole);
        if (may_begin) {
            add_threads(pattern, room, &place, (Thread){.at = 0, .begin = at}, &room->current);
        }
        bool is_over = room->call != NULL &&
                       call_ends_after(room->call, STEP_WORK * (room->current.count + 1), &room->work);
        if (is_over || (room->current.count == 0 && !may_begin)) {
            return;
        }
        read_character(pattern, room, &place, search);
        Threads read = room->next;
        room->next = room->current;
        room->current = read;
        at = place.end;
    }
}

bool
pattern_matches(const Pattern *pattern, Slice text, PatternRoom *room)
{
    Search search = {.is_whole = true};
    search_text(pattern, text, 0, room, &search);
    return search.is_found;
}

bool
pattern_find(const Pattern *pattern, Slice text, size_t from, PatternRoom *room, Slice *ret_match)
{
    Search search = {.is_whole = false};
    search_text(pattern, text, from, room, &search);
    if (search.is_found) {
        *ret_match = slice_part(text, search.begin, search.end - search.begin);
    }
    return search.is_found;
}
