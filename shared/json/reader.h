/* Reads JSON objects into structs by tables: a row says how a member is called, what it holds and where it
 * goes. Every object whose members are known is read with this, from one of two sources:
 *
 *   - a stream, for what is large or hot: members are read as the scanner meets them, and the first fault
 *     ends it. json_read_object() is its one loop; json_stream_read() reads a whole text.
 *   - a document, for small bodies that people write: json_document_read() notes every fault with its
 *     pointer, in the order of the table. cJSON decodes the values one at a time, so that what is large (a
 *     member read as JSON_TEXT) never becomes a tree. Integers are read from the source, as cJSON's numbers
 *     are doubles.
 *
 *     static const JsonMember peer_members[] = {
 *         {"slot", JSON_INT64, .offset = offsetof(Peer, slot)},
 *         {"address", JSON_SLICE, .offset = offsetof(Peer, address)},
 *     };
 *     static const JsonTable peer_table = JSON_TABLE("a peer", peer_members);
 *
 * Ownership: strings and lists lie in the text or in call->arena.
 * Threads:   one at a time; tables may be shared.
 * Errors:    INVALID_ARGUMENT with line and column, or naming the member; RESOURCE_EXHAUSTED without
 * memory. */
#pragma once

#include "shared/base/call.h"
#include "shared/json/scanner.h"

typedef enum JsonType {
    JSON_BY_FUNCTION, /* the row's `read` reads it */
    JSON_SLICE,       /* Slice: a string */
    JSON_STRING_COPY, /* const char *: a string without the character 0, copied */
    JSON_BOOLEAN,     /* bool */
    JSON_INT64,       /* int64_t */
    JSON_UINT64,      /* uint64_t */
    JSON_FLOAT,       /* float */
    JSON_DOUBLE,      /* double */
    JSON_TEXT,        /* Slice: the value's own text, of any kind */
    JSON_IGNORED,     /* nothing: the value is validated and dropped */
    JSON_STRUCT,      /* a struct, by the row's `table` */
    JSON_LIST,        /* a pointer to items in call->arena and after it their count, a size_t; by `list` */
    JSON_ROOM,        /* room for list->count_max items and after it their count, a size_t */
} JsonType;

typedef struct JsonReader JsonReader;
typedef struct JsonMember JsonMember;
typedef struct JsonTable JsonTable;
typedef struct JsonList JsonList;

/* Reads one value to `target`, to which the member's offset has been added. */
typedef Status (*JsonRead)(JsonReader *reader, const JsonMember *member, void *target);

struct JsonMember {
    const char *name;
    JsonType type;
    size_t offset;
    bool is_required; /* checked in documents; the reader of a stream compares with the defaults that it
                       * set */
    int64_t minimum;  /* bounds of an integer, or of a string's bytes; both 0: none */
    int64_t maximum;
    JsonRead read;
    const JsonTable *table;
    const JsonList *list;
};

struct JsonTable {
    const char *name;    /* the object, in messages: "NodeDef has no member 'x'" */
    const char *pointer; /* to the object in its document, in ErrorDetails; NULL: the document itself */
    const JsonMember *members;
    size_t member_count;
};

#define JSON_TABLE(table_name, rows)                                                                         \
    {                                                                                                        \
        .name = (table_name), .members = (rows), .member_count = COUNT_OF(rows)                              \
    }

/* Items of one kind, in an array or a map. A map is an object whose members' names go into the Slice at
 * the start of each item. */
struct JsonList {
    JsonMember item; /* its name is not read; its offset is within the item */
    size_t item_size;
    size_t count_max;
    const char *too_many; /* the fault past count_max */
    bool is_map;
};

typedef enum JsonUnknown {
    JSON_UNKNOWN_IS_REFUSED, /* "<table's name> has no member '…'" */
    JSON_UNKNOWN_IS_NOTED,   /* refused, with line and column and an ErrorDetail that points to it */
    JSON_UNKNOWN_IS_SKIPPED, /* a newer sender may say more */
} JsonUnknown;

/* The manners of a kind of JSON. */
typedef struct JsonDialect {
    JsonUnknown unknown;
    bool null_is_absent;
    bool has_snake_case;    /* "tensor_shape" is "tensorShape", as in protobuf's JSON mapping */
    bool skips_other_kinds; /* a value of another kind than its row's counts as absent */
} JsonDialect;

struct JsonReader {
    Call *call;
    JsonScanner *scanner; /* apart: it is large and need not be cleared */
    const JsonDialect *dialect;
    void *context;                 /* for the read functions of rows */
    const JsonList *passed;        /* the list that had more than its count_max */
    const struct JsonValue *value; /* while a document is read: the one that comes next */
};

/* Reads the object that comes next. Members that are absent leave what `target` held. */
MUST_USE Status json_read_object(JsonReader *reader, const JsonTable *table, void *target);

/* Reads one value as `member` says, to target + member->offset. */
MUST_USE Status json_read_value(JsonReader *reader, const JsonMember *member, void *target);

/* Reads an array or a map. `target` is a pointer to items and behind it their count, as of JSON_LIST; it may
 * hold some already. Both grow as items are read, so that an item may refer to those before it. */
MUST_USE Status json_read_list(JsonReader *reader, const JsonList *list, void *target);

/* Returns the list with room for one more item, which is zero; the room doubles when it is used up. NULL
 * without memory: the scanner has stopped then. */
void *json_list_grow(JsonReader *reader, const void *items, size_t count, size_t item_size);

/* The scanner's fault as a Status: for a call that has just returned false. */
MUST_USE Status json_reader_fault(JsonReader *reader);

/* Stops the scanner with a literal message, and is its fault. */
MUST_USE Status json_reader_refuse(JsonReader *reader, const char *message);

/* Reads a whole text that is one object. */
MUST_USE Status json_stream_read(
    Call *call, Slice text, const JsonDialect *dialect, const JsonTable *table, void *ret_struct);

/* Reads a small document; its table has no functions, structs and lists. `null` counts as absent.
 * INVALID_ARGUMENT has one ErrorDetail a fault. */
MUST_USE Status json_document_read(Call *call, Slice text, const JsonTable *table, void *ret_struct);
