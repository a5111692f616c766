/* Heads are laid out as libmicrohttpd 0.9.75 leaves a parsed head in its buffer: CR, LF and ':' are
 * overwritten with NUL. */
#include "gateway/http/guards.h"
#include "tests/support/cmocka_all.h"

static Call call;

/* The head is "GET" NUL "/t" NUL "HTTP/1.1" NUL NUL, then "Host" NUL " x" NUL NUL, then "Accept" NUL " a" and
 * the end under test. */
enum {
    TARGET_AT = 4,
    VERSION_AT = 7,
    HOST_AT = 17,
    HOST_VALUE_AT = 23,
    ACCEPT_AT = 26,
    ACCEPT_VALUE_AT = 34
};

#define HEAD_TEXT "GET\0/t\0HTTP/1.1\0\0Host\0 x\0\0Accept\0 a"

static Status
check(const char *bytes)
{
    const Field fields[] = {
        {slice_of(bytes + HOST_AT, 4), slice_of(bytes + HOST_VALUE_AT, 1)},
        {slice_of(bytes + ACCEPT_AT, 6), slice_of(bytes + ACCEPT_VALUE_AT, 1)},
    };
    Head head = {.method = bytes,
        .target = bytes + TARGET_AT,
        .target_size = 2,
        .version = bytes + VERSION_AT,
        .fields = fields,
        .field_count = 2,
        .size = sizeof HEAD_TEXT - 1 + 4};
    call = (Call){0};
    return guard_layout(&call, &head);
}

static void
a_head_with_clean_line_ends_passes(void **state)
{
    (void)state;
    assert_status(&call, STATUS_OK, check(HEAD_TEXT "\0\0\0\0"));
}

static void
a_last_line_with_more_in_it_is_refused(void **state)
{
    (void)state;
    assert_status(&call, STATUS_INVALID_ARGUMENT, check(HEAD_TEXT "\0b\0\0\0\0"));
    assert_status(&call, STATUS_INVALID_ARGUMENT, check(HEAD_TEXT "\0\0GET"));
    assert_string_equal(call.error.message, "the header block is malformed at its end: lines must end with "
                                            "CR LF, must not be folded, and hold no NUL");
}

static void
a_name_that_does_not_follow_the_line_before_is_refused(void **state)
{
    (void)state;
    char bytes[] = HEAD_TEXT "\0\0\0\0";
    const Field fields[] = {{slice_of(bytes + HOST_AT, 4), slice_of(bytes + HOST_VALUE_AT, 1)},
        {slice_of(bytes + ACCEPT_AT + 1, 5), slice_of(bytes + ACCEPT_VALUE_AT, 1)}};
    Head head = {.method = bytes,
        .target = bytes + TARGET_AT,
        .target_size = 2,
        .version = bytes + VERSION_AT,
        .fields = fields,
        .field_count = 2};
    assert_status(&call, STATUS_INVALID_ARGUMENT, guard_layout(&call, &head));
    head.field_count = 1;
    assert_status(&call, STATUS_INVALID_ARGUMENT, guard_layout(&call, &head));
    head.target_size = 1; /* a NUL inside the target */
    assert_status(&call, STATUS_INVALID_ARGUMENT, guard_layout(&call, &head));
}

static void
a_head_without_headers_is_measured_and_passes(void **state)
{
    (void)state;
    const char bytes[] = "GET\0/t\0HTTP/1.0\0\0\0\0";
    Head head = {.method = bytes,
        .target = bytes + TARGET_AT,
        .target_size = 2,
        .version = bytes + VERSION_AT,
        .size = HOST_AT + 2};
    assert_status(&call, STATUS_OK, guard_layout(&call, &head));
    head.size++;
    assert_status(&call, STATUS_INVALID_ARGUMENT, guard_layout(&call, &head));
    assert_int_equal(head_size(&head), 2);
}

static Status
check_field(Slice name, Slice value)
{
    const Field fields[] = {{SLICE("Host"), SLICE("x")}, {name, value}};
    return guard_fields(&call, fields, 2);
}

static void
names_are_tokens_and_values_hold_no_controls(void **state)
{
    (void)state;
    assert_status(&call, STATUS_OK, check_field(SLICE("X-Y_z.1"), SLICE("a\tb \xff")));
    assert_status(&call, STATUS_INVALID_ARGUMENT, check_field(SLICE("X "), SLICE("a")));
    assert_string_equal(call.error.message, "header 2 has no valid name");
    assert_status(&call, STATUS_INVALID_ARGUMENT, check_field(SLICE(""), SLICE("a")));
    assert_status(&call, STATUS_INVALID_ARGUMENT, check_field(SLICE("X(Y)"), SLICE("a")));
    assert_status(&call, STATUS_INVALID_ARGUMENT, check_field(SLICE("X"), SLICE("a\rb")));
    assert_string_equal(call.error.message, "header 'X' holds control bytes");
    assert_status(&call, STATUS_INVALID_ARGUMENT, check_field(SLICE("X"), SLICE("a\0b")));
}

static void
headers_that_frame_or_identify_come_once(void **state)
{
    (void)state;
    static const char *const unique[] = {"authorization", "CONTENT-ENCODING", "Content-Length",
        "Content-Type", "Host", "Idempotency-Key", "Transfer-Encoding"};
    for (size_t index = 0; index < COUNT_OF(unique); index++) {
        Field field = {slice_from_string(unique[index]), SLICE("a")};
        const Field twice[] = {field, {SLICE("Accept"), SLICE("b")}, field};
        assert_status(&call, STATUS_INVALID_ARGUMENT, guard_fields(&call, twice, 3));
        assert_status(&call, STATUS_OK, guard_fields(&call, twice, 2));
    }
    const Field accepts[] = {{SLICE("Accept"), SLICE("a")}, {SLICE("accept"), SLICE("b")}};
    assert_status(&call, STATUS_OK, guard_fields(&call, accepts, 2));
}

