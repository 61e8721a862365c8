/* SPDX-License-Identifier: Apache-2.0 */
/* Pages in private memory: one read for a small file, slabs of pages for a large one. */
#include "store/page_cache.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files up to this are read with one call; of larger ones much is free pages and history, which no reader needs. */
#define WHOLE_MAX_BYTES ((uint64_t)48 * 1024)
#define SLAB_LEAST      ((size_t)32 * 1024) /* the first slab; each one after it is twice as large */
#define SLAB_MOST       ((size_t)256 * 1024)
#define FIRST_PAGE      2u /* 0 and 1 are the metas, read on their own */

struct page_cache_slab {
    struct page_cache_slab *next;
    size_t used, cap;
    uint8_t bytes[];
};

enum qs_status page_cache_init(struct page_cache *pages, int fd, uint32_t page_size, uint64_t last_page,
                               struct qs_error *err)
{
    *pages = (struct page_cache){.fd = fd, .page_size = page_size, .page_count = last_page + 1};
    pages->claimed = calloc(1, (size_t)(pages->page_count / 8 + 1));
    if (!pages->claimed)
        return error_memory(err);
    uint64_t bytes = pages->page_count * page_size;
    if (bytes > WHOLE_MAX_BYTES || pages->page_count <= FIRST_PAGE)
        return QS_OK;
    size_t want = (size_t)(pages->page_count - FIRST_PAGE) * page_size;
    pages->whole = malloc(want);
    if (!pages->whole)
        return error_memory(err);
    ssize_t got = os_pread_full(fd, pages->whole, want, (off_t)FIRST_PAGE * page_size);
    if (got < 0)
        return error_sys(err, QS_IO, errno, "the store cannot be read");
    pages->whole_count = FIRST_PAGE + (uint64_t)got / page_size; /* a healthy file may be shorter than its last page */
    return QS_OK;
}

void page_cache_release(struct page_cache *pages)
{
    for (struct page_cache_slab *slab = pages->slabs; slab;) {
        struct page_cache_slab *next = slab->next;
        free(slab);
        slab = next;
    }
    free(pages->whole);
    free(pages->claimed);
    *pages = (struct page_cache){.fd = -1};
}

void page_cache_drop_claims(struct page_cache *pages)
{
    free(pages->claimed);
    pages->claimed = NULL;
}

enum qs_status page_cache_renew_claims(struct page_cache *pages, int fd, struct qs_error *err)
{
    size_t bytes = (size_t)(pages->page_count / 8 + 1);
    pages->claims = 0;
    pages->fd = fd;
    if (pages->claimed)
        memset(pages->claimed, 0, bytes);
    else
        pages->claimed = calloc(1, bytes);
    return pages->claimed ? QS_OK : error_memory(err);
}

enum qs_status page_cache_claim(struct page_cache *pages, uint64_t number, uint64_t count, struct qs_error *err)
{
    if (number < FIRST_PAGE || number >= pages->page_count || count > pages->page_count - number)
        return error_page(err, number > INT64_MAX ? -1 : (int64_t)number,
                          "page %llu lies outside the store's %llu pages", (unsigned long long)number,
                          (unsigned long long)pages->page_count);
    for (uint64_t page = number; page < number + count; page++) {
        if (pages->claimed[page / 8] >> (page % 8) & 1)
            return error_page(err, (int64_t)page, "page %llu is used in two places", (unsigned long long)page);
        pages->claimed[page / 8] |= (uint8_t)(1u << (page % 8));
    }
    pages->claims += count;
    return QS_OK;
}

