/* SPDX-License-Identifier: Apache-2.0 */
/* A disk image as a table of pages. */
#include "stress/powercut/powercut_image.h"

#include "base/os.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

static bool all_zero(const unsigned char *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

enum qs_status image_write(struct image *image, uint64_t offset, const void *data, uint64_t len, struct qs_error *err)
{
    if (offset > image->bytes || len > image->bytes - offset)
        return error_set(err, QS_INVALID, "a write beyond the end of the disk");
    const unsigned char *from = data;
    while (len) {
        size_t in_page = offset % PAGE_BYTES, n = PAGE_BYTES - in_page;
        if (n > len)
            n = (size_t)len;
        unsigned char **page = &image->pages[offset / PAGE_BYTES];
        if (!*page && from && !all_zero(from, n)) {
            *page = calloc(1, PAGE_BYTES);
            if (!*page)
                return error_memory(err);
        }
        if (*page && from)
            memcpy(*page + in_page, from, n);
        else if (*page)
            memset(*page + in_page, 0, n);
        from = from ? from + n : NULL;
        offset += n;
        len -= n;
    }
    return QS_OK;
}

static enum qs_status load_extent(int fd, uint64_t from, uint64_t to, struct image *image, struct qs_error *err)
{
    unsigned char page[PAGE_BYTES];
    for (uint64_t at = from - from % PAGE_BYTES; at < to; at += PAGE_BYTES) {
        ssize_t n = os_pread_full(fd, page, sizeof page, (off_t)at);
        if (n < 0)
            return error_sys(err, QS_IO, errno, "cannot read the disk image");
        enum qs_status status = image_write(image, at, page, (uint64_t)n, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status image_load(int fd, struct image *ret_image, struct qs_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot stat the disk image");
    struct image image = {.bytes = (uint64_t)st.st_size};
    image.pages = calloc(image.bytes / PAGE_BYTES + 1, sizeof *image.pages);
    if (!image.pages)
        return error_memory(err);
    enum qs_status status = QS_OK;
    for (off_t at = 0; !status;) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0)
            break; /* ENXIO: nothing but a hole up to the end */
        at = lseek(fd, data, SEEK_HOLE);
        if (at < 0)
            at = st.st_size;
        status = load_extent(fd, (uint64_t)data, (uint64_t)at, &image, err);
    }
    if (status) {
        image_release(&image);
        return status;
    }
    *ret_image = image;
    return QS_OK;
}

void image_release(struct image *image)
{
    for (uint64_t i = 0; image->pages && i < image->bytes / PAGE_BYTES + 1; i++)
        free(image->pages[i]);
    free(image->pages);
    *image = (struct image){0};
}

enum qs_status image_dump(const struct image *image, int fd, struct qs_error *err)
{
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)image->bytes) != 0)
        return error_sys(err, QS_IO, errno, "cannot size the state's image");
    for (uint64_t i = 0; i * PAGE_BYTES < image->bytes; i++) {
        uint64_t at = i * PAGE_BYTES, len = image->bytes - at < PAGE_BYTES ? image->bytes - at : PAGE_BYTES;
        if (image->pages[i] && os_pwrite_full(fd, image->pages[i], (size_t)len, (off_t)at) != 0)
            return error_sys(err, QS_IO, errno, "cannot write the state's image");
    }
    return QS_OK;
}
