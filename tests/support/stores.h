/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in a scratch directory, for tests of what is built on them. Every failure here ends the test. */
#ifndef TESTS_STORES_H
#define TESTS_STORES_H

#include "qsettings/qsettings.h"

/* Opens the scope's store below root, and makes it if it is not there. */
struct qs_store *stores_open(const char *root, enum qs_scope scope);

/* One commit: the JSON text json at key. */
void stores_set(struct qs_store *store, const char *key, const char *json);
void stores_unset(struct qs_store *store, const char *key);

/* One commit: the scope becomes this JSON document. */
void stores_become(struct qs_store *store, const char *json);

/* The value at key as canonical JSON, heap text; NULL where there is none. */
char *stores_get(struct qs_store *store, const char *key);

#endif
