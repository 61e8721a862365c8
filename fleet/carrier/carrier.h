/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room fleet/carrier/: How do documents and reports get from one to the other?
 *
 * Carriers: how documents get from the operator to the machines, and reports back. They are believed in nothing: what
 * they bring is verified by apply, and what they hold back they could only delay.
 *
 * A row of the table is a carrier. Names are those of the spool ("bundle-3-41.json", with ".minisig" for signatures),
 * "head.json", and "reports/ID.json". What is stored under the name of a document never changes.
 *
 * Errors of all: QS_NOT_FOUND (no such name there), QS_INVALID (more than max bytes, or not what such a server says),
 * QS_CONFLICT (put), QS_UNTRUSTED (not permitted), QS_BUSY (unknown outcome, or no answer in time), QS_IO.
 */
#ifndef FLEET_CARRIER_H
#define FLEET_CARRIER_H

#include "fleet/machine/site.h"

struct carrier;

#define HEAD_NAME "head.json"

struct carrier_row {
    const char *type;
    /* Makes the carrier of a configuration's object. No server is asked. */
    enum qs_status (*open)(json_t *config, const char *fleet, struct carrier **ret_carrier, struct qs_error *err);
    void (*close)(struct carrier *carrier);
    enum qs_status (*head)(struct carrier *carrier, struct buf *out, struct qs_error *err);
    enum qs_status (*get)(struct carrier *carrier, const char *name, size_t max, struct buf *out, struct qs_error *err);
    /* A document that is there already must be the same. The head is exchanged for the one it was: expect (no data:
     * there was none), else QS_CONFLICT. */
    enum qs_status (*put)(struct carrier *carrier, const char *name, struct qs_bytes text, struct qs_bytes expect,
                          struct qs_error *err);
    enum qs_status (*report)(struct carrier *carrier, const char *id, struct qs_bytes text, struct qs_bytes signature,
                             struct qs_error *err);
    /* The ids of reports, as an array of strings. NULL: this carrier cannot tell; ask for those that are known. */
    enum qs_status (*list)(struct carrier *carrier, json_t **ret_ids, struct qs_error *err);
    /* Until the head may have changed, wake_fd is readable, or ms have passed. NULL: the caller sleeps. */
    void (*wait)(struct carrier *carrier, int wake_fd, uint64_t ms);
};

struct carrier {
    const struct carrier_row *row;
};

extern const struct carrier_row carrier_file, carrier_https, carrier_etcd;

/* Errors: QS_INVALID (no such type; its configuration). */
enum qs_status carrier_open(json_t *config, const char *fleet, struct carrier **ret_carrier,
                            struct qs_error *err) QS_MUST_USE;
void carrier_close(struct carrier **carrier); /* for AUTO(carrier_close) */

/* Reports arrive as two files, or one after the other: text and signature that belong together. */
enum qs_status carrier_report_read(struct carrier *carrier, const char *id, struct report *ret_report,
                                   struct qs_error *err) QS_MUST_USE;

/* ---- fetch.c ---- */

struct fetch_options {
    const char *root;
    bool once;
};
/* From the carriers to the spool, and the report to the carriers. Without once it goes on until SIGTERM. */
enum qs_status fleet_fetch(const struct fetch_options *options, struct qs_error *err) QS_MUST_USE;

/* ---- shared by the rows ---- */

/* The members of a configuration: those named must be strings; *ret_values[i] NULL where one is not there. Only the
 * first `needed` have to be. Errors: QS_INVALID. */
enum qs_status carrier_strings(json_t *config, const char *const *names, size_t count, size_t needed,
                               const char **ret_values, struct qs_error *err) QS_MUST_USE;

#endif
