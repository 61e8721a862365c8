/* SPDX-License-Identifier: Apache-2.0 */
#include "text/ip_range.h"

#include "base/error.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define V4_BITS 96 /* of the prefix ::ffff:0:0/96 */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b}; /* 64:ff9b::/96, RFC 6052 */

struct special {
    const char *text, *what;
};

/* Never opened, never dialled. */
static const struct special forbidden[] = {
    {"0.0.0.0/8", "unspecified addresses"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local addresses"},
    {"224.0.0.0/4", "multicast"},
    {"255.255.255.255/32", "broadcast"},
    {"100.100.100.200/32", "a cloud's metadata address"},
    {"168.63.129.16/32", "a cloud's metadata address"},
    {"192.0.0.192/32", "a cloud's metadata address"},
    {"::/127", "unspecified and loopback addresses"},
    {"fe80::/10", "link-local addresses"},
    {"ff00::/8", "multicast"},
    {"fd00:ec2::254/128", "a cloud's metadata address"},
    {"fd20:ce::254/128", "a cloud's metadata address"},
};

/* Further ranges that are not global unicast; all IPv6 outside of 2000::/3 is not, either. */
static const struct special local[] = {
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "shared"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "protocols"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4 relays"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarks"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"240.0.0.0/4", "reserved"},
    {"2001::/23", "protocols, Teredo"},
    {"2001:db8::/32", "documentation"},
    {"2002::/16", "6to4"},
    {"3fff::/20", "documentation"},
};

struct ip_address ip_from_v4(const uint8_t four[4])
{
    struct ip_address address;
    memcpy(address.byte, mapped, sizeof mapped);
    memcpy(address.byte + sizeof mapped, four, 4);
    return address;
}

static bool is_v4(const struct ip_address *address)
{
    return memcmp(address->byte, mapped, sizeof mapped) == 0;
}

static bool address_read(const char *text, struct ip_address *ret_address, bool *ret_v4)
{
    uint8_t four[4];
    *ret_v4 = inet_pton(AF_INET, text, four) == 1;
    if (*ret_v4)
        *ret_address = ip_from_v4(four);
    return *ret_v4 || inet_pton(AF_INET6, text, ret_address->byte) == 1;
}

