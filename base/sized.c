/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of callers that may have been compiled against another version of the library. */
#include "base/sized.h"

#include <stdbool.h>
#include <string.h>

/* No version will be as large: more than this was never set. */
#define SIZE_MOST 4096u

static size_t size_of(const void *given)
{
    size_t size = 0;
    memcpy(&size, given, sizeof size);
    return size;
}

static bool is_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i])
            return false;
    return true;
}

enum qs_status sized_check(const void *given, size_t first_size, const char *function, struct qs_error *err)
{
    if (!given || (size_of(given) >= first_size && size_of(given) <= SIZE_MOST))
        return QS_OK;
    error_set(err, QS_USAGE, "%s: a structure's size is %zu, which it has in no version", function, size_of(given));
    error_add_advice(err, "set its first field: .size = sizeof of the structure");
    return QS_USAGE;
}

enum qs_status sized_take(const void *given, void *known, size_t size, size_t first_size, const char *function,
                          struct qs_error *err)
{
    enum qs_status status = sized_check(given, first_size, function, err);
    if (status)
        return status;
    size_t theirs = given ? size_of(given) : 0;
    if (theirs > size && !is_zero((const unsigned char *)given + size, theirs - size)) {
        error_set(err, QS_USAGE, "%s: a field is set that this version of the library does not know", function);
        error_add_advice(err, "install the version of libqsettings that the program was built for");
        return QS_USAGE;
    }
    memset(known, 0, size);
    if (given)
        memcpy(known, given, theirs < size ? theirs : size);
    memcpy(known, &size, sizeof size);
    return QS_OK;
}

void sized_give(void *given, const void *known, size_t size)
{
    if (!given)
        return;
    size_t theirs = size_of(given);
    memcpy(given, known, theirs < size ? theirs : size);
    if (theirs > size)
        memset((unsigned char *)given + size, 0, theirs - size);
    memcpy(given, &theirs, sizeof theirs);
}
