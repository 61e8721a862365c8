/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of this program, and of the programs that it starts. */
#include "cli/cli.h"

#include <signal.h>

static void (*inherited_xfsz)(int) = SIG_DFL;

/* Beyond a limit on the size of files a write is to fail, and be reported, not to kill. */
void cli_own_signals(void)
{
    inherited_xfsz = signal(SIGXFSZ, SIG_IGN);
}

void cli_child_signals(void)
{
    (void)signal(SIGXFSZ, inherited_xfsz);
}
