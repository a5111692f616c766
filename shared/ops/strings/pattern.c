/* Compiles a pattern by recursive descent. An alternative, a repetition is written around code that is there
 * already. */
#include "shared/ops/strings/pattern.h"

#include "shared/base/memory.h"
#include "shared/base/utf8.h"
#include "shared/ops/strings/pattern_program.h"

enum {
    CODE_MAX = 20000, /* instructions */
    DEPTH_MAX = 100,  /* groups in groups */
    REPEAT_MAX = 1000,
    CHARACTER_MAX = 0x10ffff,
};

typedef struct Parser {
    Call *call;
    Pattern *pattern;
    Slice text;
    size_t next;
    int depth;
} Parser;

static Status parse_alternatives(Parser *parser);

static Status
fail(const Parser *parser, const char *what)
{
    return call_fail(parser->call, STATUS_INVALID_ARGUMENT, "pattern '%.*s': %s at byte %zu",
        SLICE_PRINT(slice_part(parser->text, 0, 128)), what, parser->next);
}

static Status
refuse(const Parser *parser, const char *what)
{
    return call_fail(parser->call, STATUS_UNIMPLEMENTED, "pattern '%.*s': %s cannot be matched (byte %zu)",
        SLICE_PRINT(slice_part(parser->text, 0, 128)), what, parser->next);
}

static bool
is_at_end(const Parser *parser)
{
    return parser->next >= parser->text.size;
}

static bool
is_next(const Parser *parser, const char *text)
{
    return slice_starts_with(slice_part(parser->text, parser->next, SIZE_MAX), slice_from_string(text));
}

/* Skips the text when it is next. */
static bool
take(Parser *parser, const char *text)
{
    bool is_there = is_next(parser, text);
    parser->next += is_there ? strlen(text) : 0;
    return is_there;
}

static Status
emit(Parser *parser, Instruction instruction)
{
    if (pattern_size(parser->pattern) >= CODE_MAX) {
        return call_fail(parser->call, STATUS_RESOURCE_EXHAUSTED,
            "pattern '%.*s' is larger than %d instructions", SLICE_PRINT(slice_part(parser->text, 0, 128)),
            CODE_MAX);
    }
    buffer_append(&parser->pattern->code, &instruction, sizeof instruction);
    return buffer_is_ok(&parser->pattern->code) ? STATUS_OK : call_fail_memory(parser->call, "a pattern");
}

/* Emits an instruction in front of the code that begins at `place`. */
static Status
insert(Parser *parser, size_t place, Instruction instruction)
{
    TRY(emit(parser, instruction));
    Instruction *code = (Instruction *)(void *)parser->pattern->code.data;
    size_t behind = pattern_size(parser->pattern) - 1 - place;
    memmove(code + place + 1, code + place, behind * sizeof *code);
    code[place] = instruction;
    return STATUS_OK;
}

static Status
add_range(Parser *parser, uint32_t first, uint32_t last)
{
    CharacterRange range = {first, last};
    buffer_append(&parser->pattern->ranges, &range, sizeof range);
    return buffer_is_ok(&parser->pattern->ranges) ? STATUS_OK : call_fail_memory(parser->call, "a pattern");
}

static size_t
range_count(const Parser *parser)
{
    return parser->pattern->ranges.size / sizeof(CharacterRange);
}

/* Emits an instruction that reads a character of the ranges from `first` on. */
static Status
emit_class(Parser *parser, size_t first, bool is_negated)
{
    return emit(parser, (Instruction){.kind = READ_CLASS,
                            .is_negated = is_negated,
                            .first = (int32_t)first,
                            .second = (int32_t)(range_count(parser) - first)});
}

/* Reads a character as it stands. */
static Status
take_character(Parser *parser, uint32_t *ret_character)
{
    const char *text = parser->text.data + parser->next;
    size_t size = utf8_character_size(text, parser->text.data + parser->text.size);
    if (size == 0) {
        return fail(parser, "it is not UTF-8");
    }
    *ret_character = utf8_decode(text, size);
    parser->next += size;
    return STATUS_OK;
}

