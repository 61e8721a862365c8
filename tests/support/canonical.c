/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical text: what reads as a leaf's value and is written as it was. */
#include "tests/support/canonical.h"

#include "base/cleanup.h"
#include "text/value.h"

#include <string.h>

bool is_canonical_leaf(const void *text, size_t len)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf again = {0};
    if (value_decode(text, len, &value, NULL) != QS_OK || (json_is_object(value) && json_object_size(value)))
        return false;
    return value_encode(value, &again, NULL) == QS_OK && again.len == len && memcmp(again.data, text, len) == 0;
}
