/* Bodies in both directions: chunked, compressed, in pieces, lent, streamed. */
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/gzip/gzip.h"
#include "tests/support/await.h"
#include "tests/support/http_site.h"

static void
a_chunked_body_is_taken_and_ends_the_connection(void **state)
{
    (void)state;
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_non_null(strstr(http_site_reply, "\r\n\r\nabcde"));
    assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
    close(fd);
}

static void
a_chunked_body_over_the_limit_is_cut_with_413(void **state)
{
    (void)state;
    enum { SIZE = 1024 * 1024 + 1 };
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n");
    char *body = memory_new(1, SIZE);
    raw_send(fd, body, SIZE);
    memory_free(body);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 413);
    assert_true(raw_is_closed(fd, HTTP_SITE_TIMEOUT_MS));
    close(fd);
}

static void
a_sink_takes_a_body_piece_by_piece_and_may_refuse(void **state)
{
    (void)state;
    static const char head[] = "PUT /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cached\r\n";
    enum { SIZE = 4 * 1024 * 1024 };
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, head);
    raw_send_text(fd, "Content-Length: 4194304\r\n\r\n");
    char *body = memory_new(1, SIZE);
    raw_send(fd, body, SIZE);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 200);
    assert_non_null(strstr(http_site_reply, "\r\n\r\n4194304"));
    raw_send_text(fd, head);
    raw_send_text(fd, "Content-Length: 4194304\r\n\r\n");
    body[100] = 'X';
    raw_send(fd, body, SIZE);
    memory_free(body);
    assert_int_equal(raw_reply(fd, http_site_reply, HTTP_SITE_TIMEOUT_MS), 400);
    assert_non_null(strstr(http_site_reply, "an 'X' is not allowed here"));
    close(fd);
}

static void
a_gzip_body_is_inflated_within_the_limit(void **state)
{
    (void)state;
    for (size_t size = 1024 * 1024; size <= 1024 * 1024 + 1; size++) {
        char *plain = memory_new(1, size);
        AUTO_BUFFER packed = {0};
        assert_true(gzip_deflate(&packed, slice_of(plain, size), GZIP_LEVEL_USUAL));
        AUTO_BUFFER request = {0};
        buffer_append_format(&request,
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
            packed.size);
        buffer_append_slice(&request, buffer_slice(&packed));
        int fd = raw_open(http_site_usual());
        raw_send(fd, request.data, request.size);
        raw_send_text(fd, "");
        char head[16];
        assert_int_equal(raw_drain(fd, head, sizeof head - 1, HTTP_SITE_TIMEOUT_MS), sizeof head - 1);
        head[sizeof head - 1] = '\0';
        assert_string_equal(head, size == 1024 * 1024 ? "HTTP/1.1 200 OK" : "HTTP/1.1 413 Co");
        close(fd);
        memory_free(plain);
    }
}

static void
a_stream_is_chunked_and_waits_for_its_reader(void **state)
{
    (void)state;
    enum { SIZE = 32 * 1024 * 1024 };
    uint64_t closed = atomic_load_seq_cst(&http_site_seen.stream_closed);
    atomic_store_seq_cst(&http_site_seen.stream_queued_max, 0);
    atomic_store_seq_cst(&http_site_seen.stream_released, 0);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "GET /stream?size=33554432 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    AWAIT(atomic_load_seq_cst(&http_site_seen.stream_queued_max) >= HTTP_SITE_QUEUED_MAX);
    uint64_t released = atomic_load_seq_cst(&http_site_seen.stream_released);
    assert_true(released < SIZE / HTTP_SITE_PIECE_SIZE);
    char *all = memory_new(1, SIZE + SIZE / 8);
    long size = raw_drain(fd, all, SIZE + SIZE / 8, HTTP_SITE_TIMEOUT_MS);
    assert_true(size > SIZE);
    assert_memory_equal(all + size - 5, "0\r\n\r\n", 5);
    memory_free(all);
    http_servers_wait(&http_site_seen.stream_closed, closed);
    assert_true(http_site_seen.stream_queued_max <= HTTP_SITE_QUEUED_MAX + HTTP_SITE_PIECE_SIZE);
    assert_int_equal(http_site_seen.stream_released, SIZE / HTTP_SITE_PIECE_SIZE);
    close(fd);
}

static void
a_lent_body_is_sent_whole_and_given_back(void **state)
{
    (void)state;
    for (size_t index = 0; index < sizeof http_site_lent; index++) {
        http_site_lent[index] = (char)(index * index >> 5);
    }
    uint64_t before = atomic_load_seq_cst(&http_site_seen.lent);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "GET /lend HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    char *all = memory_new(1, sizeof http_site_lent + 1024);
    long size = raw_drain(fd, all, sizeof http_site_lent + 1024, HTTP_SITE_TIMEOUT_MS);
    assert_true(size > (long)sizeof http_site_lent);
    assert_memory_equal(all + size - sizeof http_site_lent, http_site_lent, sizeof http_site_lent);
    memory_free(all);
    http_servers_wait(&http_site_seen.lent, before);
    close(fd);
}

static void
an_aborted_stream_ends_without_its_last_chunk(void **state)
{
    (void)state;
    static char all[512 * 1024];
    uint64_t closed = atomic_load_seq_cst(&http_site_seen.stream_closed);
    int fd = raw_open(http_site_usual());
    raw_send_text(fd, "GET /stream?size=300000&aborts HTTP/1.1\r\nHost: x\r\n\r\n");
    long size = raw_drain(fd, all, sizeof all, HTTP_SITE_TIMEOUT_MS);
    assert_true(size >= 0);
    assert_true(size < 5 || memcmp(all + size - 5, "0\r\n\r\n", 5) != 0);
    http_servers_wait(&http_site_seen.stream_closed, closed);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunked_body_is_taken_and_ends_the_connection),
        cmocka_unit_test(a_chunked_body_over_the_limit_is_cut_with_413),
        cmocka_unit_test(a_sink_takes_a_body_piece_by_piece_and_may_refuse),
        cmocka_unit_test(a_gzip_body_is_inflated_within_the_limit),
        cmocka_unit_test(a_stream_is_chunked_and_waits_for_its_reader),
        cmocka_unit_test(a_lent_body_is_sent_whole_and_given_back),
        cmocka_unit_test(an_aborted_stream_ends_without_its_last_chunk),
    };
    return cmocka_run_group_tests(tests, http_site_start, http_servers_stop);
}
