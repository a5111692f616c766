#include "gateway/http/multipart.h"

#include "shared/base/buffer.h"
#include "tests/support/call_fixture.h"

static Status
note_part(Call *call, void *context, const MultipartPart *part)
{
    (void)call;
    buffer_append_format(context, "[%.*s|%.*s]", SLICE_PRINT(part->name), SLICE_PRINT(part->media_type));
    return STATUS_OK;
}

static Status
note_data(Call *call, void *context, Slice piece)
{
    (void)call;
    assert_true(piece.size > 0);
    buffer_append_slice(context, piece);
    return STATUS_OK;
}

static Status
note_end(Call *call, void *context)
{
    (void)call;
    buffer_append_byte(context, ';');
    return STATUS_OK;
}

static const MultipartEvents events = {.on_part = note_part, .on_data = note_data, .on_part_end = note_end};

enum { PARTS_MAX = 3 };

/* Reads the body in two writes, divided at `cut`. */
static Status
read_cut(Call *call, Slice body, size_t cut, Buffer *ret_notes)
{
    Multipart *multipart = NULL;
    MultipartOptions options = {
        .boundary = SLICE("b-1"),
        .part_count_max = PARTS_MAX,
        .part_limit = "step_feeds",
        .events = &events,
        .context = ret_notes,
    };
    buffer_clear(ret_notes);
    TRY(multipart_new(call, &options, &multipart));
    TRY(multipart_write(call, multipart, slice_part(body, 0, cut)));
    TRY(multipart_write(call, multipart, slice_part(body, cut, body.size)));
    return multipart_end(call, multipart);
}

#define HEAD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n"

static void
a_body_reads_the_same_wherever_it_is_cut(void **state)
{
    Call *call = *state;
    static const char body[] = "--b-1\r\n" HEAD(
        "request") "\r\n{\"a\":1}\r\n"
                   "--b-1\r\n" HEAD(
                       "x:0") "Content-Type: application/x-npy; charset=binary\r\nX-More: yes\r\n\r\n"
                              "\r\r\n\r\n-\r\n--b-\r\n--\r\n--b\r\r\n--b-2--b-1\r\n--b-1\r\n"
                              "content-disposition:form-data;filename=\"a\\\"b\";name=y\r\ncontent-transfer-"
                              "encoding: BINARY\r\n\r\n"
                              "\r\n--b-1--\r\n";
    static const char expected[] = "[request|]{\"a\":1};"
                                   "[x:0|application/x-npy]\r\r\n\r\n-\r\n--b-\r\n--\r\n--b\r\r\n--b-2--b-1;"
                                   "[y|];";
    AUTO_BUFFER notes = {0};
    for (size_t cut = 0; cut < sizeof body; cut++) {
        if (read_cut(call, slice_from_string(body), cut, &notes) != STATUS_OK) {
            fail_msg("cut at %zu: %s", cut, call->error.message);
        }
        assert_string_equal(buffer_string(&notes), expected);
    }
}

static void
the_last_line_end_may_be_missing(void **state)
{
    Call *call = *state;
    AUTO_BUFFER notes = {0};
    assert_int_equal(read_cut(call, SLICE("--b-1\r\n" HEAD("x") "\r\n1\r\n--b-1--"), 5, &notes), STATUS_OK);
    assert_string_equal(buffer_string(&notes), "[x|]1;");
    assert_int_equal(read_cut(call, SLICE("--b-1--\r\n"), 8, &notes), STATUS_OK);
    assert_int_equal(notes.size, 0);
}

static void
names_lose_both_kinds_of_escapes(void **state)
{
    Call *call = *state;
    AUTO_BUFFER notes = {0};
    static const char body[] = "--b-1\r\n" HEAD("a\\\"\\\\b%22%0D%0A%41") "\r\n\r\n--b-1--\r\n";
    assert_int_equal(read_cut(call, slice_from_string(body), 0, &notes), STATUS_OK);
    assert_string_equal(buffer_string(&notes), "[a\"\\b\"\r\n%41|];");
}

