/* The commands that upload and fetch blobs: whole, from the middle, again, and refused. */
#include <stdio.h>

#include "shared/base/memory.h"
#include "shared/crypto/digest.h"
#include "tests/support/rest.h"
#include "tests/support/sluice_command.h"

enum { SIZE = (5 << 20) + 3, SENT = (2 << 20) + 1 };

static char bytes[SIZE];

typedef struct Written {
    Sha256 digest;
    char ref[SHA256_REF_SIZE];
} Written;

/* Writes a file of its own. */
static Written
write_file(const SluiceFixture *fixture, const char *name, unsigned seed)
{
    Written written;
    for (size_t index = 0; index < SIZE; index++) {
        bytes[index] = (char)(index * 7 + index / 4099 + seed);
    }
    sluice_write(fixture, name, slice_of(bytes, SIZE));
    sha256(slice_of(bytes, SIZE), &written.digest);
    sha256_to_ref(&written.digest, written.ref);
    return written;
}

static void
assert_read_back(SluiceFixture *fixture, const char *ref)
{
    char *found = memory_new(SIZE + 1, 1);
    assert_exit(0, fixture, "blob", "get", ref, "%/back.bin");
    assert_int_equal(sluice_read(fixture, "back.bin", found, SIZE + 1), SIZE);
    assert_memory_equal(found, bytes, SIZE);
    memory_free(found);
}

static void
a_file_is_uploaded_and_fetched(void **state)
{
    SluiceFixture *fixture = *state;
    Written file = write_file(fixture, "model.bin", 1);
    assert_exit(0, fixture, "blob", "put", "%/model.bin");
    assert_holds(fixture->out, file.ref);
    assert_holds(fixture->out, "\n5.0 MiB\n");
    assert_string_equal(fixture->error, "");
    assert_exit(0, fixture, "blob", "put", "%/model.bin");
    assert_holds(fixture->out, "was there already");
    assert_exit(0, fixture, "--json", "blob", "put", "%/model.bin");
    assert_is_json(fixture, fixture->out);
    assert_holds(fixture->out, "\"size\":5242883");
    assert_read_back(fixture, file.ref);
}

/* Uploads the beginning over REST. */
static void
put_beginning(SluiceFixture *fixture, const Sha256 *digest)
{
    char url[CLUSTER_URL_SIZE];
    char range[80];
    char hex[SHA256_HEX_SIZE];
    AUTO_REST response = {0};
    const char *const headers[] = {range, NULL};
    sha256_to_hex(digest, hex);
    (void)snprintf(url, sizeof url, "http://%s/api/v1/blobs/%s", fixture->cluster.gateway.address, hex);
    (void)snprintf(range, sizeof range, "Content-Range: bytes 0-%d/%d", SENT - 1, SIZE);
    RestRequest request = {.method = "PUT",
        .url = url,
        .content_type = "application/octet-stream",
        .body = slice_of(bytes, SENT),
        .headers = headers};
    rest_send(&request, &response);
    assert_int_equal(response.status, 202);
}

static void
an_upload_that_was_broken_off_goes_on(void **state)
{
    SluiceFixture *fixture = *state;
    Written file = write_file(fixture, "begun.bin", 2);
    put_beginning(fixture, &file.digest);
    assert_exit(0, fixture, "blob", "put", "%/begun.bin");
    assert_holds(fixture->out, file.ref);
    assert_read_back(fixture, file.ref);
}

static void
an_empty_file_is_a_blob_too(void **state)
{
    SluiceFixture *fixture = *state;
    sluice_write(fixture, "empty.bin", SLICE(""));
    assert_exit(0, fixture, "blob", "put", "%/empty.bin");
    assert_holds(fixture->out, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void
what_cannot_be_is_said(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(2, fixture, "blob", "put", "%/missing.bin");
    assert_holds(fixture->error, "missing.bin' cannot be");
    assert_exit(2, fixture, "blob", "get", "sha256:12", "%/x.bin");
    assert_holds(fixture->error, "'sha256:12' is no digest");
    assert_exit(1, fixture, "blob", "get",
        "sha256:00000000000000000000000000000000000000000000000000000000000000ff", "%/x.bin");
    assert_holds(fixture->error, "there is no blob '");
    sluice_write(fixture, "unsent.bin", SLICE("bytes"));
    assert_exit(3, fixture, "blob", "put", "%/unsent.bin", "--url", "http://127.0.0.1:1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_uploaded_and_fetched),
        cmocka_unit_test(an_upload_that_was_broken_off_goes_on),
        cmocka_unit_test(an_empty_file_is_a_blob_too),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return cmocka_run_group_tests_name("sluice blob", tests, sluice_setup, sluice_teardown);
}
