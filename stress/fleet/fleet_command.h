/* SPDX-License-Identifier: Apache-2.0 */
/* qstress fleet. */
#ifndef STRESS_FLEET_COMMAND_H
#define STRESS_FLEET_COMMAND_H

#include "stress/harness/stress.h"

#define FLEET_CONTROLS \
    "none|no-order|no-signature|two-transactions|serial-first|unsalted-draw|duplicate-signature|deaf-watch"

int stress_cmd_fleet(const struct cli *cli);

#endif
