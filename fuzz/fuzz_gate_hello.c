/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first bytes of a connection. Invariants: a verdict other than "more" never changes when more bytes come, unless
 * the bound is passed; a name is canonical; a whole prefix is judged the same.
 */
#include "fuzz/fuzz.h"
#include "sandbox/gate/gate_hello.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[DOMAIN_NAME_MAX + 1] = "";
    enum hello_verdict whole = hello_read(data, size, name);
    if (whole == HELLO_NAME) {
        char again[DOMAIN_NAME_MAX + 1];
        MUST(domain_name_canonical(name, strlen(name), again) && strcmp(name, again) == 0);
    }
    size_t step = size < 64 ? 1 : size / 64;
    for (size_t len = 0; len < size; len += step) {
        char early[DOMAIN_NAME_MAX + 1] = "";
        enum hello_verdict verdict = hello_read(data, len, early);
        if (verdict == HELLO_NAME || verdict == HELLO_NONE)
            MUST(verdict == whole && strcmp(early, name) == 0);
        if (verdict == HELLO_BAD)
            MUST(whole == HELLO_BAD);
    }
    return 0;
}
