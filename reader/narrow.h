/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowing: the meet of two policies, the widest one that is wider than neither.
 *
 * Per kind of field: enums the smaller (narrow comes first); roots, sockets, devices what both contain, by the paths'
 * text after normalising ("~/x" and "/home/me/x" have nothing in common, for the text does not say so); hidden and
 * protected paths and secrets the union; pass the conjunction of the lists; set the equal pairs; limits the smaller,
 * 0 as infinite. A field that is not set is top. An empty list is not unset: no root at all.
 *
 * The meet is commutative, associative and idempotent, up to and including the representation: lists of roots are kept
 * without those that lie inside another of the same list.
 */
#ifndef READER_NARROW_H
#define READER_NARROW_H

#include "reader/policy_model.h"

/* Errors: QS_IO (memory). a and b may be the same. */
enum qs_status policy_part_meet(const struct policy_part *a, const struct policy_part *b, struct policy_part *ret_part,
                                struct qs_error *err) QS_MUST_USE;

/* part becomes its meet with by; fields that by does not set are not touched. Errors: QS_IO (memory; part is as it
 * was), QS_INVALID (the result would be wider than one of the two: a fault of ours, refused). */
enum qs_status policy_part_narrow(struct policy_part *part, const struct policy_part *by,
                                  struct qs_error *err) QS_MUST_USE;

/* Takes out of a list of paths those that lie inside another of the list. Sorted lists stay sorted. */
void policy_list_reduce(struct qs_list *paths);

/* Does a allow anything that b does not? NULL: no; else the path of the first such setting. Defined without the meet,
 * by what each field allows; a policy whose fields say more than the two need (a glob beside another that it covers)
 * may be called wider than it is, never narrower. */
const char *policy_wider(const struct policy_part *a, const struct policy_part *b);

#endif
