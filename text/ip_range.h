/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of IP addresses (CIDR), and what an address is for. An IPv4 address is kept as ::ffff:a.b.c.d, so that there
 * is one kind of address and one comparison. Pure functions; any thread.
 *
 * Sources: the IANA special-purpose address registries (RFC 6890 and its successors), RFC 6052 (NAT64), RFC 3056
 * (6to4), RFC 4380 (Teredo), and the clouds' own documents for the addresses of their metadata services.
 */
#ifndef TEXT_IP_RANGE_H
#define TEXT_IP_RANGE_H

#include "qsettings/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_RANGE_TEXT         64 /* "ffff:...:ffff/128" and the zero byte */
#define IP_PRIVATE_RANGES_MAX 32

struct ip_address {
    uint8_t byte[16];
};

struct ip_range {
    struct ip_address base; /* bits after the prefix are zero */
    uint8_t bits;           /* of the 128; an IPv4 /8 has 104 */
};

/* ADDRESS/BITS, IPv4 or IPv6. Errors: QS_INVALID: not such a text, or bits after the prefix are set. */
enum qs_status ip_range_parse(const char *text, size_t len, struct ip_range *ret_range,
                              struct qs_error *err) QS_MUST_USE;
void ip_range_format(const struct ip_range *range, char out[IP_RANGE_TEXT]);

struct ip_address ip_from_v4(const uint8_t four[4]);

bool ip_range_has(const struct ip_range *range, const struct ip_address *address);
bool ip_range_covers(const struct ip_range *outer, const struct ip_range *inner);
/* What lies in both, which is one of the two, or nothing: false. */
bool ip_range_meet(const struct ip_range *a, const struct ip_range *b, struct ip_range *ret_range);

/* A range may be opened by executor.privateAddresses unless it overlaps loopback, link-local, multicast, unspecified or
 * metadata addresses. Errors: QS_INVALID, with the range that it overlaps. */
enum qs_status ip_range_may_be_opened(const struct ip_range *range, struct qs_error *err) QS_MUST_USE;

/* May a name lead there without leave? Global unicast, no metadata service; for NAT64 the IPv4 address within counts,
 * and what is tunnelled (6to4, Teredo) is refused. */
bool ip_is_global(const struct ip_address *address);
/* Never to be dialled, listed or not: loopback, link-local, multicast, unspecified, metadata; also within NAT64. */
bool ip_is_forbidden(const struct ip_address *address);
/* May the gate dial it? Global, or in one of the opened ranges; never a forbidden one. */
bool ip_may_be_dialled(const struct ip_address *address, const struct ip_range *opened, size_t count);

#endif
