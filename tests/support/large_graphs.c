#include "tests/support/large_graphs.h"

#include "shared/base/base64.h"

#define FLOAT_T "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}"
#define INT_T "\"attr\":{\"T\":{\"type\":\"DT_INT32\"}}"
#define PLACEHOLDER_X                                                                                        \
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},"                    \
    "\"shape\":{\"shape\":{}}}}"
#define INT_CONST(name, value)                                                                               \
    "{\"name\":\"" name "\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":"         \
    "{\"tensor\":{\"dtype\":\"DT_INT32\",\"tensorShape\":{},\"intVal\":[" value "]}}}}"

void
large_graph_layers(Buffer *json, unsigned count)
{
    buffer_append_string(
        json, "{\"node\":[" PLACEHOLDER_X ",{\"name\":\"n0\",\"op\":\"Neg\",\"input\":[\"x\"]," FLOAT_T "}");
    for (unsigned number = 1; number < count; number++) {
        unsigned older = number < 3 ? 0 : number * 7919U % (number - 1);
        buffer_append_format(json,
            ",{\"name\":\"n%u\",\"op\":\"AddV2\",\"input\":[\"n%u\",\"n%u\"]," FLOAT_T "}", number,
            number - 1, older);
    }
    buffer_append_format(
        json, ",{\"name\":\"y\",\"op\":\"Identity\",\"input\":[\"n%u\"]," FLOAT_T "}]}", count - 1);
}

static void
write_bytes(Buffer *json, Slice bytes)
{
    buffer_append_byte(json, '"');
    size_t size = base64_encoded_size(bytes.size);
    char *text = buffer_reserve(json, size);
    if (text != NULL) {
        base64_encode(bytes, text);
        buffer_grow(json, size);
    }
    buffer_append_byte(json, '"');
}

static void
write_attributes(Buffer *json, unsigned number, unsigned list_size)
{
    AUTO_BUFFER text = {0};
    buffer_append_format(&text, "loc:@n%u", number / 8 * 8);
    buffer_append_string(json, "\"T\":{\"type\":\"DT_FLOAT\"},\"_class\":{\"list\":{\"s\":[");
    write_bytes(json, buffer_slice(&text));
    buffer_append_string(json, "]}},\"_words\":{\"list\":{\"s\":[");
    for (unsigned item = 0; item < list_size; item++) {
        buffer_clear(&text);
        buffer_append_format(&text, "word %u of node %u", item, number);
        buffer_append_string(json, item == 0 ? "" : ",");
        write_bytes(json, buffer_slice(&text));
    }
    buffer_append_string(json, "]}},\"_bytes\":{\"s\":");
    buffer_clear(&text);
    for (unsigned index = 0; index < 300; index++) {
        buffer_append_byte(&text, (char)(number + index * 31));
    }
    write_bytes(json, buffer_slice(&text));
    buffer_append_byte(json, '}');
}

void
large_graph_attributes(Buffer *json, unsigned count, unsigned list_size)
{
    buffer_append_string(json, "{\"node\":[" PLACEHOLDER_X);
    for (unsigned number = 0; number < count; number++) {
        buffer_append_format(json, ",{\"name\":\"n%u\",\"op\":\"Neg\",\"input\":[\"", number);
        if (number == 0) {
            buffer_append_string(json, "x\"],\"attr\":{");
        } else {
            buffer_append_format(json, "n%u\"],\"attr\":{", number - 1);
        }
        write_attributes(json, number, list_size);
        buffer_append_string(json, "}}");
    }
    buffer_append_format(
        json, ",{\"name\":\"y\",\"op\":\"Identity\",\"input\":[\"n%u\"]," FLOAT_T "}]}", count - 1);
}

/* Writes `first`, and for each variable but the first its text, all with commas between them. */
static void
write_list(Buffer *json, unsigned count, const char *first, const char *before, const char *after)
{
    buffer_append_string(json, first);
    for (unsigned number = 1; number < count; number++) {
        buffer_append_format(json, ",%s%u%s", before, number, after);
    }
}

/* Writes the arguments of a loop's functions, of which the first is the counter. */
static void
write_arguments(Buffer *json, unsigned count)
{
    buffer_append_string(json, "\"inputArg\":[");
    write_list(
        json, count, "{\"name\":\"a0\",\"type\":\"DT_INT32\"}", "{\"name\":\"a", "\",\"type\":\"DT_FLOAT\"}");
    buffer_append_byte(json, ']');
}

static void
write_condition(Buffer *json, unsigned count)
{
    buffer_append_string(json, "{\"signature\":{\"name\":\"more\",");
    write_arguments(json, count);
    buffer_append_string(json,
        ",\"outputArg\":[{\"name\":\"go\",\"type\":\"DT_BOOL\"}]},\"nodeDef\":[" INT_CONST(
            "limit", "3") ",{\"name\":\"less\",\"op\":\"Less\",\"input\":[\"a0\",\"limit:output:0\"]," INT_T
                          "}],\"ret\":{\"go\":\"less:z:0\"}}");
}

static void
write_body(Buffer *json, unsigned count)
{
    buffer_append_string(json, "{\"signature\":{\"name\":\"turn\",");
    write_arguments(json, count);
    buffer_append_string(json, ",\"outputArg\":[");
    write_list(
        json, count, "{\"name\":\"r0\",\"type\":\"DT_INT32\"}", "{\"name\":\"r", "\",\"type\":\"DT_FLOAT\"}");
    buffer_append_string(
        json, "]},\"nodeDef\":[" INT_CONST("one",
                  "1") ",{\"name\":\"s0\",\"op\":\"AddV2\",\"input\":[\"a0\",\"one:output:0\"]," INT_T "}");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_format(json,
            ",{\"name\":\"s%u\",\"op\":\"AddV2\",\"input\":[\"a%u\",\"a%u\"]," FLOAT_T "}", number, number,
            number == 1 ? count - 1 : number - 1);
    }
    buffer_append_string(json, "],\"ret\":{\"r0\":\"s0:z:0\"");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_format(json, ",\"r%u\":\"s%u:z:0\"", number, number);
    }
    buffer_append_string(json, "}}");
}

