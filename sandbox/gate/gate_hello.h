/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server name in a TLS ClientHello, which may come in pieces and in several records. Pure; nothing of it is kept or
 * changed. Source: RFC 8446 section 4.1.2 and 5.1, RFC 6066 section 3.
 */
#ifndef SANDBOX_GATE_HELLO_H
#define SANDBOX_GATE_HELLO_H

#include "text/domain_rule.h"

#include <stddef.h>
#include <stdint.h>

#define HELLO_MAX_BYTES     ((size_t)16 << 10) /* of the stream, record headers included */
#define HELLO_HANDSHAKE_TLS 0x16               /* the first byte of a stream that is TLS */

enum hello_verdict {
    HELLO_MORE, /* right so far, not whole yet */
    HELLO_NAME, /* whole; the name is in ret_name */
    HELLO_NONE, /* whole, and no server name in it */
    HELLO_BAD,  /* no ClientHello, longer than the bound, or its server name is no name */
};

/* Judges the first len bytes of a stream. */
enum hello_verdict hello_read(const uint8_t *data, size_t len, char ret_name[DOMAIN_NAME_MAX + 1]);

#endif
