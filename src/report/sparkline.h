// sparkline.h - a series as a line of text.
#pragma once

#include "base/core/bytes.h"

// Appends `width` columns: each the median of its share of the samples, from the least to the
// greatest finite one in eight steps (Unicode blocks), or in five of ASCII ".:-=#". The range is
// that of the columns, so one outlier among many samples does not flatten the rest. Samples that
// are not finite are blanks; fewer samples than columns take a column each; no spread is a line in
// the middle.
void hsc_sparkline(const double *x, size_t n, int width, bool unicode, hsc_bytes *out);
