/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies inside a stored value: elements of arrays, and members below them. Arrays are stored whole, so a key that
 * leads into one is the array's own key and a rest: "permissions.deny" and "2". Pure.
 */
#ifndef TEXT_ELEMENT_H
#define TEXT_ELEMENT_H

#include "base/error.h"
#include "qsettings/key.h"

#include <jansson.h>

/* The value that the rest of an encoded key names inside value; borrowed, NULL: there is none. */
json_t *element_find(json_t *value, struct qs_bytes rest);

/* Puts element there (borrowed). An index may be the number of elements, or "-" as in JSON Pointer: it is appended.
 * Errors: QS_INVALID (no index, beyond the end, or the way leads through a scalar), QS_IO. */
enum qs_status element_put(json_t *value, struct qs_bytes rest, json_t *element, struct qs_error *err) QS_MUST_USE;

/* Takes it away; the elements behind it move up. Errors: QS_NOT_FOUND. */
enum qs_status element_remove(json_t *value, struct qs_bytes rest, struct qs_error *err) QS_MUST_USE;

#endif
