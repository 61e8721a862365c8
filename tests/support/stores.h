/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in a scratch directory, for tests of what is built on them. Every failure here ends the test. */
#ifndef TESTS_SUPPORT_STORES_H
#define TESTS_SUPPORT_STORES_H

#include "qsettings/qsettings.h"

/* A handle of the scope's store below root, which may not be there yet. */
struct qs_store *stores_handle(const char *root, enum qs_scope scope);
/* The same, and makes the store if it is not there. */
struct qs_store *stores_open(const char *root, enum qs_scope scope);

/* One commit each: */
void stores_set(struct qs_store *store, const char *key, const char *json); /* the JSON text json at key */
void stores_lock(struct qs_store *store, const char *key);
void stores_apply(struct qs_store *store, const char *json);  /* this JSON document merged into the scope */
void stores_become(struct qs_store *store, const char *json); /* the scope becomes it */

/* The value at key as canonical JSON, heap text; NULL where there is none. */
char *stores_get(struct qs_store *store, const char *key);

#endif
