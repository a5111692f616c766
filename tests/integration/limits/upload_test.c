/* Uploads of blobs: how many may be under way, and how large a blob may be. */
#include <stdio.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "shared/crypto/digest.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/limit_checks.h"
#include "tests/support/raw_http.h"

enum { HALF_SIZE = 3 << 20, UPLOADS_MAX = 8 };

static Cluster uploads;
static Cluster tenant_uploads;

/* Sends the first half of a blob that is made of `letter`, and leaves the connection open. */
static int
begin_upload(const Cluster *cluster, char letter)
{
    char hex[SHA256_HEX_SIZE];
    char head[512];
    Sha256 digest;
    AUTO_MEMORY char *bytes = memory_new(2 * HALF_SIZE, 1);
    memset(bytes, letter, 2 * HALF_SIZE);
    sha256(slice_of(bytes, 2 * HALF_SIZE), &digest);
    sha256_to_hex(&digest, hex);
    (void)snprintf(head, sizeof head,
        "PUT /api/v1/blobs/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", hex, 2 * HALF_SIZE);
    int fd = raw_open(cluster->gateway.address);
    raw_send_text(fd, head);
    raw_send(fd, bytes, HALF_SIZE);
    return fd;
}

static int
end_upload(int fd, char letter)
{
    static char reply[RAW_REPLY_SIZE];
    AUTO_MEMORY char *bytes = memory_new(HALF_SIZE, 1);
    memset(bytes, letter, HALF_SIZE);
    raw_send(fd, bytes, HALF_SIZE);
    int status = raw_reply(fd, reply, AWAIT_MS);
    close(fd);
    return status;
}

static bool
is_under_way(Cluster *cluster, char letter)
{
    char hex[SHA256_HEX_SIZE];
    char url[CLUSTER_URL_SIZE];
    Sha256 digest;
    AUTO_REST response = {0};
    AUTO_MEMORY char *bytes = memory_new(2 * HALF_SIZE, 1);
    memset(bytes, letter, 2 * HALF_SIZE);
    sha256(slice_of(bytes, 2 * HALF_SIZE), &digest);
    sha256_to_hex(&digest, hex);
    (void)snprintf(url, sizeof url, "http://%s/api/v1/blobs/%s", cluster->gateway.address, hex);
    rest_send(&(RestRequest){.method = "HEAD", .url = url}, &response);
    return response.status == 204;
}

/* Holds as many uploads as the limit allows: one more is refused, and all of these end. */
static void
assert_uploads(Cluster *cluster, const char *limit)
{
    int fds[UPLOADS_MAX];
    uint64_t count = limit_shown(cluster, limit);
    assert_true(count > 0 && count < UPLOADS_MAX);
    for (uint64_t index = 0; index < count; index++) {
        fds[index] = begin_upload(cluster, (char)('a' + index));
        AWAIT(is_under_way(cluster, (char)('a' + index)));
    }
    assert_int_equal(end_upload(begin_upload(cluster, 'z'), 'z'), 503);
    for (uint64_t index = 0; index < count; index++) {
        assert_int_equal(end_upload(fds[index], (char)('a' + index)), 201);
    }
    assert_int_equal(end_upload(begin_upload(cluster, 'z'), 'z'), 201);
}

static void
limit_uploads(void **state)
{
    (void)state;
    assert_uploads(&uploads, "uploads");
}

static void
limit_tenant_uploads(void **state)
{
    (void)state;
    assert_uploads(&tenant_uploads, "tenant_uploads");
}

static const char *const few_uploads[] = {"--limit", "uploads=3,blob_bytes=6291456", NULL};
static const char *const few_of_a_tenant[] = {"--limit", "tenant_uploads=2", NULL};

static int
put_part(const char *content_range)
{
    char url[CLUSTER_URL_SIZE];
    AUTO_REST response = {0};
    const char *const headers[] = {content_range, NULL};
    (void)snprintf(url, sizeof url,
        "http://%s/api/v1/blobs/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        uploads.gateway.address);
    RestRequest request = {.method = "PUT",
        .url = url,
        .content_type = "application/octet-stream",
        .headers = headers,
        .body = SLICE("12345")};
    rest_send(&request, &response);
    return response.status;
}

static void
limit_blob_bytes_of_an_upload(void **state)
{
    (void)state;
    char last[64];
    char over[64];
    uint64_t size = limit_shown(&uploads, "blob_bytes");
    (void)snprintf(last, sizeof last, "Content-Range: bytes 0-4/%llu", (unsigned long long)size);
    (void)snprintf(over, sizeof over, "Content-Range: bytes 0-4/%llu", (unsigned long long)size + 1);
    assert_int_equal(put_part(over), 413);
    assert_int_equal(put_part(last), 202);
}

static int
set_up(void **state)
{
    (void)state;
    bool is_up = cluster_start(&uploads, &(ClusterOptions){.gateway_arguments = few_uploads}) &&
                 cluster_start(&tenant_uploads, &(ClusterOptions){.gateway_arguments = few_of_a_tenant});
    return is_up ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&uploads);
    cluster_stop(&tenant_uploads);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_uploads),
        cmocka_unit_test(limit_tenant_uploads),
        cmocka_unit_test(limit_blob_bytes_of_an_upload),
    };
    return cmocka_run_group_tests_name("limits of uploads", tests, set_up, tear_down);
}
