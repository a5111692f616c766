#include "shared/httpclient/form.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/memory.h"

/* One part's bytes: `head`, then the file. */
typedef struct PartSource {
    Slice head;
    int fd; /* -1: no file */
    uint64_t size;
    uint64_t offset; /* what was read */
} PartSource;

struct Form {
    curl_mime *mime;
    size_t count;
    PartSource sources[];
};

/* --- Reading -------------------------------------------------------------------------------------------- */

static size_t
part_read(char *room, size_t size, size_t count, void *context)
{
    PartSource *const source = context;
    const Slice left = slice_part(source->head, source->offset, size * count);
    ssize_t got = (ssize_t)left.size;
    if (left.size > 0) {
        memcpy(room, left.data, left.size);
    } else if (source->fd >= 0) {
        const off_t at = (off_t)(source->offset - source->head.size);
        do {
            got = pread(source->fd, room, size * count, at);
        } while (got < 0 && errno == EINTR);
    }
    if (got < 0) {
        return CURL_READFUNC_ABORT;
    }
    source->offset += (uint64_t)got;
    return (size_t)got;
}

/* A kept connection that turns out dead is tried again on a new one, from the body's start. */
static int
part_seek(void *context, curl_off_t offset, int origin)
{
    PartSource *const source = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > source->size) {
        return CURL_SEEKFUNC_FAIL;
    }
    source->offset = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* --- Making --------------------------------------------------------------------------------------------- */

static Status
source_open(Call *call, const HttpClientPart *part, PartSource *ret_source)
{
    struct stat about = {0};
    *ret_source = (PartSource){.head = part->head, .fd = -1};
    if (part->path != NULL) {
        ret_source->fd = open(part->path, O_RDONLY | O_CLOEXEC);
        if (ret_source->fd < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be opened: %s", part->path,
                strerrordesc_np(errno));
        }
        if (fstat(ret_source->fd, &about) != 0 || !S_ISREG(about.st_mode)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' is no regular file", part->path);
        }
    }
    ret_source->size = part->head.size + (uint64_t)about.st_size;
    return STATUS_OK;
}

static Status
part_add(Call *call, Form *form, const HttpClientPart *part)
{
    PartSource *const source = &form->sources[form->count++];
    TRY(source_open(call, part, source));
    curl_mimepart *const made = curl_mime_addpart(form->mime);
    if (made == NULL || curl_mime_name(made, part->name) != CURLE_OK ||
        curl_mime_type(made, part->content_type) != CURLE_OK ||
        curl_mime_data_cb(made, (curl_off_t)source->size, part_read, part_seek, NULL, source) != CURLE_OK) {
        return call_fail_memory(call, "a form");
    }
    return STATUS_OK;
}

Status
form_new(Call *call, CURL *easy, const HttpClientPart *parts, size_t part_count, Form **ret_form)
{
    Form *const form = memory_new(1, sizeof *form + part_count * sizeof form->sources[0]);
    if (form == NULL) {
        return call_fail_memory(call, "a form");
    }
    form->mime = curl_mime_init(easy);
    Status status = form->mime == NULL ? call_fail_memory(call, "a form") : STATUS_OK;
    for (size_t index = 0; status == STATUS_OK && index < part_count; index++) {
        status = part_add(call, form, &parts[index]);
    }
    if (status != STATUS_OK) {
        form_free(form);
        return status;
    }
    (void)curl_easy_setopt(easy, CURLOPT_MIMEPOST, form->mime);
    *ret_form = form;
    return STATUS_OK;
}

void
form_free(Form *form)
{
    if (form == NULL) {
        return;
    }
    curl_mime_free(form->mime);
    for (size_t index = 0; index < form->count; index++) {
        if (form->sources[index].fd >= 0) {
            (void)close(form->sources[index].fd);
        }
    }
    memory_free(form);
}
