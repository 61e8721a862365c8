/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a machine keeps what, and its files there, one by one, each written whole or not at all.
 *
 *   SITE_ETC    /etc/qsettings            config.json and keys.json below fleet/; require-serial
 *   SITE_STATE  /var/lib/qfleet           root alone: keys, seen, bundle, base, the report key
 *   SITE_SPOOL  /var/spool/qfleet         what fetch brought; of the user qfleet, so believed in nothing
 *   SITE_OUT    /var/lib/qfleet-out       the report, to be sent
 *   SITE_RUN    /run/qfleet               the battery's scratch stores; what was held since the last start
 *
 * With a root all lie below it, and /etc/qsettings is ROOT itself, as for qsettings --root.
 */
#ifndef FLEET_SITE_H
#define FLEET_SITE_H

#include "base/buf.h"
#include "fleet/rules/decide.h"

#define SITE_USER "qfleet"
extern const char *site_battery_user; /* "qfleet-battery"; NULL: root runs no battery (for qstress) */

enum site_dir { SITE_ETC, SITE_STATE, SITE_SPOOL, SITE_OUT, SITE_RUN, SITE_DIRS };

struct site {
    const char *root; /* NULL: the fixed places; borrowed */
    char dirs[SITE_DIRS][QS_PATH_MAX_BYTES + 1];
};

/* Errors: QS_USAGE (the root is not absolute, or too long). */
enum qs_status site_init(struct site *site, const char *root, struct qs_error *err) QS_MUST_USE;

/* A regular file, opened below its directory without following links, of at most max bytes, read once. But for the
 * spool it must be root's or the caller's, and nobody else may write it. Errors: QS_NOT_FOUND, QS_UNTRUSTED, QS_INVALID
 * (too large), QS_IO. */
enum qs_status site_read(const struct site *site, enum site_dir dir, const char *name, size_t max, struct buf *out,
                         struct qs_error *err) QS_MUST_USE;
/* As qs_file_replace: after return the new content survives a power cut. */
enum qs_status site_write(const struct site *site, enum site_dir dir, const char *name, mode_t mode,
                          struct qs_bytes text, struct qs_error *err) QS_MUST_USE;
/* A file that is not there is removed already. Durable as site_write. */
enum qs_status site_remove(const struct site *site, enum site_dir dir, const char *name,
                           struct qs_error *err) QS_MUST_USE;
/* Makes the directory and what is missing above it. owner: a user's name, or NULL. */
enum qs_status site_make(const struct site *site, enum site_dir dir, mode_t mode, const char *owner,
                         struct qs_error *err) QS_MUST_USE;
/* The documents in the spool, at most SPOOL_NAMES_MAX of them, in no order; other names are passed over. */
#define SPOOL_NAMES_MAX 16u
enum qs_status site_spool(const struct site *site, struct document_name names[SPOOL_NAMES_MAX], size_t *ret_count,
                          struct qs_error *err) QS_MUST_USE;

static inline struct qs_bytes buf_bytes(const struct buf *buf)
{
    return (struct qs_bytes){buf->data ? buf->data : "", buf->len};
}

/* ---- what the files say ---- */

struct config {
    fleet_name fleet;
    fleet_name groups[FLEET_GROUPS_MAX];
    size_t group_count;
    struct fleet_order minimum;
    bool restore;      /* onDrift */
    uint64_t interval; /* seconds */
    json_t *carriers;  /* an array of objects */
};
enum qs_status config_parse(struct qs_bytes text, struct config *ret_config, struct qs_error *err) QS_MUST_USE;
/* QS_ABSENT: this machine is in no fleet. */
enum qs_status config_read(const struct site *site, struct config *ret_config, struct qs_error *err) QS_MUST_USE;
void config_release(struct config *config);

uint64_t clock_now(void); /* seconds since the epoch */

#endif
