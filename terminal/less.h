/* SPDX-License-Identifier: Apache-2.0 */
/* A pager for text that is longer than the screen. */
#ifndef TERMINAL_PAGER_H
#define TERMINAL_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Shows text in a pager if standard output is a terminal on whose screen it does not fit: $QSETTINGS_PAGER, $PAGER,
 * else `less -FRX`. A pager that is empty or "cat" means none. Returns false where the text was not shown, and the
 * caller prints it: no terminal, no pager, short enough, or a pager that could not be started. A pager that ends before
 * it has read all has shown what was wanted.
 *
 * Rights: a pager is a program that starts others. Where they are not the person's own (sudo and its kin, set-user-ID)
 * the environment names no pager: it is /usr/bin/less without its hooks. Root's pager always gets LESSSECURE=1, in
 * which less starts nothing and opens no other file.
 *
 * before_exec (may be NULL) is called in the pager's process.
 */
bool pager_show(const char *text, size_t len, void (*before_exec)(void));

#endif