static void
what_is_wrong_is_said_with_its_part_and_byte(void **state)
{
    Call *call = *state;
    static const struct {
        const char *body;
        const char *message;
    } cases[] = {
        {"", "byte 0, part 0: the body ends before its closing boundary"},
        {"\r\n--b-1\r\n", "byte 0, part 0: the body does not begin with the boundary"},
        {"--b-2\r\n", "byte 4, part 0: the body does not begin with the boundary"},
        {"--b-1 \r\n", "byte 5, part 0: behind a boundary stands neither a line end nor '--'"},
        {"--b-1\n", "byte 5, part 0: behind a boundary stands neither a line end nor '--'"},
        {"--b-1\r-", "byte 6, part 0: behind a boundary stands neither a line end nor '--'"},
        {"--b-1-\n", "byte 6, part 0: behind a boundary stands neither a line end nor '--'"},
        {"--b-1\r\n\r\n", "byte 9, part 1: the part has no Content-Disposition"},
        {"--b-1\r\nA: b\n\r\n", "byte 12, part 1: a header line ends without a carriage return"},
        {"--b-1\r\nA b\r\n\r\n", "byte 14, part 1: a header cannot be read"},
        {"--b-1\r\n: b\r\n\r\n", "byte 14, part 1: a header cannot be read"},
        {"--b-1\r\nA: \x01\r\n\r\n", "byte 15, part 1: a header cannot be read"},
        {"--b-1\r\n folded: 1\r\n\r\n", "byte 21, part 1: a header cannot be read"},
        {"--b-1\r\nContent-Disposition: attachment; name=x\r\n\r\n",
            "part 1: Content-Disposition is not form-data"},
        {"--b-1\r\nContent-Disposition: form-data; name\r\n\r\n", "Content-Disposition cannot be read"},
        {"--b-1\r\nContent-Disposition: form-data; name=\"x\r\n\r\n", "Content-Disposition cannot be read"},
        {"--b-1\r\nContent-Disposition: form-data; name=\"x\\\r\n\r\n", "Content-Disposition cannot be read"},
        {"--b-1\r\nContent-Disposition: form-data; name=\"x\" y=1\r\n\r\n",
            "Content-Disposition cannot be read"},
        {"--b-1\r\nContent-Disposition: form-data\r\n\r\n", "the part has no name"},
        {"--b-1\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n", "the part has no name"},
        {"--b-1\r\nContent-Disposition: form-data; name=x; name=y\r\n\r\n", "the part has two names"},
        {"--b-1\r\n" HEAD("x") HEAD("x") "\r\n", "Content-Disposition stands there twice"},
        {"--b-1\r\n" HEAD("x") "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n",
            "Content-Type stands there twice"},
        {"--b-1\r\n" HEAD("x") "Content-Transfer-Encoding: base64\r\n\r\n",
            "Content-Transfer-Encoding is not binary"},
        {"--b-1\r\n" HEAD("x") "\r\n1\r\n--b-1",
            "byte 59, part 1: the body ends before its closing boundary"},
        {"--b-1\r\n" HEAD("x") "\r\n1\r\n--b-1--\r", "part 1: the body ends before its closing boundary"},
        {"--b-1\r\n" HEAD("x") "\r\n1\r\n--b-1--x",
            "byte 61, part 1: something follows the closing boundary"},
        {"--b-1--\r\n\r\n", "byte 9, part 0: something follows the closing boundary"},
    };
    AUTO_BUFFER notes = {0};
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        Slice body = slice_from_string(cases[index].body);
        for (size_t cut = 0; cut <= body.size; cut++) {
            assert_int_equal(read_cut(call, body, cut, &notes), STATUS_INVALID_ARGUMENT);
            assert_true(strncmp(call->error.message, "the multipart body: ", 20) == 0);
            if (strstr(call->error.message, cases[index].message) == NULL) {
                fail_msg("'%s' cut at %zu: %s", cases[index].body, cut, call->error.message);
            }
        }
    }
}