/* Zero to max, without a sign or a leading zero. */
static bool bits_read(const char *text, unsigned max, unsigned *ret_bits)
{
    size_t len = strlen(text);
    unsigned bits = 0;
    if (!len || len > 3 || (len > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        bits = bits * 10 + (unsigned)(text[i] - '0');
    }
    *ret_bits = bits;
    return bits <= max;
}

static uint8_t byte_mask(unsigned bits, size_t at)
{
    if (bits >= 8 * (at + 1))
        return 0xff;
    return bits <= 8 * at ? 0 : (uint8_t)(0xff << (8 - (bits - 8 * at)));
}

static bool same_prefix(const struct ip_address *a, const struct ip_address *b, unsigned bits)
{
    for (size_t i = 0; i < sizeof a->byte; i++)
        if ((a->byte[i] ^ b->byte[i]) & byte_mask(bits, i))
            return false;
    return true;
}

static bool rest_is_zero(const struct ip_range *range)
{
    for (size_t i = 0; i < sizeof range->base.byte; i++)
        if (range->base.byte[i] & (uint8_t)~byte_mask(range->bits, i))
            return false;
    return true;
}

static struct ip_range trimmed(const struct ip_range *range)
{
    struct ip_range result = *range;
    for (size_t i = 0; i < sizeof result.base.byte; i++)
        result.base.byte[i] &= byte_mask(result.bits, i);
    return result;
}

enum qs_status ip_range_parse(const char *text, size_t len, struct ip_range *ret_range, struct qs_error *err)
{
    char copy[IP_RANGE_TEXT];
    struct ip_range range = {0};
    bool v4 = false;
    unsigned bits = 0;
    if (len >= sizeof copy || memchr(text, 0, len))
        return error_set(err, QS_INVALID, "not a range of addresses; write one as 10.20.0.0/16 or fd12:3456::/32");
    memcpy(copy, text, len);
    copy[len] = '\0';
    char *slash = strchr(copy, '/');
    if (slash)
        *slash = '\0';
    if (!slash || !address_read(copy, &range.base, &v4) || !bits_read(slash + 1, v4 ? 32 : 128, &bits))
        return error_set(err, QS_INVALID, "not a range of addresses; write one as 10.20.0.0/16 or fd12:3456::/32");
    range.bits = (uint8_t)(v4 ? bits + V4_BITS : bits);
    if (!rest_is_zero(&range)) {
        char right[IP_RANGE_TEXT];
        struct ip_range meant = trimmed(&range);
        ip_range_format(&meant, right);
        return error_set(err, QS_INVALID, "bits after the prefix are set; write %s", right);
    }
    *ret_range = range;
    return QS_OK;
}

void ip_range_format(const struct ip_range *range, char out[IP_RANGE_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "";
    bool v4 = range->bits >= V4_BITS && is_v4(&range->base);
    (void)inet_ntop(v4 ? AF_INET : AF_INET6, range->base.byte + (v4 ? sizeof mapped : 0), address, sizeof address);
    (void)snprintf(out, IP_RANGE_TEXT, "%s/%u", address, (unsigned)range->bits - (v4 ? V4_BITS : 0));
}

bool ip_range_has(const struct ip_range *range, const struct ip_address *address)
{
    return same_prefix(&range->base, address, range->bits);
}

bool ip_range_covers(const struct ip_range *outer, const struct ip_range *inner)
{
    return outer->bits <= inner->bits && ip_range_has(outer, &inner->base);
}

bool ip_range_meet(const struct ip_range *a, const struct ip_range *b, struct ip_range *ret_range)
{
    bool inside = ip_range_covers(a, b);
    if (!inside && !ip_range_covers(b, a))
        return false;
    *ret_range = inside ? *b : *a;
    return true;
}

/* A row of the tables above; each is right, which the tests check. */
static struct ip_range row_range(const struct special *row)
{
    struct ip_range range = {0};
    enum qs_status status = ip_range_parse(row->text, strlen(row->text), &range, NULL);
    return status ? (struct ip_range){0} : range; /* a faulty row would refuse everything */
}

static bool in_table(const struct special *table, size_t count, const struct ip_address *address)
{
    for (size_t i = 0; i < count; i++) {
        struct ip_range range = row_range(&table[i]);
        if (ip_range_has(&range, address))
            return true;
    }
    return false;
}

enum qs_status ip_range_may_be_opened(const struct ip_range *range, struct qs_error *err)
{
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        struct ip_range row = row_range(&forbidden[i]);
        if (ip_range_covers(&row, range) || ip_range_covers(range, &row))
            return error_set(err, QS_INVALID, "the range overlaps %s (%s), which cannot be opened", forbidden[i].text,
                             forbidden[i].what);
    }
    struct ip_range translated = {.bits = 96};
    memcpy(translated.base.byte, nat64, sizeof nat64);
    if (ip_range_covers(&translated, range) || ip_range_covers(range, &translated))
        return error_set(err, QS_INVALID, "64:ff9b::/96 stands for IPv4 addresses; list the IPv4 range");
    return QS_OK;
}

/* The IPv4 address within a NAT64 address; any other address is its own. */
static struct ip_address without_nat64(const struct ip_address *address)
{
    return memcmp(address->byte, nat64, sizeof nat64) == 0 ? ip_from_v4(address->byte + sizeof nat64) : *address;
}

bool ip_is_forbidden(const struct ip_address *address)
{
    struct ip_address inner = without_nat64(address);
    return in_table(forbidden, sizeof forbidden / sizeof *forbidden, &inner);
}

bool ip_is_global(const struct ip_address *address)
{
    struct ip_address inner = without_nat64(address);
    if (ip_is_forbidden(&inner) || in_table(local, sizeof local / sizeof *local, &inner))
        return false;
    return is_v4(&inner) || (inner.byte[0] & 0xe0) == 0x20; /* 2000::/3 */
}

bool ip_may_be_dialled(const struct ip_address *address, const struct ip_range *opened, size_t count)
{
    struct ip_address inner = without_nat64(address);
    if (ip_is_forbidden(&inner))
        return false;
    if (ip_is_global(&inner))
        return true;
    for (size_t i = 0; i < count; i++)
        if (ip_range_has(&opened[i], &inner))
            return true;
    return false;
}
