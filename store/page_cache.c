/* SPDX-License-Identifier: Apache-2.0 */
/* Pages in private memory: one read for a small file, slabs of pages for a large one. */
#include "store/page_cache.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Files up to this are read with one call; of larger ones much is free pages and history, which no reader needs. */
#define WHOLE_MAX_BYTES ((uint64_t)48 * 1024)
#define SLAB_LEAST      ((size_t)32 * 1024) /* the first slab; each one after it is twice as large */
#define SLAB_MOST       ((size_t)256 * 1024)
#define FIRST_PAGE      2u /* 0 and 1 are the metas, read on their own */

struct pager_slab {
    struct pager_slab *next;
    size_t used, cap;
    uint8_t bytes[];
};

enum qs_status pager_init(struct pager *pager, int fd, uint32_t page_size, uint64_t last_page, struct qs_error *err)
{
    *pager = (struct pager){.fd = fd, .page_size = page_size, .page_count = last_page + 1};
    pager->claimed = calloc(1, (size_t)(pager->page_count / 8 + 1));
    if (!pager->claimed)
        return error_memory(err);
    uint64_t bytes = pager->page_count * page_size;
    if (bytes > WHOLE_MAX_BYTES || pager->page_count <= FIRST_PAGE)
        return QS_OK;
    size_t want = (size_t)(pager->page_count - FIRST_PAGE) * page_size;
    pager->whole = malloc(want);
    if (!pager->whole)
        return error_memory(err);
    ssize_t got = os_pread_full(fd, pager->whole, want, (off_t)FIRST_PAGE * page_size);
    if (got < 0)
        return error_sys(err, QS_IO, errno, "the store cannot be read");
    pager->whole_count = FIRST_PAGE + (uint64_t)got / page_size; /* a healthy file may be shorter than its last page */
    return QS_OK;
}

void pager_release(struct pager *pager)
{
    for (struct pager_slab *slab = pager->slabs; slab;) {
        struct pager_slab *next = slab->next;
        free(slab);
        slab = next;
    }
    free(pager->whole);
    free(pager->claimed);
    *pager = (struct pager){.fd = -1};
}

void pager_drop_claims(struct pager *pager)
{
    free(pager->claimed);
    pager->claimed = NULL;
}

enum qs_status pager_renew_claims(struct pager *pager, int fd, struct qs_error *err)
{
    pager_drop_claims(pager);
    pager->claims = 0;
    pager->fd = fd;
    pager->claimed = calloc(1, (size_t)(pager->page_count / 8 + 1));
    return pager->claimed ? QS_OK : error_memory(err);
}

enum qs_status pager_claim(struct pager *pager, uint64_t number, uint64_t count, struct qs_error *err)
{
    if (number < FIRST_PAGE || number >= pager->page_count || count > pager->page_count - number)
        return error_page(err, number > INT64_MAX ? -1 : (int64_t)number,
                          "page %llu lies outside the store's %llu pages", (unsigned long long)number,
                          (unsigned long long)pager->page_count);
    for (uint64_t page = number; page < number + count; page++) {
        if (pager->claimed[page / 8] >> (page % 8) & 1)
            return error_page(err, (int64_t)page, "page %llu is used in two places", (unsigned long long)page);
        pager->claimed[page / 8] |= (uint8_t)(1u << (page % 8));
    }
    pager->claims += count;
    return QS_OK;
}

static uint8_t *slab_room(struct pager *pager, size_t bytes)
{
    struct pager_slab *slab = pager->slabs;
    if (!slab || slab->cap - slab->used < bytes) {
        size_t usual = !slab ? SLAB_LEAST : slab->cap < SLAB_MOST / 2 ? slab->cap * 2 : SLAB_MOST;
        size_t cap = bytes > usual ? bytes : usual;
        slab = malloc(sizeof *slab + cap);
        if (!slab)
            return NULL;
        *slab = (struct pager_slab){.cap = cap};
        /* A large run gets its own slab behind the first, whose room stays in use. */
        if (pager->slabs && bytes > usual) {
            slab->next = pager->slabs->next;
            pager->slabs->next = slab;
        } else {
            slab->next = pager->slabs;
            pager->slabs = slab;
        }
    }
    uint8_t *room = slab->bytes + slab->used;
    slab->used += bytes;
    return room;
}

enum qs_status pager_load(struct pager *pager, uint64_t number, uint64_t count, const uint8_t **ret_page,
                          struct qs_error *err)
{
    if (number < FIRST_PAGE || number >= pager->page_count || count > pager->page_count - number)
        return error_page(err, number > INT64_MAX ? -1 : (int64_t)number,
                          "page %llu lies outside the store's %llu pages", (unsigned long long)number,
                          (unsigned long long)pager->page_count);
    if (number + count <= pager->whole_count) {
        *ret_page = pager->whole + (number - FIRST_PAGE) * pager->page_size;
        return QS_OK;
    }
    size_t bytes = (size_t)count * pager->page_size;
    struct stat st; /* a damaged page count must not make us reserve memory the file cannot fill */
    if (count > 16 && (qs_os->fstat(pager->fd, &st) || (uint64_t)st.st_size < number * pager->page_size + bytes))
        return error_page(err, (int64_t)number, "page %llu runs beyond the end of the file",
                          (unsigned long long)number);
    uint8_t *room = slab_room(pager, bytes);
    if (!room)
        return error_memory(err);
    ssize_t got = os_pread_full(pager->fd, room, bytes, (off_t)(number * pager->page_size));
    if (got < 0)
        return error_sys(err, QS_IO, errno, "page %llu cannot be read", (unsigned long long)number);
    if ((size_t)got < bytes)
        return error_page(err, (int64_t)number, "page %llu lies beyond the end of the file",
                          (unsigned long long)number);
    *ret_page = room;
    return QS_OK;
}