static void
parts_are_counted(void **state)
{
    Call *call = *state;
    static const char body[] = "--b-1\r\n" HEAD("x") "\r\n\r\n--b-1\r\n" HEAD("x") "\r\n\r\n--b-1\r\n" HEAD(
        "x") "\r\n\r\n--b-1\r\n" HEAD("x") "\r\n\r\n--b-1--";
    static const char fourth[] = "--b-1\r\n" HEAD("x") "\r\n\r\n";
    AUTO_BUFFER notes = {0};
    assert_int_equal(read_cut(call, slice_from_string(body), 9, &notes), STATUS_OUT_OF_RANGE);
    assert_string_equal(
        call->error.message, "the multipart body has more than 3 parts: the limit step_feeds");
    Slice three = slice_from_string(body + sizeof fourth - 1);
    assert_int_equal(read_cut(call, three, 9, &notes), STATUS_OK);
}

static void
headers_have_a_limit(void **state)
{
    Call *call = *state;
    AUTO_BUFFER body = {0};
    AUTO_BUFFER notes = {0};
    for (size_t more = 0; more < 2; more++) {
        static const char head[] = HEAD("x") "A: ";
        buffer_clear(&body);
        buffer_append_string(&body, "--b-1\r\n");
        buffer_append_string(&body, head);
        while (body.size < strlen("--b-1\r\n") + MULTIPART_HEADER_SIZE_MAX - 4 + more) {
            buffer_append_byte(&body, 'a');
        }
        buffer_append_string(&body, "\r\n\r\n1\r\n--b-1--");
        assert_int_equal(
            read_cut(call, buffer_slice(&body), 100, &notes), more == 0 ? STATUS_OK : STATUS_OUT_OF_RANGE);
    }
    assert_string_equal(
        call->error.message, "the multipart body: part 1 has more than 8192 bytes of headers");
}

static Status
refuse(Call *call, void *context, const MultipartPart *part)
{
    (void)context;
    return call_fail(call, STATUS_NOT_FOUND, "no %.*s", SLICE_PRINT(part->name));
}

static void
a_failed_event_ends_the_reading(void **state)
{
    Call *call = *state;
    static const MultipartEvents refusing = {
        .on_part = refuse, .on_data = note_data, .on_part_end = note_end};
    Multipart *multipart = NULL;
    MultipartOptions options = {
        .boundary = SLICE("b"), .part_count_max = 1, .part_limit = "parts", .events = &refusing};
    assert_int_equal(multipart_new(call, &options, &multipart), STATUS_OK);
    assert_int_equal(multipart_write(call, multipart, SLICE("--b\r\n" HEAD("x") "\r\n1")), STATUS_NOT_FOUND);
    assert_string_equal(call->error.message, "no x");
}

static void
the_boundary_is_found(void **state)
{
    Call *call = *state;
    static const struct {
        const char *type;
        const char *boundary; /* NULL: the header is refused */
    } cases[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"multipart/form-data;charset=utf-8 ; Boundary=\"a b'()+_,-./:=?\"", "a b'()+_,-./:=?"},
        {"multipart/form-data; "
         "boundary=----------------------------------------------------------------------",
            "----------------------------------------------------------------------"},
        {"multipart/form-data; "
         "boundary=-----------------------------------------------------------------------",
            NULL},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data; boundary=\"\"", NULL},
        {"multipart/form-data; boundary=\"a \"", NULL},
        {"multipart/form-data; boundary=\"a\\\"b\"", NULL},
        {"multipart/form-data; boundary=\"a", NULL},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        Slice boundary = {0};
        Status status = multipart_boundary(call, slice_from_string(cases[index].type), &boundary);
        assert_int_equal(status, cases[index].boundary == NULL ? STATUS_INVALID_ARGUMENT : STATUS_OK);
        assert_true(slice_equals_string(boundary, cases[index].boundary));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_body_reads_the_same_wherever_it_is_cut),
        CALL_TEST(the_last_line_end_may_be_missing),
        CALL_TEST(names_lose_both_kinds_of_escapes),
        CALL_TEST(what_is_wrong_is_said_with_its_part_and_byte),
        CALL_TEST(parts_are_counted),
        CALL_TEST(headers_have_a_limit),
        CALL_TEST(a_failed_event_ends_the_reading),
        CALL_TEST(the_boundary_is_found),
    };
    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
