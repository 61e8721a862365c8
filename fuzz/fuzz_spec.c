/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor's message to the shim. The input is a message; behind a first byte of 0 it is what follows the head
 * (magic number and version), which is added, so that the corpus outlives a new version.
 *
 * Invariants: refused with QS_INVALID and a reason, or what was taken is encoded to the same bytes again; read from a
 * descriptor it is the same; a message that is cut, or longer by a byte, is refused.
 */
#include "fuzz/fuzz.h"
#include "qsettings/version.h"
#include "sandbox/wire/spec.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum qs_status decode(const char *data, size_t len, struct spec *spec)
{
    struct qs_error err = {0};
    char *copy = malloc(len ? len : 1);
    MUST(copy);
    if (len)
        memcpy(copy, data, len);
    enum qs_status status = spec_decode(copy, len, spec, &err);
    MUST(status == QS_OK || (status == QS_INVALID && err.message[0]));
    return status;
}

static void encodes_to(const struct spec *spec, const char *data, size_t len)
{
    struct buf out = {0};
    MUST(spec_encode(spec, &out, NULL) == QS_OK);
    MUST(out.len == len && memcmp(out.data, data, len) == 0);
    buf_release(&out);
}

static void read_is(const char *data, size_t len, enum qs_status expected)
{
    struct spec spec = {0};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
    MUST(spec_read(fd, &spec, NULL) == expected);
    spec_release(&spec);
    (void)close(fd);
}

static void check(const char *data, size_t len)
{
    struct spec spec = {0}, cut = {0};
    enum qs_status status = decode(data, len, &spec);
    read_is(data, len, status);
    if (status)
        return;
    MUST(spec.argv[0] && spec.cwd);
    encodes_to(&spec, data, len);
    MUST(decode(data, len - 1, &cut) == QS_INVALID);
    spec_release(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf message = {0};
    if (!size || data[0] != 0) {
        check((const char *)data, size);
        return 0;
    }
    buf_add_u32(&message, 0x31735371u);
    buf_add_u32(&message, sizeof QS_VERSION);
    buf_add(&message, QS_VERSION, sizeof QS_VERSION);
    buf_add(&message, data + 1, size - 1);
    check(message.data, message.len);
    buf_release(&message);
    return 0;
}
