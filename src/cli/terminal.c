// terminal.c - asks the environment and the terminal what can be shown.
#include "cli/terminal.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_utf8(void) {
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    const char *value = getenv(names[i]);
    if (value && *value)
      return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  }
  return false;
}

static int terminal_width(int fd) {
  struct winsize size;
  const char *columns = getenv("COLUMNS");
  int width = columns ? atoi(columns) : 0;
  if (width > 0)
    return width;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

hsc_text_style hsc_terminal_style(int fd, hsc_color_choice color) {
  const char *term = getenv("TERM");
  const char *no_color = getenv("NO_COLOR");
  bool is_terminal = isatty(fd);
  hsc_text_style style = {.width = is_terminal ? terminal_width(fd) : 0, .unicode = is_utf8()};
  style.color = color == HSC_COLOR_ALWAYS ||
                (color == HSC_COLOR_AUTO && is_terminal && !(no_color && *no_color) &&
                 !(term && strcmp(term, "dumb") == 0));
  return style;
}
