// view_find.h - a text in a view. The C library's memmem takes no NULL, as which an empty view
// comes.
#pragma once

#include "base/core/bytes.h"

const char *hsc_view_find(hsc_view view, const char *text);  // the first place, NULL = nowhere
