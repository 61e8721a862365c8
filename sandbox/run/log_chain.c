/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the journal: its last line, to append after it, and the whole, to see whether the chain holds. */
#include "sandbox/run/log_chain.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char no_record[] = ""; /* the digest of nothing begins the chain */

static void digest_text(const void *line, size_t len, char text[DIGEST_TEXT_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(line, len, digest);
    digest_format(digest, text);
}

static enum qs_status number_of(const char *line, size_t len, uint64_t *ret_number, struct qs_error *err)
{
    AUTO(value_release) json_t *record = NULL;
    if (value_decode(line, len, &record, NULL) != QS_OK || !json_is_integer(json_object_get(record, "number")))
        return error_set(err, QS_DAMAGED, "the journal's last line is no record");
    *ret_number = (uint64_t)json_integer_value(json_object_get(record, "number"));
    return QS_OK;
}

enum qs_status audit_tail(int fd, struct audit_tail *ret_tail, struct qs_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the journal");
    struct audit_tail tail = {.size = st.st_size};
    digest_text(no_record, 0, tail.digest);
    size_t want = (size_t)st.st_size < 2 * AUDIT_RECORD_MAX_BYTES ? (size_t)st.st_size : 2 * AUDIT_RECORD_MAX_BYTES;
    size_t piece = want < 8192 ? want : 8192;
    for (;;) { /* a small piece first: records are short */
        AUTO_FREE char *text = malloc(piece + 1);
        if (!text || os_pread_full(fd, text, piece, st.st_size - (off_t)piece) != (ssize_t)piece)
            return error_sys(err, QS_IO, text ? errno : ENOMEM, "cannot read the journal's end");
        char *last = memrchr(text, '\n', piece);
        char *before = last ? memrchr(text, '\n', (size_t)(last - text)) : NULL;
        bool whole = piece == (size_t)st.st_size;
        if ((last && before) || whole) {
            tail.end = last ? st.st_size - (off_t)piece + (last - text) + 1 : 0;
            const char *line = before ? before + 1 : text;
            *ret_tail = tail;
            if (!last)
                return QS_OK;
            digest_text(line, (size_t)(last - line), ret_tail->digest);
            return number_of(line, (size_t)(last - line), &ret_tail->number, err);
        }
        if (piece == want)
            return error_set(err, QS_DAMAGED, "the journal's last line is longer than a record may be");
        piece = want;
    }
}

/* ---- the whole ---- */

static void release_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static bool in_chain(const json_t *record, const char *previous, uint64_t number)
{
    const char *text = json_string_value(json_object_get(record, "previous"));
    const json_t *count = json_object_get(record, "number");
    return text && strcmp(text, previous) == 0 && json_is_integer(count) &&
           (uint64_t)json_integer_value(count) == number;
}

enum qs_status audit_read(int fd, void (*each)(void *context, const char *line, size_t len, const json_t *record),
                          void *context, struct audit_check *ret_check, struct qs_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO(release_file) FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t len;
    char previous[DIGEST_TEXT_BYTES];
    *ret_check = (struct audit_check){0};
    if (!file || fseek(file, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot read the journal");
    digest_text(no_record, 0, previous);
    while ((len = getline(&line, &size, file)) > 0) {
        if (line[len - 1] != '\n') {
            ret_check->torn = true;
            break;
        }
        len--;
        AUTO(value_release) json_t *record = NULL;
        bool good = value_decode(line, (size_t)len, &record, NULL) == QS_OK &&
                    in_chain(record, previous, ret_check->records + 1);
        if (!good) {
            ret_check->bad_line = ret_check->records + 1;
            return error_set(err, QS_DAMAGED, "the journal's chain breaks at line %llu",
                             (unsigned long long)ret_check->bad_line);
        }
        digest_text(line, (size_t)len, previous);
        ret_check->records++;
        if (each)
            each(context, line, (size_t)len, record);
    }
    return ferror(file) ? error_sys(err, QS_IO, errno, "cannot read the journal") : QS_OK;
}
