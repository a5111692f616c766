#include "worker/serve/blob_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/call_fixture.h"

enum { BLOB_SIZE = 1 << 16 };

static char path[64];
static char bytes[BLOB_SIZE];

static BlobFolder *
open_folder(Call *call, uint64_t size_max)
{
    BlobFolder *folder = NULL;
    assert_status(call, STATUS_OK, blob_folder_open(call, path, size_max, &folder));
    return folder;
}

/* Writes the digest of a blob whose bytes are all `value`. */
static Slice
digest_of(char value)
{
    static char hex[SHA256_HEX_SIZE];
    Sha256 digest;
    memset(bytes, value, sizeof bytes);
    sha256(slice_of(bytes, sizeof bytes), &digest);
    sha256_to_hex(&digest, hex);
    return slice_from_string(hex);
}

static BlobFile *
begin(Call *call, BlobFolder *folder, char value)
{
    BlobFile *file = NULL;
    assert_status(
        call, STATUS_OK, blob_file_begin(call, folder, SLICE("t"), digest_of(value), BLOB_SIZE, &file));
    return file;
}

static void
finish(Call *call, BlobFile *file, char value)
{
    memset(bytes, value, sizeof bytes);
    assert_status(call, STATUS_OK, blob_file_write(call, file, slice_of(bytes, 1000)));
    assert_status(call, STATUS_OK, blob_file_write(call, file, slice_of(bytes, BLOB_SIZE - 1000)));
    assert_status(call, STATUS_OK, blob_file_finish(call, file));
    blob_file_end(file);
}

static void
put(Call *call, BlobFolder *folder, char value)
{
    finish(call, begin(call, folder, value), value);
}

static bool
has(BlobFolder *folder, char value)
{
    TensorBuffer *blob = blob_folder_find(folder, SLICE("t"), digest_of(value));
    bool is_there = blob != NULL && blob->size == BLOB_SIZE && memcmp(blob->data, bytes, BLOB_SIZE) == 0;
    tensor_buffer_unref(blob);
    return is_there;
}

static const char *
path_of(char value)
{
    static char file[256];
    (void)snprintf(file, sizeof file, "%s/t/%.*s", path, SLICE_PRINT(digest_of(value)));
    return file;
}

/* Counts the files of the tenant, hidden ones too. */
static int
file_count(void)
{
    char command[128];
    char text[16] = "";
    (void)snprintf(command, sizeof command, "find %s -type f | wc -l", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(text, sizeof text, pipe));
    (void)pclose(pipe);
    return atoi(text);
}

static int
make_path(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/blob_folder_XXXXXX");
    assert_non_null(mkdtemp(path));
    return call_set_up(state);
}

static int
remove_path(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
    return call_tear_down(state);
}

static void
what_one_worker_has_written_another_maps(void **state)
{
    Call *call = *state;
    BlobFolder *writer = open_folder(call, 0);
    BlobFolder *reader = open_folder(call, 0);
    assert_false(blob_folder_has(reader, SLICE("t"), digest_of('a')));
    BlobFile *file = begin(call, writer, 'a');
    assert_true(blob_folder_awaits(reader, SLICE("t"), digest_of('a')));
    assert_false(blob_folder_awaits(reader, SLICE("t"), digest_of('b')));
    finish(call, file, 'a');
    assert_false(blob_folder_awaits(reader, SLICE("t"), digest_of('a')));
    assert_true(blob_folder_has(reader, SLICE("t"), digest_of('a')));
    assert_true(has(reader, 'a'));
    assert_true(has(writer, 'a'));
    assert_null(blob_folder_find(reader, SLICE("u"), digest_of('a'))); /* another tenant's */
    blob_folder_free(writer);
    blob_folder_free(reader);
}

static void
two_that_write_the_same_blob_both_succeed(void **state)
{
    Call *call = *state;
    BlobFolder *one = open_folder(call, 0);
    BlobFolder *other = open_folder(call, 0);
    BlobFile *first = begin(call, one, 'a');
    BlobFile *second = begin(call, other, 'a');
    finish(call, first, 'a');
    TensorBuffer *blob = blob_folder_find(one, SLICE("t"), digest_of('a'));
    assert_non_null(blob);
    finish(call, second, 'a');
    assert_memory_equal(blob->data, bytes, BLOB_SIZE); /* the file that was replaced lives on */
    tensor_buffer_unref(blob);
    assert_true(has(one, 'a'));
    assert_int_equal(file_count(), 1);
    blob_folder_free(one);
    blob_folder_free(other);
}

static void
a_damaged_file_is_removed(void **state)
{
    Call *call = *state;
    BlobFolder *folder = open_folder(call, 0);
    put(call, folder, 'a');
    put(call, folder, 'b');
    int fd = open(path_of('a'), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 77), 1);
    assert_int_equal(close(fd), 0);
    assert_int_equal(truncate(path_of('b'), BLOB_SIZE - 1), 0);
    BlobFolder *restarted = open_folder(call, 0);
    assert_false(has(restarted, 'a'));
    assert_false(has(restarted, 'b'));
    assert_int_equal(file_count(), 0);
    put(call, restarted, 'a');
    assert_true(has(restarted, 'a'));
    blob_folder_free(folder);
    blob_folder_free(restarted);
}

