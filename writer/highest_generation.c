/* SPDX-License-Identifier: Apache-2.0 */
/* The newest generation that any byte of a damaged store still names, so that no generation's number is used twice. */
#include "base/os.h"
#include "writer/maintenance_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SCAN_BYTES ((size_t)64 * 1024)

/* A meta record carries its own hash and lies whole within one page: it is found without any tree that leads to it. A
 * settings text cannot pass for one, for it holds no zero bytes. */
static void scan(const uint8_t *data, size_t len, enum qs_scope scope, uint64_t *newest)
{
    const uint8_t *end = data + len;
    for (const uint8_t *at = data; (size_t)(end - at) >= RECORD_BYTES; at++) {
        struct record record;
        at = memmem(at, (size_t)(end - at), RECORD_MAGIC, RECORD_MAGIC_BYTES);
        if (!at || (size_t)(end - at) < RECORD_BYTES)
            return;
        if (record_decode(at, RECORD_BYTES, &record, NULL) == QS_OK && record.scope == scope &&
            record.generation > *newest)
            *newest = record.generation;
    }
}

uint64_t care_newest_named(int fd, enum qs_scope scope)
{
    uint8_t chunk[SCAN_BYTES + RECORD_BYTES];
    uint64_t newest = 0;
    for (off_t at = 0;; at += (off_t)SCAN_BYTES) { /* they overlap by one record */
        off_t data = lseek(fd, at, SEEK_DATA);     /* a hole of a terabyte is soon made */
        if (data < 0 && errno == ENXIO)
            return newest;
        at = data > at ? data : at;
        ssize_t got = os_pread_full(fd, chunk, sizeof chunk, at);
        if (got <= 0)
            return newest; /* what cannot be read names nothing */
        scan(chunk, (size_t)got, scope, &newest);
        if ((size_t)got < sizeof chunk)
            return newest;
    }
}
