/* SPDX-License-Identifier: Apache-2.0 */
/* Absolute paths as text: nothing here looks at a file. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdbool.h>

/* Is path equal to dir or below it? Both absolute, without links and without a final slash. Pure. */
bool path_within(const char *path, const char *dir);

/* An absolute path without "." and "..", by its text alone; in place. */
void path_flatten(char *path);

/* Joins with one slash; heap, NULL without memory. */
char *path_join(const char *dir, const char *name);

#endif