/* The ranges that \d, \s and \w stand for, in their order. */
static const struct {
    char name;
    size_t count;
    CharacterRange ranges[4];
} shorthands[] = {
    {'d', 1, {{'0', '9'}}},
    {'s', 3, {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
    {'w', 4, {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
};

/* Adds the ranges of \d and its like, or all that lies between them for \D; *ret_is_one false: the letter
 * stands for none. */
static Status
add_shorthand(Parser *parser, char letter, bool *ret_is_one)
{
    bool is_opposite = letter >= 'A' && letter <= 'Z';
    char name = is_opposite ? (char)(letter - 'A' + 'a') : letter;
    *ret_is_one = false;
    for (size_t row = 0; row < COUNT_OF(shorthands); row++) {
        uint32_t next = 0;
        for (size_t index = 0; name == shorthands[row].name && index < shorthands[row].count; index++) {
            CharacterRange range = shorthands[row].ranges[index];
            TRY(is_opposite ? add_range(parser, next, range.first - 1)
                            : add_range(parser, range.first, range.last));
            next = range.last + 1;
            *ret_is_one = true;
        }
        if (name == shorthands[row].name && is_opposite) {
            TRY(add_range(parser, next, CHARACTER_MAX));
        }
    }
    return STATUS_OK;
}

/* Returns the value of a hexadecimal digit; -1 for any other byte. */
static int
digit_value(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    char small = byte >= 'A' && byte <= 'F' ? (char)(byte - 'A' + 'a') : byte;
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* Reads the digits of \x41 or \x{263a}. */
static Status
take_hexadecimal(Parser *parser, uint32_t *ret_character)
{
    bool is_braced = take(parser, "{");
    size_t first = parser->next;
    size_t end = first + (is_braced ? 6 : 2);
    uint32_t value = 0;
    while (parser->next < end && !is_at_end(parser) && digit_value(parser->text.data[parser->next]) >= 0) {
        value = value * 16 + (uint32_t)digit_value(parser->text.data[parser->next++]);
    }
    if (parser->next == first || value > CHARACTER_MAX || (is_braced && !take(parser, "}"))) {
        return fail(parser, "no character has this number");
    }
    *ret_character = value;
    return STATUS_OK;
}

/* Reads the character behind a backslash that stands for no class. */
static Status
take_escape(Parser *parser, uint32_t *ret_character)
{
    static const char letters[] = "tnrfva";
    static const char values[] = "\t\n\r\f\v\a";
    if (is_at_end(parser)) {
        return fail(parser, "a backslash ends it");
    }
    if (take(parser, "x")) {
        return take_hexadecimal(parser, ret_character);
    }
    char letter = parser->text.data[parser->next];
    const char *found = strchr(letters, letter);
    if (found != NULL && letter != '\0') {
        parser->next++;
        *ret_character = (unsigned char)values[found - letters];
        return STATUS_OK;
    }
    bool is_word = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                   (letter >= 'a' && letter <= 'z');
    return is_word ? refuse(parser, "this escape") : take_character(parser, ret_character);
}

/* Reads one end of a range of a class; *ret_is_class: it was \d or its like, whose ranges are added. */
static Status
take_class_item(Parser *parser, uint32_t *ret_character, bool *ret_is_class)
{
    *ret_is_class = false;
    if (is_next(parser, "[:")) {
        return refuse(parser, "a named class");
    }
    if (!take(parser, "\\")) {
        return take_character(parser, ret_character);
    }
    if (!is_at_end(parser)) {
        TRY(add_shorthand(parser, parser->text.data[parser->next], ret_is_class));
        parser->next += *ret_is_class ? 1 : 0;
    }
    return *ret_is_class ? STATUS_OK : take_escape(parser, ret_character);
}

/* Reads a class behind its '['. A ']' in the first place stands for itself. */
static Status
parse_class(Parser *parser)
{
    size_t first = range_count(parser);
    bool is_negated = take(parser, "^");
    for (bool is_first = true; is_first || !take(parser, "]"); is_first = false) {
        uint32_t low = 0;
        bool is_class = false;
        if (is_at_end(parser)) {
            return fail(parser, "a class is not closed");
        }
        TRY(take_class_item(parser, &low, &is_class));
        uint32_t high = low;
        if (!is_class && is_next(parser, "-") && !is_next(parser, "-]")) {
            bool is_other = false;
            parser->next++;
            TRY(is_at_end(parser) ? fail(parser, "a class is not closed")
                                  : take_class_item(parser, &high, &is_other));
            if (is_other || high < low) {
                return fail(parser, "a range of characters ends before it begins");
            }
        }
        TRY(is_class ? STATUS_OK : add_range(parser, low, high));
    }
    return emit_class(parser, first, is_negated);
}

static Status
parse_group(Parser *parser)
{
    if (take(parser, "?P<") || take(parser, "?<")) {
        size_t end = slice_find(slice_part(parser->text, parser->next, SIZE_MAX), '>');
        parser->next += end + 1;
    } else if (is_next(parser, "?") && !take(parser, "?:")) {
        return refuse(parser, "a flag");
    }
    if (++parser->depth > DEPTH_MAX) {
        return fail(parser, "groups nest too deep");
    }
    TRY(parse_alternatives(parser));
    parser->depth--;
    return take(parser, ")") ? STATUS_OK : fail(parser, "a group is not closed");
}

static Status
parse_escape(Parser *parser)
{
    static const struct {
        const char *letter;
        InstructionKind kind;
    } places[] = {{"b", AT_WORD_BOUNDARY}, {"B", NOT_AT_WORD_BOUNDARY}, {"A", AT_BEGIN}, {"z", AT_END}};
    size_t first = range_count(parser);
    bool is_class = false;
    uint32_t character = 0;
    for (size_t index = 0; index < COUNT_OF(places); index++) {
        if (take(parser, places[index].letter)) {
            return emit(parser, (Instruction){.kind = places[index].kind});
        }
    }
    if (!is_at_end(parser)) {
        TRY(add_shorthand(parser, parser->text.data[parser->next], &is_class));
    }
    if (is_class) {
        parser->next++;
        return emit_class(parser, first, false);
    }
    TRY(take_escape(parser, &character));
    TRY(add_range(parser, character, character));
    return emit_class(parser, first, false);
}

static Status
parse_atom(Parser *parser)
{
    size_t first = range_count(parser);
    uint32_t character = 0;
    if (take(parser, "(")) {
        return parse_group(parser);
    }
    if (take(parser, "[")) {
        return parse_class(parser);
    }
    if (take(parser, "\\")) {
        return parse_escape(parser);
    }
    if (take(parser, "^")) {
        return emit(parser, (Instruction){.kind = AT_BEGIN});
    }
    if (take(parser, "$")) {
        return emit(parser, (Instruction){.kind = AT_END});
    }
    if (is_next(parser, "*") || is_next(parser, "+") || is_next(parser, "?")) {
        return fail(parser, "there is nothing to repeat");
    }
    bool is_any = take(parser, ".");
    character = '\n';
    TRY(is_any ? STATUS_OK : take_character(parser, &character));
    TRY(add_range(parser, character, character));
    return emit_class(parser, first, is_any);
}

/* Emits a fork around the last `size` instructions: with or without them. */
static Status
wrap_optional(Parser *parser, size_t place, int32_t jump, bool is_lazy)
{
    int32_t behind = (int32_t)(pattern_size(parser->pattern) - place) + 1 + jump;
    return insert(parser, place,
        (Instruction){.kind = SPLIT, .first = is_lazy ? behind : 1, .second = is_lazy ? 1 : behind});
}

/* Makes the code from `place` on repeat any number of times. */
static Status
wrap_loop(Parser *parser, size_t place, bool is_lazy)
{
    TRY(wrap_optional(parser, place, 1, is_lazy));
    int32_t back = (int32_t)(pattern_size(parser->pattern) - place);
    return emit(parser, (Instruction){.kind = JUMP, .first = -back});
}

typedef struct Repeat {
    int64_t least;
    int64_t most; /* -1: any number */
} Repeat;

/* Makes the code from `place` on run once or more. */
static Status
repeat_behind(Parser *parser, size_t place, bool is_lazy)
{
    int32_t back = -(int32_t)(pattern_size(parser->pattern) - place);
    return emit(
        parser, (Instruction){.kind = SPLIT, .first = is_lazy ? 1 : back, .second = is_lazy ? back : 1});
}

/* Replaces the code from `place` on by copies of it. */
static Status
copy_code(Parser *parser, size_t place, Repeat repeat, bool is_lazy)
{
    AUTO_BUFFER block = {0};
    Buffer *code = &parser->pattern->code;
    size_t bytes = place * sizeof(Instruction);
    buffer_append(&block, code->data + bytes, code->size - bytes);
    if (!buffer_is_ok(&block)) {
        return call_fail_memory(parser->call, "a pattern");
    }
    code->size = bytes;
    int64_t copies = repeat.most < 0 ? repeat.least + 1 : repeat.most;
    for (int64_t copy = 0; copy < copies; copy++) {
        size_t begin = pattern_size(parser->pattern);
        for (size_t n = 0; n < block.size / sizeof(Instruction); n++) {
            TRY(emit(parser, ((const Instruction *)(const void *)block.data)[n]));
        }
        if (copy >= repeat.least) {
            TRY(repeat.most < 0 ? wrap_loop(parser, begin, is_lazy)
                                : wrap_optional(parser, begin, 0, is_lazy));
        }
    }
    return STATUS_OK;
}

static bool
take_number(Parser *parser, int64_t *ret_number)
{
    size_t first = parser->next;
    int64_t number = 0;
    while (!is_at_end(parser) && parser->text.data[parser->next] >= '0' &&
           parser->text.data[parser->next] <= '9' && number <= REPEAT_MAX) {
        number = number * 10 + (parser->text.data[parser->next++] - '0');
    }
    *ret_number = number;
    return parser->next > first;
}

/* Reads "{2}", "{2,}" or "{2,5}"; what has another form stands for itself, as in RE2. */
static Status
take_counts(Parser *parser, Repeat *ret_repeat, bool *ret_is_there)
{
    size_t first = parser->next;
    Repeat repeat = {.most = -1};
    *ret_is_there = take(parser, "{") && take_number(parser, &repeat.least);
    bool has_comma = *ret_is_there && take(parser, ",");
    bool has_most = has_comma && take_number(parser, &repeat.most);
    repeat.most = !has_comma ? repeat.least : has_most ? repeat.most : -1;
    *ret_is_there = *ret_is_there && take(parser, "}");
    if (!*ret_is_there) {
        parser->next = first;
        return STATUS_OK;
    }
    *ret_repeat = repeat;
    bool is_right = repeat.least <= REPEAT_MAX && repeat.most <= REPEAT_MAX &&
                    (repeat.most < 0 || repeat.most >= repeat.least);
    return is_right ? STATUS_OK : fail(parser, "the number of repetitions is wrong");
}

static Status
parse_repeat(Parser *parser)
{
    static const struct {
        const char *sign;
        Repeat repeat;
    } signs[] = {{"*", {0, -1}}, {"+", {1, -1}}, {"?", {0, 1}}};
    size_t place = pattern_size(parser->pattern);
    TRY(parse_atom(parser));
    for (;;) {
        Repeat repeat = {.most = -1};
        bool is_there = false;
        for (size_t index = 0; !is_there && index < COUNT_OF(signs); index++) {
            is_there = take(parser, signs[index].sign);
            repeat = signs[index].repeat;
        }
        TRY(is_there ? STATUS_OK : take_counts(parser, &repeat, &is_there));
        if (!is_there) {
            return STATUS_OK;
        }
        bool is_lazy = take(parser, "?");
        bool is_plus = repeat.least == 1 && repeat.most < 0;
        TRY(is_plus ? repeat_behind(parser, place, is_lazy) : copy_code(parser, place, repeat, is_lazy));
    }
}

static Status
parse_sequence(Parser *parser)
{
    while (!is_at_end(parser) && !is_next(parser, "|") && !is_next(parser, ")")) {
        TRY(parse_repeat(parser));
    }
    return STATUS_OK;
}

static Status
parse_alternatives(Parser *parser)
{
    size_t place = pattern_size(parser->pattern);
    for (;;) {
        TRY(parse_sequence(parser));
        if (!take(parser, "|")) {
            return STATUS_OK;
        }
        TRY(wrap_optional(parser, place, 1, false));
        size_t jump = pattern_size(parser->pattern);
        TRY(emit(parser, (Instruction){.kind = JUMP}));
        size_t other = pattern_size(parser->pattern);
        TRY(parse_sequence(parser));
        int32_t length = (int32_t)(pattern_size(parser->pattern) - other) + 1;
        ((Instruction *)(void *)parser->pattern->code.data)[jump].first = length;
    }
}

Status
pattern_new(Call *call, Slice text, Pattern **ret_pattern)
{
    Pattern *pattern = memory_new(1, sizeof *pattern);
    Parser parser = {.call = call, .pattern = pattern, .text = text};
    if (pattern == NULL) {
        return call_fail_memory(call, "a pattern");
    }
    Status status = parse_alternatives(&parser);
    if (status == STATUS_OK && !is_at_end(&parser)) {
        status = fail(&parser, "a group is closed that was not opened");
    }
    status = status == STATUS_OK ? emit(&parser, (Instruction){.kind = MATCHED}) : status;
    if (status != STATUS_OK) {
        pattern_free(pattern);
        return status;
    }
    *ret_pattern = pattern;
    return STATUS_OK;
}

void
pattern_free(Pattern *pattern)
{
    if (pattern != NULL) {
        buffer_done(&pattern->code);
        buffer_done(&pattern->ranges);
        memory_free(pattern);
    }
}
