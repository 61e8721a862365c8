/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen policies. The input is the content of a memfd, or, behind a first byte of 0, the document alone, to which the
 * right head is added. Invariants: refused with QS_DAMAGED or QS_INVALID, or it is byte for byte what freezing the
 * policy that came out of it gives; a whole policy is there and its document reads back.
 */
#include "base/digest.h"
#include "fuzz/fuzz.h"
#include "reader/policy_result.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void comes_back(const struct qs_policy_result *result, const char *text, size_t len)
{
    struct qs_policy_result *again = NULL;
    struct qs_error err = {0};
    size_t document_len = 0;
    int fd = -1;
    MUST(qs_policy_status(result) == QS_OK && qs_policy_get(result));
    MUST(qs_policy_document(result, &document_len) && document_len > 0);
    for (size_t i = 0; i < qs_policy_source_count(result); i++)
        MUST(qs_policy_source(result, i));
    MUST(!qs_policy_source(result, qs_policy_source_count(result)));
    MUST(qs_policy_freeze(result, &fd, &err) == QS_OK);
    char *frozen = malloc(len + 1);
    MUST(frozen && pread(fd, frozen, len + 1, 0) == (ssize_t)len && memcmp(frozen, text, len) == 0);
    MUST(qs_policy_thaw(fd, &again, &err) == QS_OK);
    MUST(memcmp(qs_policy_digest(again), qs_policy_digest(result), QS_DIGEST_BYTES) == 0);
    MUST(!policy_wider(&again->part, &result->part) && !policy_wider(&result->part, &again->part));
    free(frozen);
    (void)close(fd);
    qs_policy_free(again);
}

/* The same text in a memfd: with all seals the same answer, with one less none. */
static void check_memfd(const char *text, size_t len, enum qs_status expected)
{
    struct qs_policy_result *result = NULL;
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    MUST(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    MUST(qs_policy_thaw(fd, &result, NULL) == QS_UNTRUSTED && !result);
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) == 0);
    MUST(qs_policy_thaw(fd, &result, NULL) == expected && (expected == QS_OK) == (result != NULL));
    MUST(qs_policy_thaw(-1, &result, NULL) == QS_USAGE);
    qs_policy_free(result);
    (void)close(fd);
}

static void check_text(const char *text, size_t len)
{
    struct qs_policy_result *result = NULL, none = {.status = QS_NO_POLICY};
    struct qs_error err = {0};
    int fd;
    enum qs_status status = policy_thaw_text(text, len, &result, &err);
    MUST(qs_policy_freeze(&none, &fd, NULL) == QS_USAGE);
    check_memfd(text, len, status);
    if (!status)
        comes_back(result, text, len);
    else
        MUST((status == QS_DAMAGED || status == QS_INVALID) && !result && err.message[0]);
    qs_policy_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text = {0};
    unsigned char digest[QS_DIGEST_BYTES];
    char digest_text[DIGEST_TEXT_BYTES];
    if (!size || data[0] != 0) {
        check_text((const char *)data, size);
        return 0;
    }
    digest_of(data + 1, size - 1, digest);
    digest_format(digest, digest_text);
    buf_printf(&text, "qsettings-policy-1 %s\n", digest_text);
    buf_add(&text, data + 1, size - 1);
    check_text(text.data, text.len);
    buf_release(&text);
    return 0;
}