static uint8_t *slab_space(struct page_cache *pages, size_t bytes)
{
    struct page_cache_slab *slab = pages->slabs;
    if (!slab || slab->cap - slab->used < bytes) {
        size_t usual = !slab ? SLAB_LEAST : slab->cap < SLAB_MOST / 2 ? slab->cap * 2 : SLAB_MOST;
        size_t cap = bytes > usual ? bytes : usual;
        slab = malloc(sizeof *slab + cap);
        if (!slab)
            return NULL;
        *slab = (struct page_cache_slab){.cap = cap};
        /* A large run gets its own slab behind the first, whose room stays in use. */
        if (pages->slabs && bytes > usual) {
            slab->next = pages->slabs->next;
            pages->slabs->next = slab;
        } else {
            slab->next = pages->slabs;
            pages->slabs = slab;
        }
    }
    uint8_t *room = slab->bytes + slab->used;
    slab->used += bytes;
    return room;
}

/* One page of a tree that is a hole is all zeros, and refused for it; of a value's many pages only the first has a
 * head. Memory for them is had only if the file truly has them. Where a file system knows of no holes, there are none.
 */
static enum qs_status check_solid(struct page_cache *pages, uint64_t number, size_t bytes, struct qs_error *err)
{
    struct stat st;
    if (!pages->file_bytes) {
        if (qs_os->fstat(pages->fd, &st))
            return error_sys(err, QS_IO, errno, "the store cannot be examined");
        pages->file_bytes = (uint64_t)st.st_size;
        pages->sparse = (uint64_t)st.st_blocks * 512 < pages->file_bytes;
    }
    uint64_t at = number * pages->page_size;
    if (pages->file_bytes < at + bytes)
        return error_page(err, (int64_t)number, "page %llu runs beyond the end of the file",
                          (unsigned long long)number);
    off_t hole = pages->sparse ? lseek(pages->fd, (off_t)at, SEEK_HOLE) : -1;
    if (hole >= 0 && (uint64_t)hole < at + bytes)
        return error_page(err, (int64_t)number, "the pages from %llu on have a hole", (unsigned long long)number);
    return QS_OK;
}

static enum qs_status check_deadline(struct page_cache *pages, uint64_t count, struct qs_error *err)
{
    enum { LOOKS = 1024 };
    uint64_t before = pages->loaded;
    pages->loaded += count;
    if (!pages->deadline_ms || pages->loaded < PAGE_CACHE_UNHURRIED || before / LOOKS == pages->loaded / LOOKS ||
        qs_os->monotonic_ms() < pages->deadline_ms)
        return QS_OK;
    error_set(err, QS_BUSY, "the deadline passed after %llu pages; more are left to read",
              (unsigned long long)pages->loaded);
    error_add_advice(err, "wait longer, with --wait SECONDS");
    if (err)
        err->sys_errno = ETIMEDOUT; /* what tells this from writers that were too fast */
    return QS_BUSY;
}

enum qs_status page_cache_load(struct page_cache *pages, uint64_t number, uint64_t count, const uint8_t **ret_page,
                               struct qs_error *err)
{
    if (number < FIRST_PAGE || number >= pages->page_count || count > pages->page_count - number)
        return error_page(err, number > INT64_MAX ? -1 : (int64_t)number,
                          "page %llu lies outside the store's %llu pages", (unsigned long long)number,
                          (unsigned long long)pages->page_count);
    if (number + count <= pages->whole_count) {
        *ret_page = pages->whole + (number - FIRST_PAGE) * pages->page_size;
        return QS_OK;
    }
    size_t bytes = (size_t)count * pages->page_size;
    enum qs_status status = count > 1 ? check_solid(pages, number, bytes, err) : QS_OK;
    if (!status)
        status = check_deadline(pages, count, err);
    if (status)
        return status;
    uint8_t *room = slab_space(pages, bytes);
    if (!room)
        return error_memory(err);
    ssize_t got = os_pread_full(pages->fd, room, bytes, (off_t)(number * pages->page_size));
    if (got < 0)
        return error_sys(err, QS_IO, errno, "page %llu cannot be read", (unsigned long long)number);
    if ((size_t)got < bytes)
        return error_page(err, (int64_t)number, "page %llu lies beyond the end of the file",
                          (unsigned long long)number);
    *ret_page = room;
    return QS_OK;
}