static void
make_old(const char *file, time_t age_s)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void
what_was_used_longest_ago_makes_room(void **state)
{
    Call *call = *state;
    BlobFolder *folder = open_folder(call, (uint64_t)3 * BLOB_SIZE);
    put(call, folder, 'a');
    put(call, folder, 'b');
    put(call, folder, 'c');
    make_old(path_of('a'), 300);
    make_old(path_of('b'), 200);
    make_old(path_of('c'), 100);
    TensorBuffer *used = blob_folder_find(folder, SLICE("t"), digest_of('a'));
    assert_non_null(used); /* used just now */
    TensorBuffer *removed = blob_folder_find(folder, SLICE("t"), digest_of('b'));
    assert_non_null(removed);
    make_old(path_of('b'), 200);
    put(call, folder, 'd');
    assert_true(has(folder, 'a'));
    assert_false(has(folder, 'b'));
    assert_true(has(folder, 'c'));
    assert_true(has(folder, 'd'));
    assert_int_equal(((char *)removed->data)[BLOB_SIZE - 1], 'b'); /* its bytes live on */
    tensor_buffer_unref(used);
    tensor_buffer_unref(removed);
    BlobFile *file = NULL;
    assert_status(call, STATUS_RESOURCE_EXHAUSTED,
        blob_file_begin(call, folder, SLICE("t"), digest_of('e'), (uint64_t)4 * BLOB_SIZE, &file));
    blob_folder_free(folder);
}

static void
half_written_files_do_not_stay(void **state)
{
    Call *call = *state;
    BlobFolder *folder = open_folder(call, 0);
    BlobFile *file = begin(call, folder, 'a');
    assert_int_equal(file_count(), 1);
    blob_file_end(file);
    assert_int_equal(file_count(), 0);
    char abandoned[300];
    (void)snprintf(abandoned, sizeof abandoned, "%s/t/.%.*s.1.1", path, SLICE_PRINT(digest_of('a')));
    int fd = open(abandoned, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    make_old(abandoned, 3600);
    put(call, folder, 'b');
    assert_int_equal(file_count(), 1);
    blob_folder_free(folder);
}

static void
names_that_are_no_file_names_are_refused(void **state)
{
    static const Slice tenants[] = {{.data = "..", .size = 2}, {.data = "a/b", .size = 3},
        {.data = "", .size = 0}, {.data = "A", .size = 1}};
    Call *call = *state;
    BlobFile *file = NULL;
    BlobFolder *folder = open_folder(call, 0);
    for (size_t index = 0; index < COUNT_OF(tenants); index++) {
        assert_status(call, STATUS_INVALID_ARGUMENT,
            blob_file_begin(call, folder, tenants[index], digest_of('a'), BLOB_SIZE, &file));
        assert_null(blob_folder_find(folder, tenants[index], digest_of('a')));
    }
    assert_status(call, STATUS_INVALID_ARGUMENT,
        blob_file_begin(call, folder, SLICE("t"), SLICE("../../etc/passwd"), BLOB_SIZE, &file));
    blob_folder_free(folder);
}

static void
a_disk_that_takes_no_more_is_told(void **state)
{
    Call *call = *state;
    BlobFile *file = NULL;
    struct rlimit old;
    BlobFolder *folder = open_folder(call, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = BLOB_SIZE / 2, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    Status status = blob_file_begin(call, folder, SLICE("t"), digest_of('a'), BLOB_SIZE, &file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(call->error.message, "File too large"));
    assert_int_equal(file_count(), 0);
    blob_folder_free(folder);
}

static void
a_folder_that_cannot_be_is_told(void **state)
{
    Call *call = *state;
    BlobFolder *folder = NULL;
    char wrong[128];
    (void)snprintf(wrong, sizeof wrong, "%s/not/there", path);
    assert_status(call, STATUS_UNAVAILABLE, blob_folder_open(call, wrong, 0, &folder));
    assert_non_null(strstr(call->error.message, "No such file or directory"));
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_path, remove_path)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(what_one_worker_has_written_another_maps),
        FOLDER_TEST(two_that_write_the_same_blob_both_succeed),
        FOLDER_TEST(a_damaged_file_is_removed),
        FOLDER_TEST(what_was_used_longest_ago_makes_room),
        FOLDER_TEST(half_written_files_do_not_stay),
        FOLDER_TEST(names_that_are_no_file_names_are_refused),
        FOLDER_TEST(a_disk_that_takes_no_more_is_told),
        FOLDER_TEST(a_folder_that_cannot_be_is_told),
    };
    return cmocka_run_group_tests_name("blob folder", tests, NULL, NULL);
}
