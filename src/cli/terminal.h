// terminal.h - what the standard streams can show: width, Unicode, colour.
#pragma once

#include "report/table.h"

typedef enum hsc_color_choice {
  HSC_COLOR_AUTO,
  HSC_COLOR_ALWAYS,
  HSC_COLOR_NEVER
} hsc_color_choice;

// Width: COLUMNS, else the terminal's, else no limit. Unicode: the first set one of LC_ALL,
// LC_CTYPE, LANG names UTF-8. Colour (auto): a terminal, TERM is not "dumb", NO_COLOR is not set
// (https://no-color.org).
hsc_text_style hsc_terminal_style(int fd, hsc_color_choice color);
