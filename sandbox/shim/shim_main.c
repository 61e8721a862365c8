/* SPDX-License-Identifier: Apache-2.0 */
/* The shim as a program of its own: `qsandbox-shim --inner ...` is `qsandbox --inner ...`, and starts faster. */
#include "sandbox/shim/shim.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    (void)fputs("qsandbox-shim is started by qsandbox, inside its sandbox, and by nobody else\n", stderr);
    return 2;
}
