# SPDX-License-Identifier: Apache-2.0
# Types a line into a shell on a terminal of its own, presses Tab, and prints the line's words as that shell then has them,
# each in <>. Usage: zsh -f type.zsh 'SHELL COMMAND' 'PREPARATION' 'LINE'
zmodload zsh/zpty
zpty shell "TERM=dumb $1"
zpty -w shell "PS1=; $2; echo REA''DY"
zpty -r -m shell seen '*READY*' || exit 1
# Back to the start of the line, and have it printed instead of run.
zpty -n -w shell "$3"$'\t\C-aprintf "<%s>" \C-e END\n'
zpty -r -m shell seen '*<END>*' || exit 2
print -r -- "${${seen##*$'\n'}%%<END>*}"