static Status
check_local(const char *host, const char *origin)
{
    Request request = {0};
    if (host != NULL) {
        request.headers[request.header_count++] = (Field){SLICE("Host"), slice_from_string(host)};
    }
    if (origin != NULL) {
        request.headers[request.header_count++] = (Field){SLICE("Origin"), slice_from_string(origin)};
    }
    call = (Call){0};
    return guard_local(&call, &request);
}

static void
without_keys_host_is_no_domain(void **state)
{
    (void)state;
    static const char *const taken[] = {"localhost", "localhost:8470", "127.0.0.1:8470", "127.8.9.1", "[::1]",
        "[::1]:8470", "", "x", ":8470", "gateway:8470", "10.0.0.1:8470", "[::ffff:10.0.0.1]:8470", "::1"};
    static const char *const refused[] = {"evil.example:8470", "localhost.evil.example", "evil.example.",
        "127.0.0.1.evil.example:8470", "127.0.0.1x", "evil.example:8470:8470"};
    for (size_t index = 0; index < COUNT_OF(taken); index++) {
        assert_status(&call, STATUS_OK, check_local(taken[index], NULL));
    }
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        assert_status(&call, STATUS_PERMISSION_DENIED, check_local(refused[index], NULL));
    }
    assert_status(&call, STATUS_OK, check_local(NULL, NULL)); /* HTTP/1.0 needs none */
}

static void
without_keys_origin_names_this_machine(void **state)
{
    (void)state;
    static const char *const ours[] = {"http://localhost", "https://localhost:8470", "http://127.0.0.1:8470",
        "http://127.8.9.1", "http://[::1]", "http://[::1]:8470"};
    static const char *const others[] = {"", "null", "localhost", "http://", "http://x", "http://:8470",
        "http://evil.example:8470", "http://localhost.evil.example", "http://127.0.0.1.evil.example:8470",
        "http://10.0.0.1:8470", "http://[fe80::1]:8470", "http://localhost:8470:8470", "http://0.0.0.0:8470",
        "http://a-name-that-is-longer-than-any-address-may-be-and-so-on-and-so-forth.localhost"};
    for (size_t index = 0; index < COUNT_OF(ours); index++) {
        assert_status(&call, STATUS_OK, check_local("localhost", ours[index]));
        assert_status(&call, STATUS_OK, check_local(NULL, ours[index]));
    }
    for (size_t index = 0; index < COUNT_OF(others); index++) {
        assert_status(&call, STATUS_PERMISSION_DENIED, check_local("localhost", others[index]));
    }
    assert_status(&call, STATUS_PERMISSION_DENIED, check_local("localhost", "localhost"));
    assert_string_equal(call.error.message,
        "without keys only this machine is served: a page of 'localhost' sent the request");
}

static Status
frame(const char *length, const char *coding, Framing *ret_framing)
{
    Request request = {0};
    if (length != NULL) {
        request.headers[request.header_count++] = (Field){SLICE("Content-Length"), slice_from_string(length)};
    }
    if (coding != NULL) {
        request.headers[request.header_count++] =
            (Field){SLICE("Transfer-Encoding"), slice_from_string(coding)};
    }
    return guard_framing(&call, &request, "HTTP/1.1", ret_framing);
}

static void
a_body_is_framed_in_one_way(void **state)
{
    (void)state;
    Framing framing;
    assert_status(&call, STATUS_OK, frame("18446744073709551615", NULL, &framing));
    assert_true(framing.content_length == UINT64_MAX && !framing.is_chunked);
    assert_status(&call, STATUS_OK, frame(NULL, "Chunked", &framing));
    assert_true(framing.content_length == 0 && framing.is_chunked);
    assert_status(&call, STATUS_OK, frame(NULL, NULL, &framing));
    assert_false(framing.is_chunked);
    assert_status(&call, STATUS_INVALID_ARGUMENT, frame("0", "chunked", &framing));
    static const char *const codings[] = {"", "identity", "gzip, chunked", "chunked, chunked", "xchunked"};
    for (size_t index = 0; index < COUNT_OF(codings); index++) {
        assert_status(&call, STATUS_INVALID_ARGUMENT, frame(NULL, codings[index], &framing));
    }
    static const char *const lengths[] = {"", "-1", "+1", "0x1", "1 1", "1,1", "18446744073709551616"};
    for (size_t index = 0; index < COUNT_OF(lengths); index++) {
        assert_status(&call, STATUS_INVALID_ARGUMENT, frame(lengths[index], NULL, &framing));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_with_clean_line_ends_passes),
        cmocka_unit_test(a_last_line_with_more_in_it_is_refused),
        cmocka_unit_test(a_name_that_does_not_follow_the_line_before_is_refused),
        cmocka_unit_test(a_head_without_headers_is_measured_and_passes),
        cmocka_unit_test(names_are_tokens_and_values_hold_no_controls),
        cmocka_unit_test(headers_that_frame_or_identify_come_once),
        cmocka_unit_test(without_keys_host_is_no_domain),
        cmocka_unit_test(without_keys_origin_names_this_machine),
        cmocka_unit_test(a_body_is_framed_in_one_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