/* Writes the node "y", the sum of the outputs of "f" from the first to the one before `end`. */
static void
write_sum(Buffer *json, unsigned first, unsigned end)
{
    buffer_append_format(json, "{\"name\":\"y\",\"op\":\"AddN\",\"input\":[\"f:%u\"", first);
    for (unsigned number = first + 1; number < end; number++) {
        buffer_append_format(json, ",\"f:%u\"", number);
    }
    buffer_append_format(
        json, "],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"},\"N\":{\"i\":\"%u\"}}}", end - first);
}

void
large_graph_while(Buffer *json, unsigned count)
{
    buffer_append_string(json, "{\"node\":[" PLACEHOLDER_X "," INT_CONST("zero",
                                   "0") ",{\"name\":\"f\",\"op\":\"StatelessWhile\",\"input\":[\"zero\"");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_string(json, ",\"x\"");
    }
    buffer_append_string(json,
        "],\"attr\":{\"cond\":{\"func\":{\"name\":\"more\"}},\"body\":{\"func\":{\"name\":"
        "\"turn\"}},\"T\":{\"list\":{\"type\":[\"DT_INT32\"");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_string(json, ",\"DT_FLOAT\"");
    }
    buffer_append_string(json, "]}}}},");
    write_sum(json, 1, count);
    buffer_append_string(json, "],\"library\":{\"function\":[");
    write_condition(json, count);
    buffer_append_byte(json, ',');
    write_body(json, count);
    buffer_append_string(json, "]}}");
}

static void
write_floats(Buffer *json, unsigned count, const char *list, char letter)
{
    buffer_append_format(json, ",\"%s\":[", list);
    for (unsigned number = 0; number < count; number++) {
        buffer_append_format(
            json, "%s{\"name\":\"%c%u\",\"type\":\"DT_FLOAT\"}", number == 0 ? "" : ",", letter, number);
    }
    buffer_append_byte(json, ']');
}

/* Writes a function that negates each of its arguments, or what the function `called` gives for them. */
static void
write_negation(Buffer *json, unsigned count, const char *name, const char *called)
{
    buffer_append_format(json, "{\"signature\":{\"name\":\"%s\"", name);
    write_floats(json, count, "inputArg", 'a');
    write_floats(json, count, "outputArg", 'r');
    buffer_append_string(json, "},\"nodeDef\":[{\"name\":\"start\",\"op\":\"NoOp\"}");
    if (called != NULL) {
        buffer_append_format(json, ",{\"name\":\"c\",\"op\":\"%s\",\"input\":[", called);
        write_list(json, count, "\"a0\"", "\"a", "\"");
        buffer_append_string(json, "]}");
    }
    for (unsigned number = 0; number < count; number++) {
        buffer_append_format(json, ",{\"name\":\"s%u\",\"op\":\"Neg\",\"input\":[\"%s%u%s\"]," FLOAT_T "}",
            number, called == NULL ? "a" : "c:r", number, called == NULL ? "" : ":0");
    }
    buffer_append_string(json, "],\"ret\":{\"r0\":\"s0:y:0\"");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_format(json, ",\"r%u\":\"s%u:y:0\"", number, number);
    }
    buffer_append_string(json, "}}");
}

void
large_graph_call(Buffer *json, unsigned count)
{
    buffer_append_string(
        json, "{\"node\":[" PLACEHOLDER_X ",{\"name\":\"f\",\"op\":\"outer\",\"input\":[\"x\"");
    for (unsigned number = 1; number < count; number++) {
        buffer_append_string(json, ",\"x\"");
    }
    buffer_append_string(json, "]},");
    write_sum(json, 0, count);
    buffer_append_string(json, "],\"library\":{\"function\":[");
    write_negation(json, count, "outer", "inner");
    buffer_append_byte(json, ',');
    write_negation(json, count, "inner", NULL);
    buffer_append_string(json, "]}}");
}
