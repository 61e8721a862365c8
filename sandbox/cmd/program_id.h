/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a receipt names it. */
#ifndef SANDBOX_RECEIPT_PROGRAM_H
#define SANDBOX_RECEIPT_PROGRAM_H

#include "base/error.h"

#include <jansson.h>

/*
 * {path, version, digest}: name is a path, or is looked up in PATH; path is what it resolves to, digest that of its
 * bytes. version is given, or the first line that `PROGRAM --version` prints within PROGRAM_ASK_SECONDS; null where it
 * prints none. A new reference. Errors: QS_USAGE (no such program), QS_INVALID (not UTF-8),
 * QS_IO.
 */
#define PROGRAM_ASK_SECONDS 10
enum qs_status receipt_program(const char *name, const char *version, json_t **ret_program,
                               struct qs_error *err) QS_MUST_USE;

#endif
